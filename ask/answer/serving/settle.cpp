#include "ask/answer/serving/settle.hpp"

// Finds how many engines an offer needs for a load, and which offers are worth that search.

#include <algorithm>
#include <atomic>
#include <cmath>

#include "ask/answer/interval.hpp"
#include "ask/answer/serving/capacity.hpp"
#include "ask/answer/serving/pace.hpp"
#include "ask/answer/serving/plan.hpp"
#include "ask/answer/serving/run.hpp"
#include "ask/answer/serving/serving.hpp"
#include "ask/answer/serving/sustained_load.hpp"
#include "ask/answer/serving/traffic.hpp"
#include "ask/request/prices.hpp"
#include "ask/request/request.hpp"
#include "ask/request/serving_inputs.hpp"
#include "ask/request/weight_precision.hpp"

namespace llmcalc {
namespace {

constexpr double unpriced = 1e300;

double hourly_usd(const ServingOffer& o) { return usd_per_hour(o).value_or(unpriced); }

/// Orders offers: cheapest first; without a price, fewest GPUs first.
bool is_cheaper(const ServingOffer& a, const ServingOffer& b) {
  const double x = hourly_usd(a), y = hourly_usd(b);
  return x != y ? x < y : has_fewer_gpus(a, b);
}

/// Orders served offers: cheapest first; at equal cost, lower latency first.
bool is_better(const ServingOffer* a, const ServingOffer* b) {
  if (is_cheaper(*a, *b) || is_cheaper(*b, *a)) return is_cheaper(*a, *b);
  return a->at.latency.mean < b->at.latency.mean;
}

/// Sort key of the offers to try, lowest first: cost divided by the fraction of the limits that remains for queueing.
/// If good offers are found early, fewer of the others need more than one trial.
double promise(const ServingOffer& o) {
  constexpr double least = 0.02;
  const ServingInputs& v = o.request.serving;
  double used = 0;
  if (v.slo_first_token) used = o.alone.first_token.p95 / *v.slo_first_token;
  if (v.slo_per_token) used = std::max(used, o.alone.per_token.p95 / *v.slo_per_token);
  return hourly_usd(o) / std::max(least, 1 - used);
}

/// Router of a plan. Prefix-aware if the tokens of turns or of several prefixes are cached on one engine only.
/// Otherwise least-loaded, because a single common prefix is soon in every cache.
Routing planned_router(const ServingInputs& v, const std::optional<ServingTraffic>& log) {
  ChainId sessions = v.turns > 1 ? 1 : 0, prefixes = 0;
  if (log)
    for (const ServerRequest q : log->requests.requests) {
      if (q.session != no_chain) sessions = 1;
      if (q.prefix != no_chain) prefixes = std::max(prefixes, q.prefix + 1);
    }
  return v.prefix_cache && (sessions > 0 || prefixes > 1) ? Routing::prefix_aware : Routing::least_loaded;
}

/// Share of requests within the limits, and its standard error by batch means: each batch is a tenth of the run's
/// requests, in sequence. Requests that share a queue are dependent; batches are nearly independent (Law, "Simulation
/// Modeling and Analysis", section 9.5.3).
class MetShare {
 public:
  void add(const Slo& slo, const ServerRun& run, const RequestList& all) {
    constexpr std::size_t batches = 10;
    const std::size_t n = std::min(batches, all.size());
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t from = i * all.size() / n, to = (i + 1) * all.size() / n;
      Count met = 0;
      for (std::size_t id = from; id < to; ++id) met += meets(slo, run.answers[id], all.generate(id));
      const double share = real(met) / static_cast<double>(to - from);
      sum_ += share;
      squares_ += share * share;
      ++n_;
    }
  }
  double mean() const { return sum_ / n_; }
  double error() const { return n_ > 1 ? std::sqrt(std::max(0.0, squares_ / n_ - mean() * mean()) / (n_ - 1)) : 0; }

