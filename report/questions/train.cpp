#include <fmt/format.h>

#include "ask/answer/answer.hpp"
#include "report/brief/brief.hpp"
#include "report/brief/memory_bar.hpp"
#include "report/interval.hpp"
#include "report/model/flops_sections.hpp"
#include "report/model/operators_grid.hpp"
#include "report/question.hpp"
#include "report/train/measured_notes.hpp"
#include "report/train/process_section.hpp"
#include "report/train/run_section.hpp"
#include "report/train/sensitivity_section.hpp"
#include "report/train/step_target.hpp"
#include "report/train/training_sections.hpp"
#include "report/verdict.hpp"

namespace llmcalc {
namespace {

void fill_train(const Answer& answer, Report& report) {
  const TrainingAnswer& a = answer.training();
  const Request& r = a.request();
  report.sections = {step_section(a),    sensitivity_section(a), training_memory_section(a),
                     process_section(a), flops_section(r),       utilization_section(a),
                     run_section(a)};
  if (r.software) report.sections.push_back(estimate_section(a));
  if (r.ops) report.grids.push_back(operators_grid(r, Phase::training));
  add_train_verdict(a, report);
  report.brief = brief_of(r, "step.time_s", r.run.tokens.has_value());
  report.brief->bars = {memory_bar(a)};
  add_step_target(r, report);
  note_measured_scale(a, report);
  note_measured_device(r, report);
  note_wider_training(r, report);
}

}  // namespace

const Question train_question{
    .name = "train",
    .summary = "Estimates one optimizer step (time, MFU, HFU, memory, bottleneck) and the whole run.",
    .examples =
        "  llmcalc train llama-3.1-8b --hardware h100 --tp 8 --sp --global-batch 64\n"
        "  llmcalc train llama-3.1-8b --hardware h100 --gpus 512 --tp 8 --sp --tokens 9T\n"
        "  llmcalc train llama-3.1-8b --hardware h100 --tp 8 --sp --target '1 s'",
    .parts = part::training | part::step | part::model_flops | part::time | part::run | part::target | part::hardware |
             part::operators | part::styles | part::exact | part::full,
    .needs_hardware = true,
    .fill = fill_train};

}  // namespace llmcalc
