#pragma once
/// Options without effect.

#include "ask/request/options.hpp"
#include "ask/request/request.hpp"

namespace llmcalc {

/// A sentence where the option changes nothing in this answer; else empty.
std::string why_ignored(const Request& r, const Option& o);

/// Throws InputError where an option was given that changes nothing in this answer.
void refuse_ignored(const Request& r);

}  // namespace llmcalc
