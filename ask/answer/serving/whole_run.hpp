#pragma once
/// A simulated run of a request's traffic, and its parts.

#include <optional>

#include "ask/answer/serving/serving.hpp"
#include "ask/request/request.hpp"

namespace llmcalc {

/// A run of the request's traffic.
struct WholeRun {
  Request request;  ///< settled
  ServingEngine engine;
  ServingTraffic traffic;
  ServingRun run;
  Served served;
};
/// Absent where the engine has no room.
std::optional<WholeRun> whole_run(const Request& r);

}  // namespace llmcalc
