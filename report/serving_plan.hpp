#pragma once
/// Which hardware and layout serve a load within limits: the most load of one engine, found by trial of simulated
/// traffic, and from it the engines and GPUs of the whole.

#include <optional>
#include <string>
#include <vector>

#include "report/report.hpp"
#include "report/serving.hpp"

namespace llmcalc {

/// One hardware and layout, and what an engine of it can do within the limits.
struct ServingOffer {
  Request request{};      ///< with --replicas, when it is settled
  std::string why{};      ///< it does not serve; empty: it does
  bool possible = false;  ///< such an engine can be built
  bool fits = false;      ///< and has room for a request
  Served alone{};         ///< a request that meets no other, where there is room
  double most = 0;        ///< requests per second, or users, that an engine serves within the limits
  Count engines = 0;      ///< that the whole load takes
  Served at{};            ///< the whole load, when it is settled
  ServingRun run{};
  Count gpus() const { return mul(engines, devices(request.layout)); }
};

/// The layouts that are searched: 1 to 16 tensor-parallel ranks, alone and, where no link is faster than PCI Express,
/// as the stages of a pipeline of 2 or 4; with experts as many data-parallel ranks of attention. None where a layout
/// was given.
std::vector<Request> serving_layouts(const Request& r);

/// Requests of the traffic that meet no other: one, or as many as tell a percentile where they differ or where a prefix
/// is in the cache from the second one on. `log`: the traffic, where it is a log.
Served served_alone(const Request& r, const ServingEngine& e, const ServingTraffic* log = nullptr);
/// Why not enough of them keep the limits; empty: they do.
std::string too_slow(const Request& r, const Served& alone);

/// The offer of a hardware and layout. `goes_on`: false stops the search for it.
ServingOffer serving_offer(const Request& r, const std::function<bool()>& goes_on);

/// Serves the whole load with the fewest engines behind a router that keep the limits, as near the trial's number as a
/// trial errs. Precondition: the offer serves.
void settle_offer(ServingOffer& offer);

/// A point between speed for one user and throughput: so many users at once on one engine.
struct ServingPoint {
  const ServingOffer* offer = nullptr;
  Count users = 1;
  double user_speed = 0, gpu_rate = 0;  ///< answered tokens per second: of a user, and of a GPU
};
/// The points that no other beats in both, slowest user first, over the offers of one hardware that fit.
std::vector<ServingPoint> serving_front(const std::vector<const ServingOffer*>& offers);

/// Hardware or layouts that were not compared, and why.
struct LeftOut {
  std::string name, why;
};

/// The question to a plan's report.
struct ServingPlanQuestion {
  std::size_t top = 10;  ///< plans to show
  bool several = false;  ///< hardware is compared
  bool stopped = false;  ///< before all were looked at
};
/// The plans, cheapest first. `like`: any request of the question.
Report serving_plan_report(const Request& like, std::vector<ServingOffer> offers, const std::vector<LeftOut>& left_out,
                           const ServingPlanQuestion& q);

}  // namespace llmcalc
