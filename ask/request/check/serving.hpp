#pragma once
/// Whether a server can be simulated as a request describes it.

#include "ask/request/request.hpp"

namespace llmcalc {

inline constexpr Count most_requests = 100'000'000;
/// Throws InputError where the traffic, the limits or the engine cannot be.
void check_serving(const Request& r);

}  // namespace llmcalc
