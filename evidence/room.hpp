#pragma once
/// Whether the devices of a row can hold what it says they held.

#include <string>

#include "evidence/rows/inference_case.hpp"
#include "evidence/rows/training_case.hpp"

namespace llmcalc {

/// Sources round sizes and write GB for GiB: a tenth more than a device's memory is no contradiction.
inline constexpr double most_of_memory = 1.1;

/// Why a row of inference has no pace of its devices: its weights do not fit into them, so that some were elsewhere or
/// in another format; in the mean over the stages of a pipeline. Empty: they fit.
std::string weights_beyond_memory(const InferenceCase& c);

/// That weights, gradients and optimizer states of a row of training are more than its devices' memory, in the mean
/// over the stages: the time is that of devices which hold them. Empty: they fit.
std::string states_beyond_memory(const TrainingCase& c);

}  // namespace llmcalc
