#include <fmt/format.h>

#include <algorithm>

#include "ask/answer/remedy.hpp"
#include "ask/request/request.hpp"
#include "report/interval.hpp"
#include "report/model/flops_sections.hpp"
#include "report/model/operators_grid.hpp"
#include "report/question.hpp"
#include "report/report.hpp"
#include "report/train/measured_notes.hpp"
#include "report/train/process_section.hpp"
#include "report/train/run_section.hpp"
#include "report/train/sensitivity_section.hpp"
#include "report/train/step_target.hpp"
#include "report/train/training_sections.hpp"
#include "report/verdict.hpp"
#include "search/reverse.hpp"
#include "text/counted.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

bool is_false(const Report& report, const char* path) {
  const Row* row = report.row(path);
  return row != nullptr && !std::get<bool>(row->value);
}

/// The smallest changes that make a plan fit, the one that costs least first; where its tensors fit and a process does
/// not, with as much room as this plan's process takes beside them.
void add_remedies(const Request& r, Report& report) {
  Request room = r;
  if (!is_false(report, "memory.fits")) {
    if (!is_false(report, "memory.process.fits")) return;
    const auto bytes = [&](const char* path) { return Bytes(std::get<Count>(report.row(path)->value)); };
    const Bytes beside = bytes("memory.process.needed_bytes") - bytes("memory.peak_bytes");
    Bytes& memory = room.hardware->cluster.device.memory;
    memory -= std::min(memory, beside);
  }
  const char* what = is_false(report, "memory.fits") ? "it" : "its process";
  std::string text;
  for (const TypedRemedy& typed : typed_remedies(room)) {
    const Remedied& remedy = typed.change;
    if (!text.empty()) text += "; ";
    text +=
        fmt::format("{} ({}{}, {} per step)", remedy_option(r, remedy), bytes_text(remedy.peak),
                    devices(remedy.layout) == devices(r.layout) ? "" : " on " + counted(devices(remedy.layout), "GPU"),
                    human_text(Quantity(remedy.step.value), Unit::seconds));
  }
  report.notes.push_back(text.empty()
                             ? fmt::format("no single change makes {} fit; 'llmcalc plan train' searches for a plan "
                                           "that fits",
                                           what)
                             : fmt::format("to make {} fit: {}", what, text));
}

void fill_train(const Request& r, Report& report) {
  const TrainEstimate e = train(r.model.arch, r.plan, r.layout, r.hardware->cluster);
  report.sections = {step_section(r, e), sensitivity_section(r),    training_memory_section(r), process_section(r),
                     flops_section(r),   utilization_section(r, e), run_section(r, e)};
  if (r.software) report.sections.push_back(estimate_section(r, e));
  if (r.ops) report.grids.push_back(operators_grid(r, Phase::training));
  add_train_verdict(report);
  add_remedies(r, report);
  add_step_target(r, report);
  note_measured_scale(r, e, report);
  note_measured_device(r, report);
  note_wider_training(r, report);
}

}  // namespace

const Question train_question{
    .name = "train",
    .summary = "One optimizer step: time, MFU, HFU, memory, what bounds it; and the whole run.",
    .examples =
        "  llmcalc train llama-3.1-8b --hardware h100 --tp 8 --sp --global-batch 64\n"
        "  llmcalc train llama-3.1-8b --hardware h100 --gpus 512 --tp 8 --sp --tokens 9T\n"
        "  llmcalc train llama-3.1-8b --hardware h100 --tp 8 --sp --target '1 s'",
    .parts = part::training | part::step | part::model_flops | part::time | part::run | part::target | part::hardware |
             part::operators | part::styles | part::exact,
    .needs_hardware = true,
    .fill = fill_train};

}  // namespace llmcalc
