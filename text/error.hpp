#pragma once
/// An error in the user's input.

#include <stdexcept>
#include <string>

namespace llmcalc {

/// The message is one complete sentence: the problem, its place, its cause and the remedy. main() catches the error and
/// exits with code 2.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The error message for an Overflow, which may be thrown anywhere in the engine.
inline constexpr const char* overflow_sentence =
    "a count exceeds 2^63; check the model, the batch size and the sequence length";

}  // namespace llmcalc
