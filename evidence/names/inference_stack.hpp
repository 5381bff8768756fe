#pragma once
/// A row's engine as input to the estimator.

#include "evidence/rows/inference_case.hpp"
#include "presets/estimators/inference_estimator.hpp"

namespace llmcalc {

InferenceStack inference_stack(const EngineName& engine);
inline InferenceStack inference_stack(const InferenceCase& c) { return inference_stack(c.engine); }

/// Class of figures with similar prediction errors. Empty if the figure is not a time or rate.
std::optional<InferenceClass> inference_class(const InferenceCase& c, FigureKind quantity);

}  // namespace llmcalc
