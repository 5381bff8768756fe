#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/options.hpp"
#include "report/sections.hpp"
#include "report/serving_plan.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

constexpr Count most_ranks = 16;    ///< of one engine
constexpr Count most_stages = 4;    ///< of a pipeline; more add waiting and no room that tensor-parallel ranks lack
constexpr double load_step = 1.03;  ///< loads closer than this count as one
constexpr double most_load = 1e6;   ///< requests per second, or users, of one engine

Request with_option(Request r, std::string_view flag, Count n) {
  give(r, *find_option(flag), std::to_string(n));
  return r;
}

/// Whether some option that a layout consists of was given.
bool gives_layout(const Request& r) { return r.gave("--tp") || r.gave("--ep") || r.gave("--dp") || r.gave("--pp"); }

/// Whether a node's GPUs have no faster link than PCI Express.
bool joins_by_pcie(const HardwareCard& card) {
  const auto& levels = card.cluster.levels;
  return card.pcie.value > 0 && !levels.empty() && levels[0].bandwidth <= card.pcie;
}

/// The same question of one engine under another load.
Request with_load(Request r, double load) {
  if (r.serving.users)
    r.serving.users = std::max<Count>(1, std::llround(load));
  else
    r.serving.rate = load;
  r.serving.replicas = 1;
  return r;
}

double load_of(const Request& r) { return r.serving.users ? real(*r.serving.users) : *r.serving.rate; }

/// Tries loads on one engine.
class LoadTrial {
 public:
  /// `latency`: of a request alone.
  LoadTrial(const Request& r, const ServingEngine& e, double latency) : request_(r), engine_(e), latency_(latency) {}

  Served at(double load) const {
    Request one = with_load(request_, load);
    if (!one.serving.requests) one.serving.requests = enough(load);
    const ServingTraffic traffic = serving_traffic(one, engine_);
    return served_of(one, traffic, serving_run(one, engine_, traffic, false, [](Count, Count) { return true; }));
  }
  bool keeps(double load) const { return keeps_slo(request_, at(load)); }

 private:
  /// Requests that tell a percentile: 20 beyond it, and ten times those in progress, that the beginning weighs little.
  Count enough(double load) const {
    const double beyond = 20 / (1 - request_.serving.percentile / 100);
    const double in_progress = request_.serving.users ? load : load * latency_;
    return static_cast<Count>(std::min(std::max(beyond, 10 * in_progress), 1e6));
  }

  const Request& request_;
  const ServingEngine& engine_;
  double latency_;
};

/// The most load that is kept, within load_step, from a first guess; 0: none that is worth an engine.
double most_kept(const LoadTrial& trial, double guess, const std::function<bool()>& goes_on) {
  constexpr int halvings = 8;
  double low = guess;
  for (int i = 0; !trial.keeps(low); low /= 2)
    if (++i > halvings || !goes_on()) return 0;
  double high = 2 * low;
  for (; high < most_load && goes_on() && trial.keeps(high); high *= 2) low = high;
  while (high / low > load_step && goes_on()) {
    const double middle = std::sqrt(low * high);
    (trial.keeps(middle) ? low : high) = middle;
  }
  return low;
}

/// A request that meets no other.
Served alone(const Request& r, const ServingEngine& e) {
  Request one = r;
  one.serving.rate = 1;
  one.serving.users = std::nullopt;
  one.serving.requests = 1;
  one.serving.turns = 1;
  return LoadTrial(one, e, 1).at(1);
}

std::string too_slow(const Request& r, const Served& s) {
  const ServingInputs& v = r.serving;
  const auto time = [](Seconds t) { return human_text(Quantity(t.value), Unit::seconds); };
  if (v.slo_first_token && s.first_token.mean > *v.slo_first_token)
    return fmt::format("alone, a request has its first token after {}", time(s.first_token.mean));
  if (v.slo_per_token && s.per_token.mean > *v.slo_per_token)
    return fmt::format("alone, a request takes {} per token", time(s.per_token.mean));
  return "";
}

