#pragma once
/// Which hardware and layout serve a load within limits: of each the fewest engines that keep them, found by trial of
/// the whole server under simulated traffic.

#include <optional>
#include <string>
#include <vector>

#include "report/report.hpp"
#include "report/serving.hpp"

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
/// Dollars per hour of its GPUs; nothing where no price is known.
std::optional<double> usd_per_hour(const ServingOffer& o);
/// Fewest GPUs first, of as many the cheapest.
bool has_fewer_gpus(const ServingOffer& a, const ServingOffer& b);

/// The layouts that are searched: 1 to 16 tensor-parallel ranks, alone and, where no link is faster than PCI Express,
/// as the stages of a pipeline of 2 or 4; with experts as many data-parallel ranks of attention, and as many
/// tensor-parallel ones whose ranks have whole experts. The request's own alone where a layout was given.
std::vector<Request> serving_layouts(const Request& r);

/// Requests of the traffic that meet no other: one where all are alike, else 100, and 10,000 where fewer of these than
/// --percentile keep the limits, but by no more than chance does. `log`: the traffic, where it is a log.
Served served_alone(const Request& r, const ServingEngine& e, const ServingTraffic* log = nullptr);
/// Why not enough of them keep the limits; empty: they do, or are fewer by no more than three standard errors.
std::string too_slow(const Request& r, const Served& alone);

/// The offer of a hardware and layout: whether it has room, how fast a request alone is, and how many engines the load
/// takes at least, those that answer 1.5 times as much as the limits of a pass say, which errs by less.
ServingOffer serving_offer(const Request& r);

/// Settles offers as far as they can be shown, and serves the load with these: the `top` best, best first, among them
/// one of fewest GPUs. Of an offer that cannot be among them only that is found out. Each leaves no queue that grows
/// and keeps the limits: but for one draw of the traffic in twenty, the share of requests that do would be less than it
/// is and still as many as --percentile says. With one engine fewer it does not. `goes_on`: false stops when something
/// is found.
std::vector<const ServingOffer*> settle_offers(std::vector<ServingOffer>& offers, std::size_t top,
                                               const std::function<bool()>& goes_on);

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
  bool several = false;  ///< hardware is compared
  bool stopped = false;  ///< before all were looked at
  bool whole = true;     ///< each plan's every number, its measured capacity too, which JSON alone shows
};
/// The plans of settle_offers(), `shown`. `like`: any request of the question.
Report serving_plan_report(const Request& like, const std::vector<ServingOffer>& offers,
                           const std::vector<const ServingOffer*>& shown, const std::vector<LeftOut>& left_out,
                           const ServingPlanQuestion& q);

}  // namespace llmcalc
