#pragma once
/// Servers whose passes take a multiple of their estimated times.

#include "ask/request/request.hpp"
#include "serve/traffic.hpp"

namespace llmcalc {

/// A request whose server, at the estimated pass times, behaves as the original's server at `times` these pass times.
/// Only ratios of times matter, so that instead of longer passes, the request has shorter limits, think times and
/// duration, and a higher rate.
Request at_pace(Request r, double times);
/// The traffic of a log at the same pace: arrivals and think times are divided by `times`.
RequestTraffic at_pace(RequestTraffic t, double times);

}  // namespace llmcalc
