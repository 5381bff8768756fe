#pragma once
/// Ctrl-C in a command that has something to finish.

#include <atomic>

namespace llmcalc {

/// What a shell says of a program that Ctrl-C ended.
inline constexpr int interrupted_code = 130;

/// From now on Ctrl-C sets this flag; a second one ends the program at once.
const std::atomic<bool>& interrupt_flag();

}  // namespace llmcalc
