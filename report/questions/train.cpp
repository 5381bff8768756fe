#include "report/question.hpp"
#include "report/sections.hpp"
#include "report/verdict.hpp"

namespace llmcalc {
namespace {

void fill_train(const Request& r, Report& report) {
  const TrainEstimate e = train(r.model.arch, r.plan, r.layout, r.hardware->cluster);
  report.sections = {step_section(r, e), training_memory_section(r), flops_section(r), run_section(r, e)};
  if (r.ops) report.grids.push_back(operators_grid(r, Phase::training));
  add_train_verdict(report);
}

}  // namespace

const Question train_question{
    .name = "train",
    .summary = "One optimizer step: time, MFU, HFU, memory, what bounds it; and the whole run.",
    .examples =
        "  llmcalc train llama-3.1-8b --hardware h100 --tp 8 --sp --global-batch 64\n"
        "  llmcalc train llama-3.1-8b --hardware h100 --gpus 512 --tp 8 --sp --tokens 9T",
    .parts = part::training | part::step | part::model_flops | part::time | part::run | part::hardware |
             part::operators | part::styles | part::exact,
    .needs_hardware = true,
    .fill = fill_train};

}  // namespace llmcalc
