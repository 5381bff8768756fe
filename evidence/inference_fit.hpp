#pragma once
/// Measured figures that the parameters of the estimator of inference are fitted to.

#include <optional>
#include <span>
#include <vector>

#include "evidence/inference_times.hpp"
#include "evidence/parameter_fit.hpp"
#include "presets/inference_estimator.hpp"

namespace llmcalc {

/// The times of a case under parameters. The case outlives them.
InferenceTimes estimated_times(const InferenceCase& c, const InferenceStack& stack, const InferenceParameters& p);

/// The figures that are times or rates. A row weighs 1, 0.6 or 0.1 by its tier A, B or C, times 0.3 where an input had
/// to be assumed; a first token under load 0.1, since bursts of requests decide it; figures that repeat others, or that
/// the row itself advises against, nothing.
FitSet inference_fit_set(const std::vector<InferenceRow>& rows, const Devices& devices);

InferenceParameters inference_parameters(std::span<const double> values);

}  // namespace llmcalc
