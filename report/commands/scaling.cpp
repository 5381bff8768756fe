#include <fmt/format.h>

#include <array>

#include "ask/request/options/options.hpp"
#include "report/commands/arguments.hpp"
#include "report/scaling_report.hpp"
#include "text/error.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {

ScalingQuestion question(const Arguments& a) {
  std::string given;
  for (const char* flag : {"--compute", "--params", "--tokens"}) {
    if (!a.has(flag)) continue;
    if (!given.empty())
      throw InputError(fmt::format("{} and {} are mutually exclusive; specify one of them", given, flag));
    given = flag;
  }
  if (given.empty())
    throw InputError(
        "'llmcalc scaling' needs one of --compute C, --params N or --tokens D; for example --compute 5.76e23");
  return {given.substr(2), static_cast<double>(parse_wide(a.text(given), given)), a.text("--fit")};
}

Output answer_scaling(const Arguments& arguments, Runner&) { return {scaling_report(question(arguments))}; }

constexpr std::array scaling_options{Option{"--compute", "C", "training FLOPs"}, Option{"--params", "N", "parameters"},
                                     Option{"--tokens", "D", "training tokens"},
                                     Option{"--fit", "NAME", "one fit only [all]"}};

}  // namespace

const Command scaling_command{
    .name = "scaling",
    .arguments = "--compute C",
    .summary = "compute-optimal sizes by scaling law",
    .about = "Computes compute-optimal parameters and tokens under 6ND = C, by every published fit.",
    .examples = "  llmcalc scaling --compute 5.76e23\n  llmcalc scaling --params 70B --fit besiroglu",
    .own = scaling_options,
    .parts = part::styles,
    .keys = "inputs conventions fits",
    .answer = answer_scaling};

}  // namespace llmcalc
