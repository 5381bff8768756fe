#pragma once
/// The model that a checkpoint holds.

#include "presets/header/checkpoint.hpp"
#include "presets/model_card.hpp"

namespace llmcalc {

/// Adds to a model what its checkpoint holds: of every component the format of most numbers, and the bytes of all
/// tensors. Caveats name what is beside the model or not recognised, with its bytes. Throws InputError where the
/// tensors are those of another model: other layers, another token table, or other numbers of a component.
void add_checkpoint(ModelCard& card, const Checkpoint& c);

}  // namespace llmcalc
