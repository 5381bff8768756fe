#pragma once
/// Software of a training run, from its row.

#include "evidence/convert/training/training_row.hpp"
#include "evidence/names/stack.hpp"

namespace llmcalc {

/// Month of the NeMo container that a row states: "26.02". Empty if it states none.
std::string nemo_container(const TrainingRow& row);

Stack stack_of(const TrainingRow& row);

}  // namespace llmcalc