 private:
  double sum_ = 0, squares_ = 0, n_ = 0;
};

/// The whole server under the whole load. If there are more engines than a limit, only some are simulated, with their
/// share of the load, because the router loads all engines equally.
class WholeServer {
 public:
  /// `goes_on`: returns false to end simulations early; keeps() is then false.
  /// `pace`: pass times in keeps(), as a multiple of the estimate.
  WholeServer(const ServingOffer& offer, double pace, const std::function<bool()>& goes_on)
      : offer_(offer), pace_(pace), goes_on_(goes_on) {
    if (!offer.request.serving.log.empty()) log_ = serving_traffic(offer.request, offer.engine);
    router_ = planned_router(offer.request.serving, log_);
  }
  /// Whether this number of engines meets the limits with confidence, without queue growth.
  bool keeps(Count engines) const {
    const Request part = at_pace(part_of(engines), pace_);
    const ServingTraffic all = paced_traffic(part);
    const ServerRun run = run_within_slo(part, offer_.engine, all, watch());
    if (run.stopped || !goes_on_() || (part.serving.rate && queue_growth(run) > 0)) return false;
    return log_ || is_sure(part, all, run);
  }
  /// Runs the offer's engines to the end and stores the results.
  void serve(ServingOffer& o) const {
    const Request part = part_of(o.engines);
    const ServingTraffic all = traffic(part);
    o.request.serving.routing = part.serving.routing;
    o.request.serving.replicas = o.engines;
    o.run = serving_run(part, o.engine, all, false, [](Count, Count) { return true; });
    o.run.share = share(o.engines);
    o.at = served_of(part, all, o.run.run);
    for (double Served::*rate : {&Served::prompt_rate, &Served::token_rate, &Served::request_rate, &Served::goodput})
      o.at.*rate /= o.run.share;
  }
  /// Upper bound on the useful number of engines: one per user, or so many that each engine is busy only 1 % of the
  /// time.
  Count most() const {
    constexpr double idle = 100, limit = 1e9;
    constexpr Count most_of_log = 4096;
    const Request& r = offer_.request;
    if (log_) return std::min(most_of_log, static_cast<Count>(log_->requests.requests.size()));
    if (r.serving.users) return *r.serving.users;
    const double load = pace_ * load_of(r);
    return static_cast<Count>(std::ceil(std::clamp(idle * load * offer_.alone.latency.mean.value, 1.0, limit)));
  }

 private:
  static constexpr Count told_apart = 32;

  /// Whether the share of requests within the limits exceeds --percentile by more than chance. If the run is
  /// inconclusive, pools up to seven more draws of the traffic. Repeated looks require wider margins early on (O'Brien
  /// & Fleming 1979, "A multiple testing procedure for clinical trials", Biometrics 35).
  bool is_sure(Request part, const ServingTraffic& all, const ServerRun& run) const {
    constexpr int draws = 8;
    constexpr double once_in_twenty = 1.645;  // normal quantile, one-sided
    const double asked = part.serving.percentile / 100;
    MetShare met;
    met.add(slo_of(part), run, all.requests.requests);
    for (int i = 1;; ++i) {
      const double chance = once_in_twenty * std::sqrt(static_cast<double>(draws) / i) * met.error();
      if (met.mean() - chance >= asked) return true;
      if (i == draws || met.mean() + chance < asked) return false;
      ++part.serving.seed;
      const ServingTraffic another = paced_traffic(part);
      const ServerRun more = plain_run(part, offer_.engine, another, {.goes_on = watch()});
      if (more.stopped) return false;
      met.add(slo_of(part), more, another.requests.requests);
    }
  }
  double share(Count engines) const { return log_ ? 1 : real(std::min(engines, told_apart)) / real(engines); }
  Request part_of(Count engines) const {
    Request part = offer_.request;
    part.serving.routing = router_;
    part.serving.replicas = log_ ? engines : std::min(engines, told_apart);
    return share(engines) < 1 ? with_load(part, share(engines) * load_of(part)) : part;
  }
  GoesOn watch() const {
    return [this](Count, Count) { return goes_on_(); };
  }
  ServingTraffic traffic(const Request& part) const { return log_ ? *log_ : serving_traffic(part, offer_.engine); }
  /// The traffic of a request at the pace.
  ServingTraffic paced_traffic(const Request& part) const {
    ServingTraffic t = traffic(part);
    if (log_ && pace_ != 1) t.requests = at_pace(std::move(t.requests), pace_);
    return t;
  }

