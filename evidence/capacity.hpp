#pragma once
/// Whether a row's devices have enough memory for its data.

#include <string>

#include "evidence/rows/inference_case.hpp"
#include "evidence/rows/training_case.hpp"

namespace llmcalc {

/// Maximum accepted ratio of a stated size to the device's memory. It exceeds 1 because sources round sizes and write
/// GB for GiB.
inline constexpr double most_of_memory = 1.1;

/// Why no time is predicted for an inference row: its weights, averaged over pipeline stages, do not fit on the
/// devices, so some were stored elsewhere or in another format. Empty if they fit.
std::string weights_beyond_memory(const InferenceCase& c);

/// Assumption for a training row whose weights, gradients and optimizer states, averaged over stages, exceed the
/// devices' memory: the time is predicted as if they fit. Empty if they fit.
std::string states_beyond_memory(const TrainingCase& c);

}  // namespace llmcalc
