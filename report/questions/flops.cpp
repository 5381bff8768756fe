#include <fmt/format.h>

#include <array>

#include "ask/answer/answer.hpp"
#include "report/brief/brief.hpp"
#include "report/model/flops_sections.hpp"
#include "report/model/operators_grid.hpp"
#include "report/question.hpp"
#include "report/report.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

void fill_flops(const Answer& answer, Report& report) {
  const Request& r = answer.request();
  if (r.ops) report.grids.push_back(operators_grid(r, Phase::training));
  const Flops f = training_flops(r.model.arch, r.plan).model_total;
  const Count tokens = r.plan.micro_batch * r.plan.seq;
  const double each = static_cast<double>(f.value) / static_cast<double>(tokens);
  report.verdict = {{"", fmt::format("{} for {} tokens: {} per token, forward and backward.",
                                     human_text(f, Unit::flops), exact_text(tokens), human_text(each, Unit::flops))}};
  report.brief = brief_of(r, "flops.model_total", false);
  report.brief->rows = {"flops.forward",
                        "flops.backward",
                        "flops.model_total",
                        "flops.hardware_total",
                        "flops.executed",
                        "flops.formulas.6nd",
                        "flops.formulas.palm",
                        "flops.formulas.palm_causal",
                        "flops.formulas.kaplan_forward",
                        "flops.formulas.8nd",
                        "flops.formulas.6nd_run",
                        "flops.model_run"};
}

constexpr std::array flops_sections{
    SectionRow{"flops", [](const Answer& a) { return flops_section(a.request()); }},
    SectionRow{"flops", [](const Answer& a) { return formulas_section(a.request()); }},
    SectionRow{"flops", [](const Answer& a) { return run_flops_section(a.request()); }}};

}  // namespace

const Question flops_question{
    .name = "flops",
    .summary =
        "Counts the FLOPs of one training micro-batch: forward, backward, recomputation; compares published formulas.",
    .examples =
        "  llmcalc flops gpt-3-175b --seq 2048 --attention-flops causal-half\n"
        "  llmcalc flops llama-3.1-405b --tokens 15.6T --ops",
    .parts = part::formulas | part::model_flops | part::operators | part::styles | part::exact | part::full,
    .sections = flops_sections,
    .fill = fill_flops,
    .filled = "ops"};

}  // namespace llmcalc
