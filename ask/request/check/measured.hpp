#pragma once
/// Checks a measured throughput against the hardware's peak.

#include "ask/request/request.hpp"

namespace llmcalc {

/// FLOPs executed at this throughput, as a fraction of the devices' peak; above 1 is impossible.
double share_of_peak(const Request& r, double tokens_per_s);

/// Throws InputError if the measured throughput exceeds the peak FLOPs of the devices. Precondition: the request has
/// hardware and a measured throughput.
void check_measured(const Request& r);

}  // namespace llmcalc
