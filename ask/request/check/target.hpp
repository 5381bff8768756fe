#pragma once
/// Whether a target can be asked of an answer.

#include "ask/request/request.hpp"

namespace llmcalc {

/// Throws InputError where these parts of the answer cannot reach such a target: a generation has no MFU, a training
/// step no first token, and days are those of a run. Precondition: the request has a target.
void check_target(const Request& r, Parts parts);

}  // namespace llmcalc
