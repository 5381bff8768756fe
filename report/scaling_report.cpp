#include "report/scaling_report.hpp"

#include <fmt/format.h>

#include "calc/scaling.hpp"
#include "text/error.hpp"
#include "text/format.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

scaling::Optimum optimum(const scaling::Fit& fit, const ScalingQuestion& q) {
  if (q.fixed == "compute") return scaling::optimum_for_compute(fit, q.value);
  if (q.fixed == "params") return scaling::optimum_for_params(fit, q.value);
  return scaling::optimum_for_tokens(fit, q.value);
}

std::vector<scaling::Fit> chosen(const std::string& name) {
  if (name.empty()) {
    const auto all = scaling::fits();
    return {all.begin(), all.end()};
  }
  if (const auto fit = scaling::fit(lower(name))) return {*fit};
  std::string known;
  for (const auto& f : scaling::fits()) known += (known.empty() ? "" : "|") + std::string(scaling::name(f));
  throw InputError(fmt::format("--fit: expected {}, got {}", one_of(known), in_quotes(name)));
}

void add_fit(Grid& g, const scaling::Fit& f, const scaling::Optimum& o) {
  g.rows.push_back({std::string(scaling::name(f)), short_text(o.params, Unit::parameters),
                    short_text(o.tokens, Unit::tokens), fmt::format("{:.1f}", o.tokens_per_parameter()),
                    fmt::format("{:.3g}", o.compute), o.loss ? fmt::format("{:.4f}", *o.loss) : "-"});
  json::Value v{{"fit", scaling::name(f)},
                {"source", scaling::source(f)},
                {"params", o.params},
                {"tokens", o.tokens},
                {"tokens_per_param", o.tokens_per_parameter()},
                {"compute", o.compute}};
  if (o.loss) v["loss"] = *o.loss;
  g.json.push_back(std::move(v));
}

}  // namespace

Report scaling_report(const ScalingQuestion& q) {
  Report report;
  report.command = "scaling";
  report.title = fmt::format("compute-optimal for {} {}", q.fixed, q.value);
  report.inputs = {{q.fixed, q.value}};
  if (!q.fit.empty()) report.inputs["fit"] = q.fit;
  report.conventions = {{"compute", "C = 6 N D"},
                        {"params", "all parameters; Kaplan excludes embedding, positions and head"}};
  Grid g{.key = "fits",
         .title = "",
         .columns = {"fit", "parameters", "tokens", "tokens/param", "FLOPs", "loss"},
         .rows = {}};
  for (const scaling::Fit& f : chosen(q.fit)) {
    add_fit(g, f, optimum(f, q));
    report.notes.push_back({"scaling_fit_source", fmt::format("{}: {}", scaling::name(f), scaling::source(f))});
  }
  report.grids.push_back(std::move(g));
  report.verdict = {{"", "The fits disagree; a plan should state which one it follows."}};
  return report;
}

}  // namespace llmcalc
