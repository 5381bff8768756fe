#pragma once
/// The speed that is asked of a generation or of a training step.

#include <string>
#include <string_view>

#include "calc/units.hpp"

namespace llmcalc {

enum class TargetKind : std::uint8_t {
  time,         ///< of a decoded token in the middle of the generation; of a training step
  rate,         ///< tokens per second: of one sequence; of a training run on all its devices
  first_token,  ///< time of the first token, behind the prompt
  utilization,  ///< MFU of a training step
  days          ///< of a training run
};

struct SpeedTarget {
  TargetKind kind = TargetKind::time;
  Seconds time{};     ///< at most; of a rate: per token; above 0
  double amount = 0;  ///< MFU as a fraction, or days
  /// Whether a generation, or a training step, can be asked for it.
  bool for_inference() const { return kind < TargetKind::utilization; }
  bool for_training() const { return kind != TargetKind::first_token; }
};

/// "50 tokens/s", "20 ms", "TTFT 0.5 s", "45 % MFU", "30 days". Throws InputError where it is none of these or not
/// above 0; `where` begins the sentence.
SpeedTarget read_target(std::string_view text, std::string_view where);
/// The same words: "50 tokens/s", "20 ms", "TTFT 0.5 s", "45 % MFU", "30 days".
std::string target_text(const SpeedTarget& target);

}  // namespace llmcalc
