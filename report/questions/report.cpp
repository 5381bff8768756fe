#include "report/report.hpp"
#include "ask/request/request.hpp"
#include "ask/request/software.hpp"
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

void fill_report(const Request& r, Report& report) {
  const Request served = of_one_engine(r), trained = for_training(r), asked = for_inference(served);
  const TrainEstimate t = train(r.model.arch, r.plan, r.layout, trained.hardware->cluster);
  const InferEstimate i = infer(r.model.arch, r.plan, asked.layout, asked.hardware->cluster);
  report.sections = {parameters_section(r.model),
                     flops_section(r),
                     formulas_section(r),
                     training_memory_section(r),
                     process_section(r),
                     activations_section(r),
                     step_section(trained, t),
                     sensitivity_section(trained),
                     utilization_section(trained, t),
                     run_flops_section(r),
                     run_section(trained, t),
                     inference_memory_section(served),
                     kv_cache_section(served),
                     prefill_section(asked, i),
                     decode_section(asked, i),
                     decode_sensitivity_section(asked),
                     drafts_section(asked, i),
                     end_to_end_section(asked, i),
                     limits_section(served)};
  if (trained.software) report.sections.push_back(estimate_section(trained, t));
  if (asked.engine) report.sections.push_back(inference_estimate_section(asked));
  if (r.ops)
    for (const Phase phase : {Phase::training, Phase::prefill, Phase::decode})
      report.grids.push_back(operators_grid(phase == Phase::training ? trained : asked, phase));
  add_train_verdict(report, "training");
  add_infer_verdict(report, "inference");
  note_engine(r, report);
  note_measured_scale(trained, t, report);
  note_measured_device(trained.software ? trained : asked, report);
  note_wider_training(trained, report);
  note_wider_inference(asked, report);
}

}  // namespace

const Question report_question{
    .name = "report",
    .summary = "Everything about a model on some hardware: parameters, memory, FLOPs, training, inference.",
    .examples =
        "  llmcalc report llama-3.1-405b --hardware h100 --tp 8\n"
        "  llmcalc report falcon-40b --hardware a100-80gb --tp 4 --json",
    .parts = part::training | part::step | part::of_inference | part::formulas | part::model_flops | part::time |
             part::run | part::hardware | part::operators | part::styles | part::exact,
    .needs_hardware = true,
    .fill = fill_report};

}  // namespace llmcalc
