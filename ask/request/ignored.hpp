#pragma once
/// Options without effect.

#include "ask/request/request.hpp"

namespace llmcalc {

/// Throws InputError where an option was given that changes nothing in this answer.
void refuse_ignored(const Request& r);

}  // namespace llmcalc
