#pragma once
/// Handling of Ctrl-C in commands that have work to finish.

#include <atomic>

namespace llmcalc {

/// Exit code of a program that Ctrl-C ended, as shells report it.
inline constexpr int interrupted_code = 130;

/// From now on Ctrl-C sets this flag; a second one ends the program at once.
const std::atomic<bool>& interrupt_flag();

}  // namespace llmcalc
