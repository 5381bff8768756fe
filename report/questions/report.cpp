#include "ask/answer/answer.hpp"
#include "report/brief/brief.hpp"
#include "report/brief/memory_bar.hpp"
#include "report/infer/inference_sections.hpp"
#include "report/interval.hpp"
#include "report/model/flops_sections.hpp"
#include "report/model/model_sections.hpp"
#include "report/model/operators_grid.hpp"
#include "report/question.hpp"
#include "report/train/measured_notes.hpp"
#include "report/train/process_section.hpp"
#include "report/train/run_section.hpp"
#include "report/train/sensitivity_section.hpp"
#include "report/train/training_sections.hpp"
#include "report/verdict.hpp"

namespace llmcalc {
namespace {

void fill_sections(const TrainingAnswer& t, const InferenceAnswer& i, Report& report) {
  const Request& r = t.request();
  report.sections = {parameters_section(r.model),
                     flops_section(r),
                     formulas_section(r),
                     training_memory_section(t),
                     process_section(t),
                     activations_section(r),
                     step_section(t),
                     sensitivity_section(t),
                     utilization_section(t),
                     run_flops_section(r),
                     run_section(t),
                     inference_memory_section(i),
                     kv_cache_section(i.request()),
                     prefill_section(i),
                     decode_section(i),
                     decode_sensitivity_section(i),
                     drafts_section(i),
                     end_to_end_section(i),
                     limits_section(i)};
  if (r.software) report.sections.push_back(estimate_section(t));
  if (i.request().engine) report.sections.push_back(inference_estimate_section(i.request()));
}

void fill_report(const Answer& answer, Report& report) {
  const TrainingAnswer& t = answer.training();
  const InferenceAnswer& i = answer.inference();
  const Request &trained = t.request(), &asked = i.request();
  fill_sections(t, i, report);
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
}

}  // namespace

const Question report_question{
    .name = "report",
    .summary = "Prints a full report on a model and its hardware: parameters, memory, FLOPs, training, inference.",
    .examples =
        "  llmcalc report llama-3.1-405b --hardware h100 --tp 8\n"
        "  llmcalc report falcon-40b --hardware a100-80gb --tp 4 --json",
    .parts = part::training | part::step | part::of_inference | part::formulas | part::model_flops | part::time |
             part::run | part::hardware | part::operators | part::styles | part::exact | part::full,
    .needs_hardware = true,
    .fill = fill_report};

}  // namespace llmcalc
