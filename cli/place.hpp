#pragma once
/// The backend that --device selects for the reference transformer.

#include <string>

#include "validate/run.hpp"

namespace llmcalc {

/// "cpu" or "cuda". Throws InputError where there is no GPU to be used.
validate::Where place(const std::string& device);

}  // namespace llmcalc
