#pragma once
/// Checks whether the trained part of a plan is valid: adapters, or a model with frozen parts.

#include "ask/request/request.hpp"

namespace llmcalc {

/// Throws InputError if the trained part is invalid.
void check_trained(const Request& r);

}  // namespace llmcalc
