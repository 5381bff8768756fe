#pragma once
/// Options that a training stack sets unless the user does, and whether it converts frozen weights.

#include <string>

#include "ask/request/request.hpp"

namespace llmcalc {

/// Sets the options of the stack in --software ("defaults" of its file) that the user did not set. Throws InputError if
/// the file has an unknown option or value.
void apply_stack_defaults(Request& r);

/// Widens frozen 16-bit weights to float32 if the stack of --software does so ("widens" of its file).
void widen_frozen_weights(Request& r);

/// Text that lists the stack's options: "trl sets --recompute full, --logits bytes:14"; empty without such options.
std::string stack_defaults_text(const Request& r);

}  // namespace llmcalc
