#pragma once
/// Which hardware and layout serve a load within limits: of each the fewest engines that keep them, found by trial of
/// the whole server under simulated traffic.

#include <optional>
#include <string>
#include <vector>

#include "ask/answer/serving/serving.hpp"
#include "ask/request/request.hpp"

namespace llmcalc {

/// One hardware and layout, and how many engines of it the load takes.
struct ServingOffer {
  Request request{};       ///< with --replicas, when it is served
  std::string why{};       ///< it does not serve; empty: it does
  bool possible = false;   ///< such an engine can be built
  bool fits = false;       ///< and has room for a request
  ServingEngine engine{};  ///< where it can be built
  Served alone{};          ///< a request that meets no other, where there is room
  bool settled = false;    ///< the fewest engines are known
  Count engines = 1;       ///< the fewest that keep the limits, where they are known; else no fewer do
  Served at{};             ///< the whole load, when it is served
  ServingRun run{};
  Count gpus() const { return mul(engines, devices(request.layout)); }
  bool served() const { return at.requests > 0; }
};

/// A point between speed for one user and throughput: so many users at once on one engine.
struct ServingPoint {
  const ServingOffer* offer = nullptr;
  Count users = 1;
  double user_speed = 0, gpu_rate = 0;  ///< answered tokens per second: of a user, and of a GPU
};

/// Hardware or layouts that were not compared, and why.
struct LeftOut {
  std::string name, why;
};

/// The question to a plan's report.
struct ServingPlanQuestion {
  bool several = false;  ///< hardware is compared
  bool stopped = false;  ///< before all were looked at
  bool whole = true;     ///< each plan's every number, its measured capacity too, which JSON alone shows
};
}  // namespace llmcalc
