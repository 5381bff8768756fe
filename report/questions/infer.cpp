#include <fmt/format.h>

#include <array>

#include "ask/answer/answer.hpp"
#include "report/brief/brief.hpp"
#include "report/brief/memory_bar.hpp"
#include "report/infer/engine_stages.hpp"
#include "report/infer/inference_sections.hpp"
#include "report/infer/target_report.hpp"
#include "report/interval.hpp"
#include "report/model/model_sections.hpp"
#include "report/model/operators_grid.hpp"
#include "report/question.hpp"
#include "report/served_run.hpp"
#include "report/train/sensitivity_section.hpp"
#include "report/train/training_sections.hpp"
#include "report/verdict.hpp"

namespace llmcalc {
namespace {

/// The cost of tokens: "65.64 USD per million tokens (47.40 to 91.90 USD)". Empty text without a price.
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
  if (r.ops) report.grids = {operators_grid(r, Phase::prefill), operators_grid(r, Phase::decode)};
  add_infer_verdict(a, report);
  add_engine_stages(a, true, report);
  report.brief = brief_of(r, "decode.time_per_token_s", true);
  report.brief->bars = {memory_bar(a)};
  report.brief->rows = {"limits.max_batch", "limits.max_context"};
  if (Finding cost = cost_finding(report); !cost.text.empty())
    report.brief->findings.insert(report.brief->findings.begin(), std::move(cost));
  note_measured_device(r, report);
  note_wider_inference(r, report);
  note_served_run(r, report);
  add_target(r, report);
}

constexpr std::array infer_sections{
    SectionRow{"prefill", [](const Answer& a) { return prefill_section(a.inference()); }},
    SectionRow{"decode", [](const Answer& a) { return decode_section(a.inference()); }},
    SectionRow{"decode_sensitivity", [](const Answer& a) { return decode_sensitivity_section(a.inference()); }},
    SectionRow{"drafts", [](const Answer& a) { return drafts_section(a.inference()); }},
    SectionRow{"end_to_end", [](const Answer& a) { return end_to_end_section(a.inference()); }},
    SectionRow{"inference_memory", [](const Answer& a) { return inference_memory_section(a.inference()); }},
    SectionRow{"kv_cache", [](const Answer& a) { return kv_cache_section(a.inference().request()); }},
    SectionRow{"limits", [](const Answer& a) { return limits_section(a.inference()); }},
    SectionRow{"inference_estimate",
               [](const Answer& a) { return inference_estimate_section(a.inference().request()); },
               [](const Request& r) { return r.engine.has_value(); }}};

}  // namespace

const Question infer_question{
    .name = "infer",
    .summary = "Estimates prefill, decode and a whole generation: time, tokens/s, bottleneck, memory, limits.",
    .examples =
        "  llmcalc infer llama-3.1-8b --hardware h100 --batch 8 --prompt 2k --generate 99\n"
        "  llmcalc infer deepseek-v3 --hardware h200 --tp 8 --precision fp8 --ops\n"
        "  llmcalc infer llama-3.1-70b --hardware h200 --target '50 tokens/s'",
    .parts = part::of_inference | part::target | part::model_flops | part::time | part::hardware | part::machine |
             part::operators | part::styles | part::pictures | part::exact | part::full | part::launch,
    .needs_hardware = true,
    .sections = infer_sections,
    .fill = fill_infer,
    .filled = "remedies prefill_ops decode_ops target stages"};

}  // namespace llmcalc
