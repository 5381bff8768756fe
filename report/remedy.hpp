#pragma once
/// What to type for a change that makes a plan fit.

#include <string>

#include "report/request.hpp"
#include "search/reverse.hpp"

namespace llmcalc {

/// The option that makes the change, "--tp 4", and what has to be said differently with it.
std::string remedy_option(const Request& r, const Remedied& m);

}  // namespace llmcalc
