#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/kept_load.hpp"
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

/// A log's requests by their lengths alone: of users, each of whom asks again at once, or one long after another.
ServingTraffic again(const ServingTraffic& log, Count users, Count n) {
  constexpr double long_after = 1e5;  // seconds
  const std::vector<ServerRequest>& all = log.requests.requests;
  ServingTraffic t;
  t.requests.users = users;
  for (Count i = 0; i < n; ++i) {
    t.requests.requests.push_back(all[static_cast<std::size_t>(i) % all.size()]);
    t.requests.requests.back().at = Seconds(users > 0 ? 0 : long_after * real(i));
  }
  return t;
}

Served run_of(const Request& r, const ServingEngine& e, const ServingTraffic& traffic) {
  return served_of(r, traffic, plain_run(r, e, traffic));
}

/// Tries loads on one engine.
class LoadTrial {
 public:
  /// `latency`: of a request alone.
  LoadTrial(const Request& r, const ServingEngine& e, double latency) : request_(r), engine_(e), latency_(latency) {}

  Served at(double load) const {
    Request one = with_load(request_, load);
    one.serving.replicas = 1;
    if (!one.serving.requests) one.serving.requests = enough(load);
    return run_of(one, engine_, serving_traffic(one, engine_));
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

/// A load to begin with: half of what an engine answers by queueing theory, or the users that ask as much.
double first_load(const Request& r, const ServingEngine& e, double latency) {
  const ServingInputs& v = r.serving;
  const double before = real(v.turns - 1) / 2 * real(r.plan.prompt + r.plan.generate);
  const SteadyLoad beyond{.rate = 1e300,
                          .prompt = real(v.shared_prefix + r.plan.prompt) + before,
                          .generate = real(r.plan.generate),
                          .cached = v.prefix_cache ? real(v.shared_prefix) + before : 0,
                          .shared = v.shared_prefix};
  const double half = steady_state({.server = e.rules}, e.times, beyond).capacity / 2;
  return v.users ? std::max(1.0, std::floor(half * (latency + v.think.value))) : half;
}

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

/// The fewest engines that keep the limits under a log's requests, behind the router of a plan; 0: none do. Begins with
/// as many as they would take all the time.
Count engines_of_log(ServingOffer& offer, const ServingEngine& e, const ServingTraffic& log,
                     const std::function<bool()>& goes_on) {
  const Count most = std::min<Count>(4096, static_cast<Count>(log.requests.requests.size()));
  const auto keeps = [&](Count n) {
    offer.request.serving.replicas = n;
    return keeps_slo(offer.request, run_of(offer.request, e, log));
  };
  offer.request.serving.routing = Routing::least_loaded;
  offer.request.serving.replicas = 1;
  const SteadyState one = steady_state_of(offer.request, e, log, offer.alone);
  Count n = std::clamp<Count>(static_cast<Count>(std::ceil(std::min(one.load, real(most)))), 1, most), too_few = 0;
  for (; !keeps(n); n = std::min(2 * n, most)) {
    if (n == most || !goes_on()) return 0;
    too_few = n;
  }
  while (n - too_few > 1 && goes_on()) {
    const Count middle = too_few + (n - too_few) / 2;
    (keeps(middle) ? n : too_few) = middle;
  }
  offer.most = one.load * one.capacity / real(n);
  return n;
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

Served served_alone(const Request& r, const ServingEngine& e, const ServingTraffic* log) {
  constexpr Count several = 100;
  const ServingInputs& v = r.serving;
  const bool alike = v.length_variation == 0 && v.lengths.empty() && v.shared_prefix == 0;
  Request one = r;
  one.serving.replicas = 1;
  if (log != nullptr)
    return run_of(one, e, again(*log, 0, std::min(several, static_cast<Count>(log->requests.requests.size()))));
  one.serving.rate = 1e-5;
  one.serving.arrival_variation = 0;
  one.serving.users = std::nullopt;
  one.serving.duration = std::nullopt;
  one.serving.requests = alike ? 1 : several;
  one.serving.turns = 1;
  return run_of(one, e, serving_traffic(one, e));
}

std::string too_slow(const Request& r, const Served& s) {
  const ServingInputs& v = r.serving;
  const auto time = [](Seconds t) { return human_text(Quantity(t.value), Unit::seconds); };
  if (keeps_slo(r, s)) return "";
  if (v.slo_first_token && s.first_token.mean > *v.slo_first_token)
    return fmt::format("alone, a request has its first token after {}", time(s.first_token.mean));
  if (v.slo_per_token && s.per_token.mean > *v.slo_per_token)
    return fmt::format("alone, a request takes {} per token", time(s.per_token.mean));
  return fmt::format("alone, {:.4g} % of the requests keep the limits", 100 * s.met);
}

namespace {

/// Fills in how many engines the load takes, or why none serve it.
void find_engines(ServingOffer& offer, const std::function<bool()>& goes_on) {
  Request& r = offer.request;
  const bool logged = !r.serving.log.empty();
  const ServingEngine e = serving_engine(r);
  const ServingTraffic log = logged ? serving_traffic(r, e) : ServingTraffic();
  offer.alone = served_alone(r, e, logged ? &log : nullptr);
  offer.why = too_slow(r, offer.alone);
  if (!offer.why.empty()) return;
  const double latency = offer.alone.latency.mean.value;
  if (!logged) offer.most = most_kept(LoadTrial(r, e, latency), first_load(r, e, latency), goes_on);
  if (logged)
    offer.engines = engines_of_log(offer, e, log, goes_on);
  else if (offer.most > 0)
    offer.engines = static_cast<Count>(std::ceil(load_of(r) / offer.most));
  if (offer.engines == 0)
    offer.why =
        logged ? "keeps the limits with no number of engines" : "keeps the limits at no load that is worth an engine";
}

}  // namespace

ServingOffer serving_offer(const Request& r, const std::function<bool()>& goes_on) {
  ServingOffer offer;
  offer.request = r;
  settle(offer.request);  // the engine and its rates depend on the layout
  try {
    check(offer.request);
    offer.possible = true;
    offer.fits = holds_a_request(offer.request, serving_engine(offer.request));
    if (!offer.fits)
      offer.why = "has no room for a request";
    else
      find_engines(offer, goes_on);
  } catch (const InputError& e) {
    offer.why = e.what();
  }
  return offer;
}

std::vector<ServingPoint> serving_front(const std::vector<const ServingOffer*>& offers) {
  constexpr Count rounds = 8;
  std::vector<ServingPoint> all;
  for (const ServingOffer* o : offers) {
    const ServingEngine engine = serving_engine(o->request);
    std::optional<ServingTraffic> log;
    if (!o->request.serving.log.empty()) log = serving_traffic(o->request, engine);
    for (Count users = 1; users <= engine.limits.sequences; users *= 4) {
      Request r = o->request;
      r.serving.rate = std::nullopt;
      r.serving.users = users;
      r.serving.replicas = 1;
      r.serving.requests = mul(rounds, users);
      const Served s =
          log ? run_of(r, engine, again(*log, users, *r.serving.requests)) : LoadTrial(r, engine, 1).at(real(users));
      if (s.continued > 0)
        all.push_back({o, users, 1 / s.per_token.mean.value, s.token_rate / real(devices(r.layout))});
    }
  }
  return undominated(std::move(all));
}

namespace {

/// Runs the whole load on the offer's engines. Of more than can be told apart only as many are simulated, with their
/// share of the load: the router gives each as much.
void serve_load(ServingOffer& offer, const ServingEngine& e) {
  constexpr Count told_apart = 32;
  Request part = offer.request;
  const bool whole = offer.engines <= told_apart || !part.serving.log.empty();
  offer.request.serving.replicas = offer.engines;
  part.serving.replicas = whole ? offer.engines : told_apart;
  const double share = real(part.serving.replicas) / real(offer.engines);
  if (!whole) part = with_load(part, share * load_of(part));
  const ServingTraffic traffic = serving_traffic(part, e);
  offer.run = serving_run(part, e, traffic, false, [](Count, Count) { return true; });
  offer.run.share = share;
  offer.at = served_of(part, traffic, offer.run.run);
  for (double Served::*rate : {&Served::prompt_rate, &Served::token_rate, &Served::request_rate, &Served::goodput})
    offer.at.*rate /= share;
}

}  // namespace

void settle_offer(ServingOffer& offer) {
  constexpr int tries = 6;
  constexpr Count step = 50;            // one more of as many
  constexpr double trial_error = 1.07;  // of the most load, found with few requests
  const ServingEngine engine = serving_engine(offer.request);
  if (offer.request.serving.log.empty())
    offer.engines =
        std::max<Count>(1, static_cast<Count>(std::ceil(load_of(offer.request) / (trial_error * offer.most))));
  offer.request.serving.routing = Routing::least_loaded;
  for (int i = 0; i < tries; ++i, offer.engines += 1 + offer.engines / step) {
    serve_load(offer, engine);
    if (keeps_slo(offer.request, offer.at)) return;
  }
  offer.engines = offer.request.serving.replicas;
  offer.why = "its engines together miss the limits, though one keeps them";
}

}  // namespace llmcalc
