#pragma once
/// Compute-optimal sizes under the published fits: the answer of `llmcalc scaling`.

#include <string>

#include "report/report.hpp"

namespace llmcalc {

/// Inputs of the scaling laws. `fixed`: "compute" (FLOPs), "params" or "tokens". `fit`: one fit, or empty for all.
struct ScalingQuestion {
  std::string fixed;
  double value = 0;
  std::string fit;
};

/// Throws InputError for an unknown fit.
Report scaling_report(const ScalingQuestion& question);

}  // namespace llmcalc
