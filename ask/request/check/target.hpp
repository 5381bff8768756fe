#pragma once
/// Checks whether a target applies to an answer.

#include "ask/request/request.hpp"

namespace llmcalc {

/// Throws InputError if these parts of the answer cannot have the target: a generation has no MFU, a training step no
/// first token, and only a run has days. Precondition: the request has a target.
void check_target(const Request& r, Parts parts);

}  // namespace llmcalc
