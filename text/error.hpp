#pragma once
/// A mistake in what the user gave us.

#include <stdexcept>
#include <string>

namespace llmcalc {

/// One finished sentence: what is wrong, where, why, and what to do. Thrown once, caught in main, exit code 2.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace llmcalc
