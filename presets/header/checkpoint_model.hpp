#pragma once
/// Checks a checkpoint against a model, and adds its formats and bytes to the model's card.

#include "presets/header/checkpoint.hpp"
#include "presets/model_card.hpp"

namespace llmcalc {

/// Adds a checkpoint's contents to a model: the most common format of each component, the bytes of all tensors, and
/// caveats that list unrecognized tensors and tensors outside the model with their bytes. Throws InputError if the
/// tensors belong to another model, that is, if the layers, the token embedding or a component's parameter count
/// differ.
void add_checkpoint(ModelCard& card, const Checkpoint& c);

}  // namespace llmcalc
