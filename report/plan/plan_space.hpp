#pragma once
/// The search space of a request's training plans.

#include "ask/request/request.hpp"
#include "report/plan/plan_report.hpp"

namespace llmcalc {

/// The search space of a request: specified options are fixed, all other degrees are searched. Throws InputError if
/// --gpus is missing, if an option is set that a search ignores, or if the request is invalid in every layout.
Space space_of(const Request& r, Objective objective, std::size_t best);

/// Throws InputError if no plan of a space is possible, whether or not it would fit. The message states the obstacle
/// and possible values.
void require_possible(const Request& r, const Space& space);

}  // namespace llmcalc
