#pragma once
/// Changes to an inference plan that would reach a target speed, one at a time.

#include "ask/request/request.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// The time of --target, whether the plan meets it, and single changes that do: the lowest memory bandwidth, the
/// largest batch, the fewest tensor-parallel devices within one link domain, and the widest of fp8, int8 and int4
/// weights. Times are estimates, for the request's engine if it has one. If a change has no solution, the section
/// states the reason instead. Precondition: the request has hardware and a target.
Section target_section(const Request& r);

/// Adds the target section and its line in the verdict, if the request has a target.
void add_target(const Request& r, Report& report);

}  // namespace llmcalc
