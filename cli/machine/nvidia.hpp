#pragma once
/// NVIDIA GPUs of this machine, found through NVML.

#include <vector>

#include "cli/machine/machine.hpp"

namespace llmcalc {

/// Empty if the driver's library libnvidia-ml.so.1 is missing or reports an error.
std::vector<FoundGpu> nvidia_gpus();

}  // namespace llmcalc
