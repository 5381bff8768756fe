#include "ask/answer/answer.hpp"
#include "report/brief/brief.hpp"
#include "report/brief/memory_bar.hpp"
#include "report/infer/inference_sections.hpp"
#include "report/infer/target_report.hpp"
#include "report/interval.hpp"
#include "report/model/model_sections.hpp"
#include "report/model/operators_grid.hpp"
#include "report/question.hpp"
#include "report/train/sensitivity_section.hpp"
#include "report/train/training_sections.hpp"
#include "report/verdict.hpp"

namespace llmcalc {
namespace {

void fill_infer(const Answer& answer, Report& report) {
  const InferenceAnswer& a = answer.inference();
  const Request& r = a.request();
  report.sections = {prefill_section(a),  decode_section(a),     decode_sensitivity_section(a),
                     drafts_section(a),   end_to_end_section(a), inference_memory_section(a),
                     kv_cache_section(r), limits_section(a)};
  if (r.engine) report.sections.push_back(inference_estimate_section(r));
  if (r.ops) report.grids = {operators_grid(r, Phase::prefill), operators_grid(r, Phase::decode)};
  add_infer_verdict(a, report);
  report.brief = brief_of(r, "decode.time_per_token_s", true);
  report.brief->bars = {memory_bar(a)};
  report.brief->rows = {"limits.max_batch", "limits.max_context", "end_to_end.usd_per_1m_tokens"};
  note_measured_device(r, report);
  note_wider_inference(r, report);
  add_target(r, report);
}

}  // namespace

const Question infer_question{
    .name = "infer",
    .summary = "Estimates prefill, decode and a whole generation: time, tokens/s, bottleneck, memory, limits.",
    .examples =
        "  llmcalc infer llama-3.1-8b --hardware h100 --batch 8 --prompt 2k --generate 99\n"
        "  llmcalc infer deepseek-v3 --hardware h200 --tp 8 --precision fp8 --ops\n"
        "  llmcalc infer llama-3.1-70b --hardware h200 --target '50 tokens/s'",
    .parts = part::of_inference | part::target | part::model_flops | part::time | part::hardware | part::operators |
             part::styles | part::exact | part::full,
    .needs_hardware = true,
    .fill = fill_infer};

}  // namespace llmcalc
