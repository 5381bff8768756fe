#pragma once
/// A simulated run of a server.

#include "ask/answer/serving/serving.hpp"
#include "ask/request/request.hpp"

namespace llmcalc {

/// The server's engines and their routing.
Fleet serving_fleet(const Request& r, const ServingEngine& e);

/// Simulates the engines on the traffic.
ServerRun plain_run(const Request& r, const ServingEngine& e, const ServingTraffic& traffic,
                    const ServerWatch& watch = {});
ServingRun serving_run(const Request& r, const ServingEngine& e, const ServingTraffic& traffic, bool keep_passes,
                       const GoesOn& goes_on);

/// The limits --slo-ttft and --slo-tpot.
Slo slo_of(const Request& r);
/// Summarizes a run's answered requests and compares them with the request's limits.
Served served_of(const Request& r, const ServingTraffic& traffic, const ServerRun& run);

}  // namespace llmcalc
