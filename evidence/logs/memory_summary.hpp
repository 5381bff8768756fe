#pragma once
/// Tables of torch.cuda.memory_summary() (torch/cuda/memory.py), one for each device. What a table does not say is
/// absent.

#include <string_view>
#include <vector>

#include "evidence/logs/log_line.hpp"

namespace llmcalc {

/// A metric now and at its own peak.
struct UsageNow {
  LoggedBytes current{}, peak{};
};

struct MemorySummary {
  std::optional<Count> device{};
  std::optional<UsageNow> allocated{};       ///< by tensors, in blocks of 512 bytes
  std::optional<UsageNow> active{};          ///< allocated, or freed and waited for by a stream
  std::optional<UsageNow> requested{};       ///< by tensors, before rounding to blocks
  std::optional<UsageNow> reserved{};        ///< by the allocator
  std::optional<UsageNow> non_releasable{};  ///< reserved beside what is active, in segments that are partly in use
  std::optional<Count> failures{};           ///< requests that found no memory
};

/// The tables of a log: each device's last. Throws InputError where the numbers of one contradict each other.
struct MemorySummaryLog {
  std::vector<MemorySummary> devices;
  Count repeats = 0;  ///< earlier tables of the same devices
};
MemorySummaryLog read_memory_summary(const std::vector<LogLine>& lines);

}  // namespace llmcalc
