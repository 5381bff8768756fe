#pragma once
/// Memory that training software logs for each rank: Megatron-LM and Megatron-Bridge, NeMo, DeepSpeed, torchtune,
/// torchtitan. Units of the logs: Megatron's "MB" is 2^20 bytes, DeepSpeed's "GB" 2^30, Megatron-Bridge's "gigabytes"
/// 10^9.

#include <optional>
#include <string>
#include <vector>

#include "evidence/logs/log_line.hpp"

namespace llmcalc {

/// Peaks of one rank over all of its reports, and the current values of its last report.
struct RankMemory {
  std::optional<Count> rank{};  ///< number of the rank; absent: not in the log
  std::optional<LoggedBytes> allocated{}, reserved{};
  std::optional<LoggedBytes> peak_allocated{}, peak_reserved{};
};

struct TrainingMemory {
  std::string software{};  ///< name of a preset in presets/software, or "torchtune", which has none
  std::string title{};     ///< name in messages: "Megatron-LM"
  std::string version{};   ///< version; empty: not in the log
  std::vector<RankMemory> ranks{};
  std::optional<LoggedBytes> capacity{};                              ///< memory capacity of a device
  std::optional<LoggedBytes> weights_and_optimizer{}, activations{};  ///< bytes computed by Megatron's formula
  Count reports = 0;
  Count retries = 0;  ///< number of allocations retried after the allocator freed its cache

  bool says_memory() const { return !ranks.empty(); }
  /// The rank with the highest peak. Precondition: says_memory().
  const RankMemory& fullest() const;
};

/// Throws InputError if the numbers of a report contradict each other.
TrainingMemory read_training_memory(const std::vector<LogLine>& lines);

}  // namespace llmcalc
