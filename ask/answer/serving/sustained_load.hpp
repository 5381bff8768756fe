#pragma once
/// Highest load of a server's traffic that meets its limits.

#include "ask/answer/serving/serving.hpp"
#include "ask/request/request.hpp"

namespace llmcalc {

/// The same request under another load: requests per second, or users.
Request with_load(Request r, double load);
/// Requests per second, or users. Precondition: the request has one of the two.
double load_of(const Request& r);
/// Whether the share of requests within --slo-ttft and --slo-tpot reaches --percentile.
bool keeps_slo(const Request& r, const Served& s);
/// Simulates until more requests have missed the limits than --percentile allows, or until `goes_on` returns false.
/// `stopped` then means that the limits are missed, or not known to be met.
ServerRun run_within_slo(const Request& r, const ServingEngine& e, const ServingTraffic& traffic,
                         const GoesOn& goes_on = {});
/// A rate rounded for display: three digits, or all digits of a large number.
double shown_rate(double rate);

/// Highest load at which enough requests meet the limits, found by bisection to 1 %; at most the request's own load,
/// and at most `capacity` requests per second for a rate. The returned value is itself one of the simulated loads: a
/// rate rounded down as displayed, or a whole number of users. Returns 0 if no load down to 1/256 of the highest one
/// tried meets the limits. Precondition: the request has a rate or users, and limits.
double most_sustained_load(const Request& r, const ServingEngine& e, double capacity);

}  // namespace llmcalc
