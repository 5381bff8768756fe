#include <fmt/format.h>

#include "report/measured_scale.hpp"
#include "report/question.hpp"
#include "report/sections.hpp"
#include "report/sensitivity.hpp"
#include "report/verdict.hpp"
#include "search/reverse.hpp"

namespace llmcalc {
namespace {

/// The smallest changes that make a plan fit, the one that costs least first.
void add_remedies(const Request& r, Report& report) {
  const Row* fits = report.row("memory.fits");
  if (fits == nullptr || std::get<bool>(fits->value)) return;
  std::string text;
  for (const Remedied& remedy : remedies({r.model.arch, r.plan, r.layout, r.hardware->cluster})) {
    if (!text.empty()) text += "; ";
    text += fmt::format(
        "{} ({}{}, {} per step)", remedy_names[static_cast<std::size_t>(remedy.remedy)],
        human_text(Quantity(remedy.peak.value), Unit::bytes),
        devices(remedy.layout) == devices(r.layout) ? "" : fmt::format(" on {} GPUs", devices(remedy.layout)),
        human_text(Quantity(remedy.step.value), Unit::seconds));
  }
  report.notes.push_back(text.empty()
                             ? "no single change makes this plan fit; 'llmcalc plan train' searches for one that does"
                             : "to make it fit: " + text);
}

void fill_train(const Request& r, Report& report) {
  const TrainEstimate e = train(r.model.arch, r.plan, r.layout, r.hardware->cluster);
  report.sections = {step_section(r, e), training_memory_section(r), flops_section(r), utilization_section(r, e),
                     run_section(r, e)};
  if (r.software) {
    report.sections.insert(report.sections.begin() + 1, sensitivity_section(r, e));
    report.sections.push_back(estimate_section(r, e));
  }
  if (r.ops) report.grids.push_back(operators_grid(r, Phase::training));
  add_train_verdict(report);
  add_remedies(r, report);
  note_measured_scale(r, e, report);
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
