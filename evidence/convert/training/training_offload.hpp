#pragma once
/// Data that a training run offloads to host memory, read from its row.

#include <string>

#include "calc/plan.hpp"
#include "evidence/convert/training/training_layout.hpp"
#include "evidence/convert/training/training_row.hpp"

namespace llmcalc {

/// Offload from a row's "offload": "none", or parts (activations, optimizer, weights) separated by commas or plus
/// signs, with a fraction for partial offload ("optimizer:0.5"). "activation_offload_layers" is the number of layers
/// whose activations are offloaded. Sets `skip` to the reason if a plan cannot express it.
Offload offload_of(const TrainingRow& row, std::string& skip);

}  // namespace llmcalc
