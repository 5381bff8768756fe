#pragma once
/// A row's engine as input to the estimator.

#include "evidence/rows/inference_case.hpp"
#include "presets/estimators/inference_estimator.hpp"

namespace llmcalc {

/// Name of the software preset that describes an engine; "vllm" for engines without a preset.
std::string inference_profile(const EngineName& engine);
/// Stack of an engine at its version.
InferenceStack inference_stack(const EngineName& engine);
inline InferenceStack inference_stack(const InferenceCase& c) { return inference_stack(c.engine); }

/// Default limits of an engine's passes at its version. `longest`: tokens of the longest request.
EngineLimits default_limits(const EngineName& engine, Count tensor_ranks, const HardwareCard& card, Count longest = 0);

/// Class of figures with similar prediction errors. Empty if the figure is not a time or rate.
std::optional<InferenceClass> inference_class(const InferenceCase& c, FigureKind quantity);

}  // namespace llmcalc
