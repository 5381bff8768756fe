#pragma once
/// Capacity of a server, measured on its traffic.

#include "ask/answer/serving/serving.hpp"
#include "ask/request/request.hpp"

namespace llmcalc {

/// Measures the capacity with the traffic's requests, which arrive at random at trial rates instead of the traffic's
/// rate. The capacity is the throughput in the middle half of a run at 1.5 times that rate, if the queue is stable
/// slightly below it and grows slightly above it; otherwise it is the highest rate without queue growth. With sessions,
/// whose cached tokens are evicted while their next turns wait, it is the highest rate that leaves no long queue near
/// the
/// end of three longer runs. One engine represents all engines; pools are reduced to their ratio; if turns go to
/// different engines, up to 8 are simulated.
ServingCapacity measured_capacity(const Request& r, const ServingEngine& e, const ServingTraffic& traffic);
/// Growth of the queue in requests per second over the second half of the arrivals. 0 if the growth is at most 2 % of
/// these arrivals.
double queue_growth(const ServerRun& run);
/// Length of the longest queue that exceeds the number of requests in progress; 0 if no queue does.
double long_queue(const ServerRun& run);

}  // namespace llmcalc
