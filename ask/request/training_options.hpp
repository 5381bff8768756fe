#pragma once
/// The options of training: what a step runs, keeps and trains.

#include <span>

#include "ask/request/options.hpp"

namespace llmcalc {

std::span<const Option> training_options();

}  // namespace llmcalc
