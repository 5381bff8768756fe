#pragma once
/// The most load of a server's traffic at which its limits are kept.

#include "ask/answer/serving/serving.hpp"
#include "ask/request/request.hpp"

namespace llmcalc {

/// The same question under another load: requests per second, or users.
Request with_load(Request r, double load);
/// Requests per second, or users. Precondition: the request has one of them.
double load_of(const Request& r);
/// Whether as many requests keep --slo-ttft and --slo-tpot as --percentile says.
bool keeps_slo(const Request& r, const Served& s);
/// A run that stops where more requests have missed the limits than --percentile leaves: `stopped` says that they are
/// not kept.
ServerRun run_within_slo(const Request& r, const ServingEngine& e, const ServingTraffic& traffic);
/// A rate as it is shown: three digits, and all of a large number.
double shown_rate(double rate);

/// The most load below the request's own of which enough requests keep the limits, found by halving within a hundredth:
/// a shown rate, or whole users, which was simulated and kept them. At most `capacity` requests per second. 0: none
/// down to 1/256. Precondition: the request has a rate or users, and limits.
double most_kept_load(const Request& r, const ServingEngine& e, double capacity);

}  // namespace llmcalc
