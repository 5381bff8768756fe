#pragma once
/// Hardware and layouts that serve a load within limits, each with the fewest engines that meet them. Found by
/// simulating the whole server under its traffic.

#include <optional>
#include <string>
#include <vector>

#include "ask/answer/serving/serving.hpp"
#include "ask/request/request.hpp"

namespace llmcalc {

/// Fewest engines at the ends of the 90 % interval of the time per token. At the slow end, the limits may be missed
/// with any number.
struct EngineInterval {
  Count low = 1;
  std::optional<Count> high{};
};

/// One kind of hardware with one layout, and the number of engines that the load needs.
struct ServingOffer {
  Request request{};       ///< the request; has --replicas if it serves the load
  std::string why{};       ///< why it does not serve the load; empty if it does
  bool possible = false;   ///< whether the engine can be built
  bool fits = false;       ///< whether a request fits in its cache
  ServingEngine engine{};  ///< valid if possible
  Served alone{};          ///< requests served one at a time; valid if fits
  double caution = 1;      ///< pass times in the search, as a multiple of the estimate: above 1 for devices and
                           ///< software without published runs
  bool settled = false;    ///< whether the fewest engines are known
  Count engines = 1;       ///< fewest engines that meet the limits if settled, else a lower bound
  std::optional<EngineInterval> interval{};  ///< of the number of engines; for the best offers, if it is known
  Served at{};                               ///< results under the whole load; valid if the load is served
  ServingRun run{};
  Count gpus() const { return mul(engines, devices(request.layout)); }
  bool served() const { return at.requests > 0; }
};

/// A tradeoff between user speed and throughput: one engine with `users` concurrent users.
struct ServingPoint {
  const ServingOffer* offer = nullptr;
  Count users = 1;
  double user_speed = 0, gpu_rate = 0;  ///< generated tokens per second, per user and per GPU
};

/// Hardware or layouts omitted from the comparison, and why.
struct LeftOut {
  std::string name, why;
};

/// Options of a serving plan's report.
struct ServingPlanQuestion {
  bool several = false;  ///< whether the report compares hardware
  Count failed = 0;      ///< failed requests of a published log, which are omitted
  bool stopped = false;  ///< whether the search stopped before trying all offers
  bool whole = true;     ///< whether to compute all numbers, including the measured capacity, which only JSON shows
};
}  // namespace llmcalc
