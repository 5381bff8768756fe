#pragma once
/// The software of a training run, as its row tells.

#include "evidence/convert/training_row.hpp"
#include "evidence/names/stack.hpp"

namespace llmcalc {

Stack stack_of(const TrainingRow& row);

}  // namespace llmcalc
