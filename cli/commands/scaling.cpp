#include "calc/scaling.hpp"

#include <fmt/format.h>

#include <array>

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

scaling::Optimum optimum(const scaling::Fit& fit, const Budget& b) {
  if (b.flag == "--compute") return scaling::optimum_for_compute(fit, b.value);
  if (b.flag == "--params") return scaling::optimum_for_params(fit, b.value);
  return scaling::optimum_for_tokens(fit, b.value);
}

Budget budget(const Arguments& a) {
  Budget b;
  for (const char* flag : {"--compute", "--params", "--tokens"}) {
    if (!a.has(flag)) continue;
    if (!b.flag.empty()) throw InputError(fmt::format("{} and {} exclude each other; give one of them", b.flag, flag));
    b = {flag, static_cast<double>(parse_wide(a.text(flag), flag))};
  }
  if (b.flag.empty())
    throw InputError(
        "'llmcalc scaling' needs one of --compute C, --params N, --tokens D; for example --compute 5.76e23");
  return b;
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

int run_scaling(const Arguments& arguments) {
  const Budget b = budget(arguments);
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
  for (const scaling::Fit& f : chosen(arguments.text("--fit"))) {
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

constexpr std::array own{Option{"--compute", "C", "training FLOPs"}, Option{"--params", "N", "parameters"},
                         Option{"--tokens", "D", "training tokens"}, Option{"--fit", "NAME", "one fit only [all]"}};

}  // namespace

const Command scaling_command{
    .name = "scaling",
    .arguments = "--compute C",
    .summary = "compute-optimal sizes, by every fit",
    .about = "Compute-optimal parameters and tokens under 6ND = C, by every published fit.",
    .examples = "  llmcalc scaling --compute 5.76e23\n  llmcalc scaling --params 70B --fit besiroglu",
    .own = own,
    .parts = part::styles,
    .run = run_scaling};

}  // namespace llmcalc
