#pragma once
/// Compute-optimal sizes under the published fits: what `llmcalc scaling` answers.

#include <string>

#include "report/report.hpp"

namespace llmcalc {

/// A question of the scaling laws. `fixed`: "compute" (FLOPs), "params" or "tokens"; and the one fit that is asked for,
/// or all.
struct ScalingQuestion {
  std::string fixed;
  double value = 0;
  std::string fit;
};

/// Throws InputError for a fit that is not known.
Report scaling_report(const ScalingQuestion& question);

}  // namespace llmcalc