/// The points that no other beats in both, slowest user first. What a short trial cannot tell apart, a hundredth, is no
/// gain.
std::vector<ServingPoint> undominated(std::vector<ServingPoint> all) {
  std::sort(all.begin(), all.end(),
            [](const ServingPoint& a, const ServingPoint& b) { return a.gpu_rate > b.gpu_rate; });
  constexpr double noise = 0.01;
  std::vector<ServingPoint> front;
  for (const ServingPoint& p : all)
    if (front.empty() || p.user_speed > (1 + noise) * front.back().user_speed) front.push_back(p);
  return front;
}

}  // namespace

std::vector<Request> serving_layouts(const Request& r) {
  if (gives_layout(r)) return {r};
  const bool pipelines = joins_by_pcie(*r.hardware);
  std::vector<Request> all;
  for (Count n = 1; n <= most_ranks; n *= 2) {
    all.push_back(with_option(r, "--tp", n));
    for (Count stages = 2; pipelines && stages <= most_stages && mul(n, stages) <= most_ranks; stages *= 2)
      all.push_back(with_option(with_option(r, "--tp", n), "--pp", stages));
    if (n > 1 && r.model.arch.has_experts()) all.push_back(with_option(with_option(r, "--dp", n), "--ep", n));
  }
  return all;
}

bool keeps_slo(const Request& r, const Served& s) { return s.requests > 0 && 100 * s.met >= r.serving.percentile; }

ServingOffer serving_offer(const Request& r, const std::function<bool()>& goes_on) {
  ServingOffer offer;
  offer.request = r;
  settle(offer.request);  // the engine and its rates depend on the layout
  try {
    check(offer.request);
  } catch (const InputError& e) {
    offer.why = e.what();
    return offer;
  }
  const ServingEngine engine = serving_engine(offer.request);
  offer.fits = holds_a_request(offer.request, engine);
  if (!offer.fits) {
    offer.why = "has no room for a request";
    return offer;
  }
  offer.alone = alone(offer.request, engine);
  offer.why = too_slow(offer.request, offer.alone);
  if (!offer.why.empty()) return offer;
  const double guess = offer.request.serving.users ? 1 : 0.5 / offer.alone.latency.mean.value;
  offer.most = most_kept(LoadTrial(offer.request, engine, offer.alone.latency.mean.value), guess, goes_on);
  if (offer.most == 0) {
    offer.why = "keeps the limits at no load that is worth an engine";
    return offer;
  }
  offer.engines = static_cast<Count>(std::ceil(load_of(r) / offer.most));
  return offer;
}

std::vector<ServingPoint> serving_front(const std::vector<const ServingOffer*>& offers) {
  constexpr Count rounds = 8;
  std::vector<ServingPoint> all;
  for (const ServingOffer* o : offers) {
    const ServingEngine engine = serving_engine(o->request);
    for (Count users = 1; users <= engine.limits.sequences; users *= 4) {
      Request r = o->request;
      r.serving.rate = std::nullopt;
      r.serving.users = users;
      r.serving.requests = mul(rounds, users);
      const Served s = LoadTrial(r, engine, 1).at(real(users));
      if (s.continued > 0)
        all.push_back({o, users, 1 / s.per_token.mean.value, s.token_rate / real(devices(r.layout))});
    }
  }
  return undominated(std::move(all));
}

void settle_offer(ServingOffer& offer) {
  constexpr int tries = 6;
  constexpr double trial_error = 1.07;  // of the most load, found with few requests
  const ServingEngine engine = serving_engine(offer.request);
  offer.engines =
      std::max<Count>(1, static_cast<Count>(std::ceil(load_of(offer.request) / (trial_error * offer.most))));
  offer.request.serving.routing = Routing::least_loaded;
  for (int i = 0; i < tries; ++i, ++offer.engines) {
    offer.request.serving.replicas = offer.engines;
    const ServingTraffic traffic = serving_traffic(offer.request, engine);
    offer.run = serving_run(offer.request, engine, traffic, false, [](Count, Count) { return true; });
    offer.at = served_of(offer.request, traffic, offer.run);
    if (keeps_slo(offer.request, offer.at)) return;
  }
  --offer.engines;
  offer.why = "its engines together miss the limits, though one keeps them";
}

}  // namespace llmcalc
