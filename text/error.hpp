#pragma once
/// An error in the user's input.

#include <stdexcept>
#include <string>

namespace llmcalc {

/// One complete sentence: the problem, its place, its cause and the remedy. Thrown once, caught in main, exit code 2.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace llmcalc
