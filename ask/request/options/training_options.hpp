#pragma once
/// Options of training: computation, saved tensors and trained parts of a step.

#include <span>

#include "ask/request/options/options.hpp"

namespace llmcalc {

std::span<const Option> training_options();

}  // namespace llmcalc
