#pragma once
/// Checks whether a server can be simulated as requested.

#include "ask/request/request.hpp"

namespace llmcalc {

inline constexpr Count most_requests = 100'000'000;
/// Throws InputError if the traffic, the limits or the engine are impossible.
void check_serving(const Request& r);

}  // namespace llmcalc
