#pragma once
/// Checks whether a request with all defaults filled in can be answered.

#include "ask/request/request.hpp"

namespace llmcalc {

/// Throws InputError if these parts of the plan are impossible: ranks that do not divide the heads, sequences longer
/// than a learned position table, a precision without a peak on the hardware, ranks without a link, a measured
/// throughput above the hardware's peak.
void check(const Request& r, Parts parts);
inline void check(const Request& r) { check(r, r.parts); }

}  // namespace llmcalc
