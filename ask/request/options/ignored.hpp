#pragma once
/// Options without effect.

#include "ask/request/options/options.hpp"
#include "ask/request/request.hpp"

namespace llmcalc {

/// A sentence if the option changes no part of this answer, otherwise empty.
std::string why_ignored(const Request& r, const Option& o);

/// Throws InputError if an option that the user set has no effect on this answer.
void refuse_ignored(const Request& r);

}  // namespace llmcalc
