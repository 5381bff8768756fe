#pragma once
/// What a row of training keeps in the host's memory.

#include <string>

#include "calc/plan.hpp"
#include "evidence/convert/training_layout.hpp"
#include "evidence/convert/training_row.hpp"

namespace llmcalc {

/// Offload as a row's "offload" says it: "none", or parts (activations, optimizer, weights), each with a fraction if
/// not all of it ("optimizer:0.5"), separated by commas or plus signs. "activation_offload_layers" of the model's
/// layers keep no activations on the device. Not empty `skip`: why the plan cannot say it.
Offload offload_of(const TrainingRow& row, std::string& skip);

}  // namespace llmcalc
