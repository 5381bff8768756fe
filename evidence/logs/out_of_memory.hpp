#pragma once
/// PyTorch's out-of-memory message (c10/cuda/CUDACachingAllocator.cpp), in the wordings of version 1 and of 2.1 and
/// later. Numbers missing from a message are absent.

#include <string>
#include <string_view>
#include <vector>

#include "evidence/logs/log_line.hpp"

namespace llmcalc {

/// A process in the message, and its memory on the device.
struct DeviceProcess {
  std::optional<Count> pid;  ///< process id; absent: the process whose request failed
  LoggedBytes bytes{};
};

struct OutOfMemory {
  std::optional<Count> gpu{};
  LoggedBytes asked{};
  std::optional<LoggedBytes> capacity{}, free{};
  std::optional<LoggedBytes> allocated{};      ///< bytes allocated by PyTorch, including private pools
  std::optional<LoggedBytes> private_pools{};  ///< bytes in private pools of CUDA graphs
  std::optional<LoggedBytes> reserved{};       ///< bytes reserved by PyTorch, whether allocated or not
  std::optional<LoggedBytes> slack{};          ///< bytes reserved but not allocated
  std::optional<LoggedBytes> allowed{};        ///< memory limit set by this process
  std::vector<DeviceProcess> processes{};      ///< empty if the message lists none
  /// Environment variable with the allocator's options: as named in the message, otherwise the one for CUDA or HIP.
  std::string variable{};
};

/// The messages in a log. Contains only the first message of each GPU. Throws InputError if the numbers of a message
/// contradict each other.
struct OutOfMemoryLog {
  std::vector<OutOfMemory> messages;
  Count repeats = 0;  ///< number of further messages for the same GPUs
};
OutOfMemoryLog read_out_of_memory(std::string_view plain, std::string_view file);

}  // namespace llmcalc
