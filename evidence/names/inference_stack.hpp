#pragma once
/// A row's engine as the estimator knows it.

#include "evidence/rows/inference_case.hpp"
#include "presets/estimators/inference_estimator.hpp"

namespace llmcalc {

InferenceStack inference_stack(const EngineName& engine);
inline InferenceStack inference_stack(const InferenceCase& c) { return inference_stack(c.engine); }

/// Figures of a class are predicted about as well. Nothing of those that are no times or rates.
std::optional<InferenceClass> inference_class(const InferenceCase& c, FigureKind quantity);

}  // namespace llmcalc
