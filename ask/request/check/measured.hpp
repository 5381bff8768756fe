#pragma once
/// Whether devices can reach a measured throughput.

#include "ask/request/request.hpp"

namespace llmcalc {

/// The FLOPs that devices execute at a throughput over those that they can at their peak; above 1 it cannot be.
double share_of_peak(const Request& r, double tokens_per_s);

/// Throws InputError where devices would execute more FLOPs than they can. Precondition: the request has hardware and a
/// measured throughput.
void check_measured(const Request& r);

}  // namespace llmcalc
