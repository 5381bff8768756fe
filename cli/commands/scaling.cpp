#include "calc/scaling.hpp"

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/commands/ask.hpp"
#include "text/error.hpp"
#include "text/names.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {

struct Budget {
  std::string flag;
  double value = 0;
};

double real(std::string_view text, std::string_view flag) {
  const double v = static_cast<double>(parse_wide(text, flag));
  if (v <= 0) throw InputError(fmt::format("{} is 0; more is wanted", flag));
  return v;
}

scaling::Optimum optimum(const scaling::Fit& fit, const Budget& b) {
  if (b.flag == "--compute") return scaling::optimum_for_compute(fit, b.value);
  if (b.flag == "--params") return scaling::optimum_for_params(fit, b.value);
  return scaling::optimum_for_tokens(fit, b.value);
}

Budget budget(const std::string& compute, const std::string& params, const std::string& tokens) {
  const int given =
      static_cast<int>(!compute.empty()) + static_cast<int>(!params.empty()) + static_cast<int>(!tokens.empty());
  if (given != 1)
    throw InputError("scaling wants one of --compute C, --params N, --tokens D; for example --compute 5.76e23");
  if (!compute.empty()) return {"--compute", real(compute, "--compute")};
  if (!params.empty()) return {"--params", real(params, "--params")};
  return {"--tokens", real(tokens, "--tokens")};
}

std::vector<scaling::Fit> chosen(const std::string& name) {
  if (name.empty()) {
    const auto all = scaling::fits();
    return {all.begin(), all.end()};
  }
  if (const auto fit = scaling::fit(lower(name))) return {*fit};
  std::string known;
  for (const auto& f : scaling::fits()) known += (known.empty() ? "" : ", ") + std::string(scaling::name(f));
  throw InputError(fmt::format("--fit {} is not known; it takes {}", in_quotes(name), known));
}

}  // namespace

int run_scaling(Args args) {
  Arguments arguments("scaling", "Compute-optimal parameters and tokens under 6ND = C, by every published fit.",
                      "  llmcalc scaling --compute 5.76e23\n  llmcalc scaling --params 70B --fit besiroglu");
  std::string compute, params, tokens, fit;
  arguments.option("--compute", "C", "training FLOPs", compute);
  arguments.option("--params", "N", "parameters", params);
  arguments.option("--tokens", "D", "training tokens", tokens);
  arguments.option("--fit", "NAME", "one fit only [all]", fit);
  arguments.styles();
  if (!arguments.parse(args)) return 0;
  const Budget b = budget(compute, params, tokens);
  Report report;
  report.command = "scaling";
  report.title = fmt::format("compute-optimal for {} {}", b.flag.substr(2), b.value);
  report.inputs = {{b.flag.substr(2), b.value}};
  report.conventions = {{"compute", "C = 6 N D"},
                        {"params", "all parameters; Kaplan's without embedding, positions and head"}};
  Grid g{.key = "fits",
         .title = "",
         .columns = {"fit", "parameters", "tokens", "tokens/param", "FLOPs", "loss"},
         .rows = {}};
  for (const scaling::Fit& f : chosen(fit)) {
    const scaling::Optimum o = optimum(f, b);
    g.rows.push_back({std::string(scaling::name(f)), human_text(o.params, Unit::parameters),
                      human_text(o.tokens, Unit::tokens), fmt::format("{:.1f}", o.tokens_per_parameter()),
                      fmt::format("{:.3g}", o.compute), o.loss ? fmt::format("{:.4f}", *o.loss) : "-"});
    json::Value v{{"fit", scaling::name(f)},
                  {"source", scaling::source(f)},
                  {"params", o.params},
                  {"tokens", o.tokens},
                  {"tokens_per_param", o.tokens_per_parameter()},
                  {"compute", o.compute}};
    if (o.loss) v["loss"] = *o.loss;
    g.json.push_back(std::move(v));
    report.notes.push_back(fmt::format("{}: {}", scaling::name(f), scaling::source(f)));
  }
  report.grids.push_back(std::move(g));
  report.conclusion = "The fits disagree; a plan should name the one it follows.";
  return print(report, arguments.style());
}

}  // namespace llmcalc
