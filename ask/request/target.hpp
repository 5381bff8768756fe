#pragma once
/// Target speed of a generation or of a training step.

#include <string>
#include <string_view>

#include "calc/units.hpp"

namespace llmcalc {

enum class TargetKind : std::uint8_t {
  time,         ///< time per decoded token at mid-generation, or per training step
  rate,         ///< tokens per second of one sequence, or of a training run on all its devices
  first_token,  ///< time to first token, including the prompt
  utilization,  ///< MFU of a training step
  days          ///< days that a training run takes
};

struct SpeedTarget {
  TargetKind kind = TargetKind::time;
  Seconds time{};     ///< upper limit, above 0; for TargetKind::rate, the time per token
  double amount = 0;  ///< MFU as a fraction, or number of days
  /// Whether the target applies to a generation, or to a training step.
  bool for_inference() const { return kind < TargetKind::utilization; }
  bool for_training() const { return kind != TargetKind::first_token; }
};

/// Reads a target: "50 tokens/s", "20 ms", "TTFT 0.5 s", "45 % MFU", "30 days". Throws InputError for other text and
/// for values not above 0; `where` begins the error message.
SpeedTarget read_target(std::string_view text, std::string_view where);
/// The target in the same syntax: "50 tokens/s", "20 ms", "TTFT 0.5 s", "45 % MFU", "30 days".
std::string target_text(const SpeedTarget& target);

}  // namespace llmcalc
