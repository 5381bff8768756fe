#pragma once
/// Tables printed by torch.cuda.memory_summary() (torch/cuda/memory.py), one per device. Missing values are absent.

#include <string_view>
#include <vector>

#include "evidence/logs/log_line.hpp"

namespace llmcalc {

/// Current and peak value of a metric. Peaks of different metrics may occur at different times.
struct UsageNow {
  LoggedBytes current{}, peak{};
};

struct MemorySummary {
  std::optional<Count> device{};
  std::optional<UsageNow> allocated{};       ///< bytes of tensors, in blocks of 512 bytes
  std::optional<UsageNow> active{};          ///< bytes allocated, or freed while a stream still uses them
  std::optional<UsageNow> requested{};       ///< bytes of tensors, before rounding to blocks
  std::optional<UsageNow> reserved{};        ///< bytes reserved by the allocator
  std::optional<UsageNow> non_releasable{};  ///< bytes reserved but not active, in segments that are partly in use
  std::optional<Count> failures{};           ///< number of failed requests
};

/// The tables in a log. Contains only the last table of each device. Throws InputError if the numbers of a table
/// contradict each other.
struct MemorySummaryLog {
  std::vector<MemorySummary> devices;
  Count repeats = 0;  ///< number of earlier tables for the same devices
};
MemorySummaryLog read_memory_summary(const std::vector<LogLine>& lines);

}  // namespace llmcalc
