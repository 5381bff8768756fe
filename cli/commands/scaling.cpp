#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/commands/ask.hpp"
#include "report/scaling_report.hpp"
#include "text/error.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {

double real(std::string_view text, std::string_view flag) {
  const double v = static_cast<double>(parse_wide(text, flag));
  if (v <= 0) throw InputError(fmt::format("{} is 0; more is wanted", flag));
  return v;
}

ScalingQuestion question(const std::string& compute, const std::string& params, const std::string& tokens) {
  const int given =
      static_cast<int>(!compute.empty()) + static_cast<int>(!params.empty()) + static_cast<int>(!tokens.empty());
  if (given != 1)
    throw InputError("scaling wants one of --compute C, --params N, --tokens D; for example --compute 5.76e23");
  if (!compute.empty()) return {"compute", real(compute, "--compute"), ""};
  if (!params.empty()) return {"params", real(params, "--params"), ""};
  return {"tokens", real(tokens, "--tokens"), ""};
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
  ScalingQuestion q = question(compute, params, tokens);
  q.fit = fit;
  return print(scaling_report(q), arguments.style());
}

}  // namespace llmcalc
