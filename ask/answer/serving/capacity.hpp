#pragma once
/// Capacity of a server, measured on its traffic.

#include "ask/answer/serving/serving.hpp"
#include "ask/request/request.hpp"

namespace llmcalc {

/// Measured on the traffic's requests, which come at random, whatever their own rate: what is answered in the middle
/// half of a run in which half more come, where a little less than that leaves no queue that grows, and a little more
/// does; else the most rate at which none grows. With sessions, whose tokens leave the cache while their next turns
/// wait, it is the most rate that lasts: no queue may be long near the end of three longer runs. One engine counts for
/// all; of two kinds, as many as tell their ratio; where turns go to different engines, up to 8.
ServingCapacity measured_capacity(const Request& r, const ServingEngine& e, const ServingTraffic& traffic);
/// By how many requests per second the queue grows in the second half of the arrivals; 0: by no more than one in fifty
/// of them.
double queue_growth(const ServerRun& run);
/// The longest queue that is longer than what is in progress beside it; 0: there is none.
double long_queue(const ServerRun& run);

}  // namespace llmcalc
