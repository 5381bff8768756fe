#pragma once
/// A simulated run of a request's traffic, with its inputs and results.

#include <optional>

#include "ask/answer/serving/serving.hpp"
#include "ask/request/request.hpp"

namespace llmcalc {

/// A run of the request's traffic.
struct WholeRun {
  Request request;  ///< the request with all defaults filled in
  ServingEngine engine;
  ServingTraffic traffic;
  ServingRun run;
  Served served;
};
/// Simulates the request's traffic. Absent if the engine cannot hold a request.
std::optional<WholeRun> whole_run(const Request& r);

}  // namespace llmcalc
