#pragma once
/// The speed that is asked of a generation: the time that a decoded token, or the first one, may take.

#include <string>
#include <string_view>

#include "calc/units.hpp"

namespace llmcalc {

struct SpeedTarget {
  Seconds time;              ///< at most; above 0
  bool first_token = false;  ///< of the first token, behind the prompt; else of one in the middle of the generation
};

/// "50 tokens/s" of one sequence, "20 ms" per token, "TTFT 0.5 s". Throws InputError where it is no speed or not above
/// 0; `where` begins the sentence.
SpeedTarget read_target(std::string_view text, std::string_view where);
/// "50 tokens/s", "TTFT 0.5 s"
std::string target_text(const SpeedTarget& target);

}  // namespace llmcalc
