#pragma once
/// Checks whether the trained part of a plan is valid: adapters, or a model with frozen parts.

#include "ask/request/request.hpp"

namespace llmcalc {

/// Throws InputError if it is not.
void check_trained(const Request& r);

}  // namespace llmcalc
