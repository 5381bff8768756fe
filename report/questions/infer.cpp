#include <fmt/format.h>

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

/// "65.64 USD per million tokens (47.40 to 91.90 USD)". Empty text without a price.
Finding cost_finding(const Report& report) {
  const std::string path = "end_to_end.usd_per_1m_tokens";
  const Row *row = report.row(path), *low = report.row(path + "_low"), *high = report.row(path + "_high");
  if (row == nullptr) return {};
  const std::string text = human_text(row->value, row->unit) + " per million tokens";
  if (low == nullptr || high == nullptr) return {"cost", text};
  return {"cost",
          fmt::format("{} ({} to {})", text, human_text(low->value, low->unit), human_text(high->value, high->unit))};
}

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
  report.brief->rows = {"limits.max_batch", "limits.max_context"};
  if (Finding cost = cost_finding(report); !cost.text.empty())
    report.brief->findings.insert(report.brief->findings.begin(), std::move(cost));
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
