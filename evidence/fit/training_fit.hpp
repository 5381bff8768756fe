#pragma once
/// Measured steps to which the parameters of the training estimator are fitted.

#include <span>
#include <vector>

#include "calc/train.hpp"
#include "evidence/fit/parameter_fit.hpp"
#include "evidence/rows/training_case.hpp"
#include "presets/estimators/training_estimator.hpp"

namespace llmcalc {

/// Rows with a step time. A row of quality A, B or C has weight 1, 0.6 or 0.1, multiplied by 0.3 if an input was
/// assumed.
FitSet training_fit_set(const std::vector<TrainingCase>& cases);

TrainingParameters training_parameters(std::span<const double> values);

}  // namespace llmcalc
