#pragma once
/// The message of PyTorch that a device has no memory left (c10/cuda/CUDACachingAllocator.cpp), in the wording of
/// version 1 and of 2.1 and later. A number that a message does not say is absent.

#include <string>
#include <string_view>
#include <vector>

#include "evidence/logs/log_line.hpp"

namespace llmcalc {

/// A process of the message, and what it holds of the device.
struct DeviceProcess {
  std::optional<Count> pid;  ///< absent: the one that asked
  LoggedBytes bytes{};
};

struct OutOfMemory {
  std::optional<Count> gpu{};
  LoggedBytes asked{};
  std::optional<LoggedBytes> capacity{}, free{};
  std::optional<LoggedBytes> allocated{};      ///< by PyTorch, private pools among it
  std::optional<LoggedBytes> private_pools{};  ///< of CUDA graphs
  std::optional<LoggedBytes> reserved{};       ///< allocated or not
  std::optional<LoggedBytes> slack{};          ///< reserved and not allocated
  std::optional<LoggedBytes> allowed{};        ///< to this process, where it limits itself
  std::vector<DeviceProcess> processes{};      ///< empty: not said
  /// The environment's variable with the allocator's options: as the message names it, else that of CUDA or HIP.
  std::string variable{};
};

/// The messages of a log, one for each GPU: its first. Throws InputError where the numbers of one contradict each
/// other.
struct OutOfMemoryLog {
  std::vector<OutOfMemory> messages;
  Count repeats = 0;  ///< further messages of the same GPUs
};
OutOfMemoryLog read_out_of_memory(std::string_view plain, std::string_view file);

}  // namespace llmcalc
