#pragma once
/// Defaults that depend on model, hardware and layout.

#include "ask/request/request.hpp"

namespace llmcalc {

/// Fills in defaults that depend on model and hardware, for options that the user did not set: seq, global_batch,
/// precisions, replicas, prompt. Restricts the parts to the requested half.
void settle(Request& r);

}  // namespace llmcalc
