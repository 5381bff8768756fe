#pragma once
/// Measured figures to which the parameters of the inference estimator are fitted.

#include <optional>
#include <span>
#include <vector>

#include "evidence/fit/parameter_fit.hpp"
#include "evidence/inference_times.hpp"
#include "presets/estimators/inference_estimator.hpp"

namespace llmcalc {

/// Figures that are times or rates. A row of quality A, B or C has weight 1, 0.6 or 0.1, multiplied by 0.3 if an input
/// was assumed. A time to first token under load gets a tenth of this weight, since it depends on bursts of requests.
/// Figures that repeat others or on which the row casts doubt have weight 0. Recorded runs add mean TTFT and mean TPOT
/// with weight 1.
FitSet inference_fit_set(const std::vector<InferenceCase>& cases, const std::vector<RunCase>& runs);

InferenceParameters inference_parameters(std::span<const double> values);

}  // namespace llmcalc
