#include <array>

#include "ask/answer/answer.hpp"
#include "report/brief/brief.hpp"
#include "report/brief/memory_bar.hpp"
#include "report/infer/inference_sections.hpp"
#include "report/interval.hpp"
#include "report/model/flops_sections.hpp"
#include "report/model/model_sections.hpp"
#include "report/model/operators_grid.hpp"
#include "report/question.hpp"
#include "report/served_run.hpp"
#include "report/train/measured_notes.hpp"
#include "report/train/process_section.hpp"
#include "report/train/run_section.hpp"
#include "report/train/sensitivity_section.hpp"
#include "report/train/training_sections.hpp"
#include "report/verdict.hpp"

namespace llmcalc {
namespace {

constexpr std::array report_sections{
    SectionRow{"parameters", [](const Answer& a) { return parameters_section(a.training().request().model); }},
    SectionRow{"flops", [](const Answer& a) { return flops_section(a.training().request()); }},
    SectionRow{"flops", [](const Answer& a) { return formulas_section(a.training().request()); }},
    SectionRow{"memory", [](const Answer& a) { return training_memory_section(a.training()); }},
    SectionRow{"memory.process", [](const Answer& a) { return process_section(a.training()); }},
    SectionRow{"activations", [](const Answer& a) { return activations_section(a.training().request()); }},
    SectionRow{"step", [](const Answer& a) { return step_section(a.training()); }},
    SectionRow{"sensitivity", [](const Answer& a) { return sensitivity_section(a.training()); }},
    SectionRow{"utilization", [](const Answer& a) { return utilization_section(a.training()); }},
    SectionRow{"flops", [](const Answer& a) { return run_flops_section(a.training().request()); }},
    SectionRow{"run", [](const Answer& a) { return run_section(a.training()); }},
    SectionRow{"inference_memory", [](const Answer& a) { return inference_memory_section(a.inference()); }},
    SectionRow{"kv_cache", [](const Answer& a) { return kv_cache_section(a.inference().request()); }},
    SectionRow{"prefill", [](const Answer& a) { return prefill_section(a.inference()); }},
    SectionRow{"decode", [](const Answer& a) { return decode_section(a.inference()); }},
    SectionRow{"decode_sensitivity", [](const Answer& a) { return decode_sensitivity_section(a.inference()); }},
    SectionRow{"drafts", [](const Answer& a) { return drafts_section(a.inference()); }},
    SectionRow{"end_to_end", [](const Answer& a) { return end_to_end_section(a.inference()); }},
    SectionRow{"limits", [](const Answer& a) { return limits_section(a.inference()); }},
    SectionRow{"estimate", [](const Answer& a) { return estimate_section(a.training()); },
               [](const Request& r) { return r.software.has_value(); }},
    SectionRow{"inference_estimate",
               [](const Answer& a) { return inference_estimate_section(a.inference().request()); },
               [](const Request& r) { return r.engine.has_value(); }}};

void fill_report(const Answer& answer, Report& report) {
  const TrainingAnswer& t = answer.training();
  const InferenceAnswer& i = answer.inference();
  const Request &trained = t.request(), &asked = i.request();
  if (trained.ops)
    for (const Phase phase : {Phase::training, Phase::prefill, Phase::decode})
      report.grids.push_back(operators_grid(phase == Phase::training ? trained : asked, phase));
  add_train_verdict(t, report, "train");
  add_infer_verdict(i, report, "infer");
  report.brief = brief_of(answer.request(), "step.time_s", trained.run.tokens.has_value());
  report.brief->bars = {memory_bar(t, "train"), memory_bar(i, "infer")};
  note_engine(answer.request(), report);
  note_measured_scale(t, report);
  note_measured_device(trained.software ? trained : asked, report);
  note_wider_training(trained, report);
  note_wider_inference(asked, report);
  note_served_run(asked, report);
}

}  // namespace

const Question report_question{
    .name = "report",
    .summary = "Prints a full report on a model and its hardware: parameters, memory, FLOPs, training, inference.",
    .examples =
        "  llmcalc report llama-3.1-405b --hardware h100 --tp 8\n"
        "  llmcalc report falcon-40b --hardware a100-80gb --tp 4 --json",
    .parts = part::training | part::step | part::of_inference | part::formulas | part::model_flops | part::time |
             part::run | part::hardware | part::machine | part::operators | part::styles | part::pictures |
             part::exact | part::full,
    .needs_hardware = true,
    .sections = report_sections,
    .fill = fill_report,
    .filled = "remedies ops prefill_ops decode_ops"};

}  // namespace llmcalc
