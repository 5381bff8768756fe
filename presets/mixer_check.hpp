#pragma once
/// Checks of token mixers. Each error message describes the problem in one sentence.

#include <fmt/format.h>

#include <string>

#include "calc/arch/mixer.hpp"
#include "presets/arch_check.hpp"
#include "text/error.hpp"

namespace llmcalc {

/// Throws an InputError for each failed check. Its message consists of the location and a sentence.
class Check {
 public:
  explicit Check(const std::string& where) : where_(where) {}

  void that(bool good, const std::string& sentence) const {
    if (!good) throw InputError(where_ + ": " + sentence);
  }
  void size(Count value, std::string_view name, Count least = 1, Count most = max_size) const {
    if (value >= least && value <= most) return;  // the message is formatted only on failure
    that(false, fmt::format("{}: expected a whole number from {} to {}, got {}", name, least, most, value));
  }

 private:
  const std::string& where_;
};

/// Throws InputError for widths, counts and combinations that no mixer supports.
void check_mixer(const Mixer& mixer, const Check& check);

}  // namespace llmcalc
