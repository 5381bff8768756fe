#pragma once
/// Space of training plans of a request.

#include "ask/request/request.hpp"
#include "report/plan/plan_report.hpp"

namespace llmcalc {

/// The space of a request: options that were given are fixed, all other degrees are searched. Throws InputError where
/// --gpus is missing, where an option is given that a search ignores, and where the request is wrong in any layout.
Space space_of(const Request& r, Objective objective, std::size_t best);

/// Throws InputError where no plan of a space can be, whether it fits or not: what stands in the way, and what can be.
void require_possible(const Request& r, const Space& space);

}  // namespace llmcalc
