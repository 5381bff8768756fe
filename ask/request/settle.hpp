#pragma once
/// Defaults that depend on model, hardware and layout.

#include "ask/request/request.hpp"

namespace llmcalc {

/// Fills in the defaults that depend on model and hardware, where no option was given: seq, global_batch, precisions,
/// replicas, prompt; and narrows the parts to the half that was asked for.
void settle(Request& r);

}  // namespace llmcalc
