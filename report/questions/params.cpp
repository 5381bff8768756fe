#include <fmt/format.h>

#include <array>

#include "ask/answer/answer.hpp"
#include "report/brief/brief.hpp"
#include "report/model/model_sections.hpp"
#include "report/question.hpp"
#include "report/report.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

void fill_params(const Answer& answer, Report& report) {
  const Request& r = answer.request();
  report.conventions = {{"parameters", report.conventions["parameters"]}};
  const Parameters p = parameters(r.model.arch);
  report.verdict = {
      {"", fmt::format("{}, {}.", human_text(p.total, Unit::parameters),
                       p.active == p.total ? "all active on every token"
                                           : human_text(p.active, Unit::parameters) + " active per token")}};
  report.brief = brief_of(r, "parameters.total", false);
  report.brief->rows = {"parameters."};
}

constexpr std::array params_sections{
    SectionRow{"parameters", [](const Answer& a) { return parameters_section(a.request().model); }}};

}  // namespace

const Question params_question{.name = "params",
                               .summary = "Counts parameters exactly, by component.",
                               .examples = "  llmcalc params llama-3.1-405b\n  llmcalc params ./config.json --json",
                               .parts = part::styles | part::exact | part::full,
                               .sections = params_sections,
                               .fill = fill_params};

}  // namespace llmcalc
