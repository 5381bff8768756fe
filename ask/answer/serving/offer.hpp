#pragma once
/// Hardware and layouts that could serve a load.

#include "ask/answer/serving/plan.hpp"
#include "ask/answer/serving/serving.hpp"
#include "ask/request/request.hpp"

namespace llmcalc {

/// Layouts to search: 1 to 16 tensor-parallel ranks, also as pipelines of 2 or 4 stages if no link is faster than PCI
/// Express. With experts, also the same numbers of data-parallel attention ranks, and of tensor-parallel ranks with
/// whole experts. Only the request's own layout if it specifies one.
std::vector<Request> serving_layouts(const Request& r);

/// Serves requests of the traffic one at a time: one request if all are identical, otherwise 100. If fewer than
/// --percentile of the 100 meet the limits but chance could explain it, serves 10,000. `log`: the traffic, if it is a
/// log.
Served served_alone(const Request& r, const ServingEngine& e, const ServingTraffic* log = nullptr);
/// Why too few requests meet the limits. Empty if enough do, or if the shortfall is within three standard errors.
std::string too_slow(const Request& r, const Served& alone);

/// The offer for one kind of hardware and one layout: whether a request fits, the speed of a request without
/// contention, and a lower bound on the number of engines. The bound assumes 1.5 times the steady-state capacity per
/// engine, a margin above the error of that capacity.
/// `caution`: ServingOffer::caution.
ServingOffer serving_offer(const Request& r, double caution = 1);
/// Upper end of the interval of the time per token, as a multiple of the estimate, if no published run used the
/// request's device or software; otherwise 1.
double caution_of(const Request& r);
/// Pareto front of user speed and throughput, slowest user first, over the fitting offers of one kind of hardware.
std::vector<ServingPoint> serving_front(const std::vector<const ServingOffer*>& offers);

}  // namespace llmcalc
