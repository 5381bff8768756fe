#pragma once
/// Software of a training run, from its row.

#include "evidence/convert/training_row.hpp"
#include "evidence/names/stack.hpp"

namespace llmcalc {

Stack stack_of(const TrainingRow& row);

}  // namespace llmcalc
