#pragma once
/// Requests of a server under traffic: drawn, or read from a log.

#include "ask/answer/serving/serving.hpp"
#include "ask/request/request.hpp"

namespace llmcalc {

/// Throws InputError where a log or a table of lengths cannot be read, where a request of a log is too long, and where
/// there are more than most_requests. `goes_on` is asked now and then; false: what is drawn by then is all.
ServingTraffic serving_traffic(const Request& r, const ServingEngine& e, const std::function<bool()>& goes_on = {});

}  // namespace llmcalc
