#include <fmt/format.h>

#include <array>

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
  if (r.ops) report.grids.push_back(operators_grid(r, Phase::training));
  add_train_verdict(a, report);
  report.brief = brief_of(r, "step.time_s", r.run.tokens.has_value());
  report.brief->bars = {memory_bar(a)};
  add_step_target(r, report);
  note_measured_scale(a, report);
  note_measured_device(r, report);
  note_wider_training(r, report);
}

constexpr std::array train_sections{
    SectionRow{"step", [](const Answer& a) { return step_section(a.training()); }},
    SectionRow{"sensitivity", [](const Answer& a) { return sensitivity_section(a.training()); }},
    SectionRow{"memory", [](const Answer& a) { return training_memory_section(a.training()); }},
    SectionRow{"memory.process", [](const Answer& a) { return process_section(a.training()); }},
    SectionRow{"flops", [](const Answer& a) { return flops_section(a.training().request()); }},
    SectionRow{"utilization", [](const Answer& a) { return utilization_section(a.training()); }},
    SectionRow{"run", [](const Answer& a) { return run_section(a.training()); }},
    SectionRow{"estimate", [](const Answer& a) { return estimate_section(a.training()); },
               [](const Request& r) { return r.software.has_value(); }}};

}  // namespace

const Question train_question{
    .name = "train",
    .summary = "Estimates one optimizer step (time, MFU, HFU, memory, bottleneck) and the whole run.",
    .examples =
        "  llmcalc train llama-3.1-8b --hardware h100 --tp 8 --sp --global-batch 64\n"
        "  llmcalc train llama-3.1-8b --hardware h100 --gpus 512 --tp 8 --sp --tokens 9T\n"
        "  llmcalc train llama-3.1-8b --hardware h100 --tp 8 --sp --target '1 s'",
    .parts = part::training | part::step | part::model_flops | part::time | part::run | part::target | part::hardware |
             part::operators | part::styles | part::pictures | part::exact | part::full | part::launch | part::files,
    .needs_hardware = true,
    .sections = train_sections,
    .fill = fill_train,
    .filled = "remedies ops step_target"};

}  // namespace llmcalc
