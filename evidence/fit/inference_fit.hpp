#pragma once
/// Measured figures that the parameters of the estimator of inference are fitted to.

#include <optional>
#include <span>
#include <vector>

#include "evidence/fit/parameter_fit.hpp"
#include "evidence/inference_times.hpp"
#include "presets/estimators/inference_estimator.hpp"

namespace llmcalc {

/// The figures that are times or rates. A row weighs 1, 0.6 or 0.1 by its tier A, B or C, times 0.3 where an input had
/// to be assumed; a first token under load 0.1, since bursts of requests decide it; figures that repeat others, or that
/// the row itself advises against, nothing.
/// Of a recorded run the means of TTFT and TPOT count, 1 each.
FitSet inference_fit_set(const std::vector<InferenceCase>& cases, const std::vector<RunCase>& runs);

InferenceParameters inference_parameters(std::span<const double> values);

}  // namespace llmcalc