  const ServingOffer& offer_;
  double pace_;
  const std::function<bool()>& goes_on_;
  std::optional<ServingTraffic> log_;
  Routing router_;
};

/// Bisects for the fewest engines that meet the limits: `too_few` engines do not, `n` engines do. Stops within 1/128
/// of the result, because a finer step is within the noise of drawn requests, and because runs closest to the limits
/// need the most draws.
Count fewest_between(const WholeServer& server, Count too_few, Count n) {
  constexpr Count part = 128;
  while (n - too_few > std::max<Count>(1, n / part)) {
    const Count middle = too_few + (n - too_few) / 2;
    (server.keeps(middle) ? n : too_few) = middle;
  }
  return n;
}

/// Fewest engines from `least` to `most` that meet the limits; absent if no number does. At a fixed request rate,
/// adding engines never makes results worse.
std::optional<Count> fewest_at_rate(const WholeServer& server, Count least, Count most) {
  if (!server.keeps(most)) return std::nullopt;
  Count too_few = least - 1, n = least;
  for (Count step = 1; n < most && !server.keeps(n); n += step, step *= 2) too_few = n;
  return fewest_between(server, too_few, std::min(n, most));
}

/// Fewest engines for a fixed number of users. Because users can fall into lockstep, adding engines can make results
/// worse. Therefore tries every number up to 16, then steps of about 6 %.
std::optional<Count> fewest_for_users(const WholeServer& server, Count least, Count most) {
  constexpr Count part = 16;
  Count too_few = least - 1;
  for (Count n = least; n <= most; n += 1 + n / part) {
    if (server.keeps(n)) return fewest_between(server, too_few, n);
    too_few = n;
  }
  return std::nullopt;
}

std::optional<Count> fewest_engines(const WholeServer& server, const Request& r, Count least, Count most) {
  return (r.serving.users ? fewest_for_users : fewest_at_rate)(server, least, most);
}

/// Engines that an offer needs if its passes take `pace` times the estimate; absent if no number meets the limits.
std::optional<Count> engines_at(const ServingOffer& o, double pace, Count least, const std::function<bool()>& goes_on) {
  const WholeServer server(o, pace, goes_on);
  return fewest_engines(server, o.request, least, std::max(least, server.most()));
}

/// Sets the interval of the number of engines, unless the interval of the time per token is unknown or the search is
/// stopped.
void set_interval(ServingOffer& o, const std::function<bool()>& goes_on) {
  const auto interval = interval_of(o.request, InferenceClass::served_decode);
  if (!interval) return;
  EngineInterval ends;
  ends.low = engines_at(o, 1 / interval->factor, 1, goes_on).value_or(o.engines);
  ends.high = o.caution > 1 ? o.engines : engines_at(o, interval->factor, o.engines, goes_on);
  if (goes_on()) o.interval = ends;
}

/// Iterator to the offer with the fewest GPUs.
template <class Offers>
auto fewest_gpus_of(const Offers& all) {
  return std::min_element(all.begin(), all.end(),
                          [](const ServingOffer* a, const ServingOffer* b) { return has_fewer_gpus(*a, *b); });
}

/// Offers whose fewest engines are known, cheapest first.
class SettledOffers {
 public:
  explicit SettledOffers(std::size_t top) : top_(top) {}

  bool empty() const { return all_.empty(); }
  /// Number of offers still needed to reach `top`; at least 1.
  std::size_t missing() const { return all_.size() < top_ ? top_ - all_.size() : 1; }
  void add(ServingOffer& o) {
    const auto behind =
        std::find_if(all_.begin(), all_.end(), [&](const ServingOffer* x) { return is_cheaper(o, *x); });
    all_.insert(behind, &o);
  }
  /// Largest number of engines with which the offer would be among the `top` cheapest or have the fewest GPUs; at
  /// most `limit`.
  Count worth_trying(const ServingOffer& o, Count limit) const {
    if (all_.size() < top_) return limit;
    const double gpus = real(devices(o.request.layout));
    const double by_gpus = real((*fewest_gpus_of(all_))->gpus());
    return std::min(limit, static_cast<Count>(std::max(as_cheap(o), by_gpus) / gpus));
  }
  /// Offers that may be among the `top` best: the `top` cheapest including ties, and those with the fewest GPUs.
  std::vector<ServingOffer*> candidates(std::size_t top) const {
    std::vector<ServingOffer*> some;
    const auto fewest = fewest_gpus_of(all_);
    for (ServingOffer* o : all_)
      if (some.size() < top || !is_cheaper(*some.back(), *o) || !has_fewer_gpus(**fewest, *o)) some.push_back(o);
    return some;
  }

