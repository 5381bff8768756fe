/// Every formula that `explain` prints, evaluated, equals the report's number: the formulas are written from the
/// architecture and the plan, the report comes from the engine's operators.

#include <fmt/format.h>

#include <cmath>

#include "cli/explain/explanation.hpp"
#include "presets/builtin.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"
#include "tests/cli/expression.hpp"

using namespace llmcalc;
using explain::Definition;
using explain::Explanation;

namespace {

/// A word follows from a number: what the verdict says.
std::string verdict(const Explanation& e, long double value) {
  if (e.definition->path.ends_with("fits")) return value <= 1 ? "yes" : "no";
  if (e.definition->path == "decode.compute_bound_batch") return value >= 1 ? "reached" : "never";
  std::string largest;
  long double most = -1;
  for (const auto& [name, meaning] : {std::pair{"t_c", "compute"}, std::pair{"t_m", "memory"},
                                      std::pair{"t_x", "communication"}, std::pair{"t_l", "latency"}}) {
    long double t = 0;
    for (const explain::Symbol& s : e.symbols)
      if (s.name == name || (s.name == "t_o" && std::string(name) == "t_m")) t += std::stold(s.value);
    if (t > most) most = t, largest = meaning;
  }
  return largest;
}

std::string said(const Explanation& e) {
  if (e.answer.key == "compute_bound_batch") return "reached";
  return exact_text(e.answer.value);
}

/// Empty, or what is wrong.
std::string wrong(const Explanation& e) {
  const std::string numbers = joined(e.numbers);
  if (!e.definition->verdict.empty()) {
    const std::string word = verdict(e, expression::approximate(numbers));
    return word == said(e) ? "" : fmt::format("{} where the report says {}", word, said(e));
  }
  if (const double* d = std::get_if<double>(&e.answer.value)) {
    const long double value = expression::approximate(numbers);
    return std::fabs(value - static_cast<long double>(*d)) <= 1e-12L * std::fabs(static_cast<long double>(*d))
               ? ""
               : fmt::format("{} where the report says {}", static_cast<double>(value), *d);
  }
  const expression::Fraction value = expression::exact(numbers);
  const std::string mine = value.whole() ? expression::text(value.numerator()) : "a fraction";
  const std::string report = explain::number_text(e.answer.value);
  return mine == report ? "" : fmt::format("{} where the report says {}", mine, report);
}

int evaluated = 0;

std::string failure(const explain::Setting& s, const Definition& d) {
  try {
    const auto e = explain::explanation(s, d);
    if (!e) return "";
    ++evaluated;
    const std::string problem = wrong(*e);
    return problem.empty() ? "" : fmt::format("{}: {}\n  {}\n  {}", d.path, problem, e->formula.expression,
                                              joined(e->numbers).substr(0, 600));
  } catch (const std::exception& x) {
    return fmt::format("{}: {}", d.path, x.what());
  }
}

/// Every quantity of a request.
void check_all(const Request& r, const explain::Parts& parts, const std::string& how) {
  const explain::Setting s(r, parts);
  for (const Definition& d : explain::definitions()) {
    const std::string f = failure(s, d);
    if (f.empty()) continue;
    INFO(r.model.name << ", " << how << "\n" << f);
    CHECK(f.empty());
  }
}

Request request(const std::string& model) {
  Request r;
  r.model = load_model(model);
  r.hardware = load_hardware("h100-sxm-80gb");
  r.plan.seq = std::min<Count>(r.model.arch.context, 4096);
  r.plan.prompt = std::min<Count>(r.model.arch.context, 2048) - 100, r.plan.generate = 64;
  r.plan.global_batch = 1;
  return r;
}

}  // namespace

TEST_CASE("every printed formula of every model gives the report's number", "[explain]") {
  for (const Builtin& b : builtin_models()) {
    Request r = request(std::string(b.name));
    check_all(r, {true, true}, "defaults");
  }
  fmt::print("{}\n", evaluated);
}
