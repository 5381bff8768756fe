#pragma once
/// The changes to a plan of inference that would reach a speed, one at a time.

#include "ask/request/request.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// The time that --target asks for, whether the plan reaches it, and, each with all else as it is: the least memory
/// bandwidth, the largest batch, the fewest tensor-parallel devices inside one domain of links, and the widest of
/// fp8, int8 and int4 weights that do. Times are the estimate's, under the engine if there is one. What no change
/// reaches is absent, with the reason beside it. Precondition: the request has hardware and a target.
Section target_section(const Request& r);

/// Adds that section and its line of the verdict, where the request has a target.
void add_target(const Request& r, Report& report);

}  // namespace llmcalc