 private:
  /// Largest number of GPUs that, at the offer's price, cost no more than the last of the `top` offers.
  double as_cheap(const ServingOffer& o) const {
    constexpr double rounding = 1e-9;
    const ServingOffer& last = *all_[top_ - 1];
    const std::optional<double> price = price_of(o.request);
    if (!price) return hourly_usd(last) < unpriced ? 0 : real(last.gpus());
    return *price > 0 ? std::min(hourly_usd(last) / *price + rounding, 1e12) : 1e12;
  }

  std::size_t top_;
  std::vector<ServingOffer*> all_;
};

/// Finds the fewest engines that an offer needs, or determines that it needs more engines than are worth trying.
void settle_offer(ServingOffer& o, const SettledOffers& settled, const std::function<bool()>& goes_on) {
  const WholeServer server(o, o.caution, goes_on);
  const Count limit = std::max(o.engines, server.most()), most = settled.worth_trying(o, limit);
  if (most < o.engines) return;
  const std::optional<Count> n = fewest_engines(server, o.request, o.engines, most);
  if (!goes_on()) return;
  o.settled = n.has_value();
  o.engines = n.value_or(most + 1);
  if (!n && most == limit) o.why = "cannot meet the limits with any number of engines";
}

/// Finds the fewest engines of the offers in order. While these are known for fewer than `top` offers, no offer
/// limits another, so the missing ones are computed concurrently.
void settle_in_order(const std::vector<ServingOffer*>& serve, SettledOffers& settled, const Settling& settling) {
  std::atomic<std::size_t> done = 0;
  for (std::size_t i = 0; i < serve.size() && settling.goes_on();) {
    const std::size_t n = std::min(settled.missing(), serve.size() - i);
    settling.each(n, [&](std::size_t k) {
      settle_offer(*serve[i + k], settled, settling.goes_on);
      settling.progress(static_cast<double>(++done) / static_cast<double>(serve.size()));
    });
    for (std::size_t k = 0; k < n; ++k)
      if (serve[i + k]->settled) settled.add(*serve[i + k]);
    i += n;
  }
}

/// The first `top` offers. If the offer with the fewest GPUs is not among them, it replaces the last.
std::vector<const ServingOffer*> best_of(std::vector<ServingOffer*> all, std::size_t top) {
  std::sort(all.begin(), all.end(), is_better);
  const auto fewest = fewest_gpus_of(all);
  std::vector<const ServingOffer*> best(all.begin(),
                                        all.begin() + static_cast<std::ptrdiff_t>(std::min(top, all.size())));
  if (all.size() > top && fewest - all.begin() >= static_cast<std::ptrdiff_t>(top)) best.back() = *fewest;
  return best;
}

}  // namespace

std::optional<double> usd_per_hour(const ServingOffer& o) {
  const std::optional<double> price = price_of(o.request);
  return price ? std::optional(real(o.gpus()) * *price) : std::nullopt;
}

bool has_fewer_gpus(const ServingOffer& a, const ServingOffer& b) {
  return a.gpus() != b.gpus() ? a.gpus() < b.gpus() : hourly_usd(a) < hourly_usd(b);
}

std::vector<const ServingOffer*> settle_offers(std::vector<ServingOffer>& offers, std::size_t top,
                                               const Settling& settling) {
  std::vector<ServingOffer*> serve;
  for (ServingOffer& o : offers)
    if (o.why.empty()) serve.push_back(&o);
  std::stable_sort(serve.begin(), serve.end(), [](const auto* a, const auto* b) { return promise(*a) < promise(*b); });
  SettledOffers settled(top);
  settle_in_order(serve, settled, settling);
  if (settled.empty()) return {};
  const bool whole = settling.goes_on();
  const std::vector<ServingOffer*> candidates = settled.candidates(whole ? top : 1);
  settling.each(candidates.size(),
                [&](std::size_t i) { WholeServer(*candidates[i], 1, settling.goes_on).serve(*candidates[i]); });
  const auto shown = best_of(candidates, whole ? top : 2);
  const ServingOffer* fewest = *fewest_gpus_of(shown);
  settling.each(candidates.size(), [&](std::size_t i) {
    if (candidates[i] == shown.front() || candidates[i] == fewest) set_interval(*candidates[i], settling.goes_on);
  });
  return shown;
}

}  // namespace llmcalc
