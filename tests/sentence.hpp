#pragma once
/// The message of the InputError that an invalid input causes.

#include <functional>
#include <string>

#include "text/error.hpp"

namespace llmcalc::test {

inline std::string sentence(const std::function<void()>& act) {
  try {
    act();
  } catch (const InputError& e) {
    return e.what();
  }
  return "nothing was rejected";
}

}  // namespace llmcalc::test
