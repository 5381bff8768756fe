#pragma once
/// Whether the devices of a row can hold its data.

#include <string>

#include "evidence/rows/inference_case.hpp"
#include "evidence/rows/training_case.hpp"

namespace llmcalc {

/// Sources round sizes and write GB for GiB, so 10 % more than a device's memory is accepted.
inline constexpr double most_of_memory = 1.1;

/// Why an inference row has no device-bound time: its weights, as the mean over pipeline stages, do not fit on the
/// devices, so some were elsewhere or in another format. Empty if they fit.
std::string weights_beyond_memory(const InferenceCase& c);

/// Assumption for a training row whose weights, gradients and optimizer states, as the mean over stages, exceed the
/// devices' memory: its time is for devices that hold them. Empty if they fit.
std::string states_beyond_memory(const TrainingCase& c);

}  // namespace llmcalc
