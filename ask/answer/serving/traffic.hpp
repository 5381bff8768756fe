#pragma once
/// Requests of a server under traffic: drawn, or read from a log.

#include "ask/answer/serving/serving.hpp"
#include "ask/request/request.hpp"

namespace llmcalc {

/// Throws InputError if a log or a table of lengths cannot be read, if a request in a log is too long, or if there are
/// more than most_requests. `goes_on` is called periodically; if it returns false, drawing ends with the requests so
/// far.
ServingTraffic serving_traffic(const Request& r, const ServingEngine& e, const std::function<bool()>& goes_on = {});

}  // namespace llmcalc
