#include "ask/answer/serving/offer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ask/answer/interval.hpp"
#include "ask/answer/serving/engine.hpp"
#include "ask/answer/serving/pace.hpp"
#include "ask/answer/serving/plan.hpp"
#include "ask/answer/serving/run.hpp"
#include "ask/answer/serving/serving.hpp"
#include "ask/answer/serving/sustained_load.hpp"
#include "ask/answer/serving/traffic.hpp"
#include "ask/request/check/check.hpp"
#include "ask/request/options/options.hpp"
#include "ask/request/request.hpp"
#include "ask/request/server.hpp"
#include "ask/request/serving_inputs.hpp"
#include "ask/request/settle.hpp"
#include "text/error.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

constexpr Count most_ranks = 16;  ///< ranks of one engine
constexpr Count most_stages = 4;  ///< more stages add stalls, and tensor-parallel ranks provide the same memory

Request with_option(Request r, std::string_view flag, Count n) {
  give(r, *find_option(flag), std::to_string(n));
  return r;
}

/// Layout with tensor-parallel attention and whole experts on each rank; tokens are sharded between the two.
Request with_whole_experts(const Request& r, Count n) {
  Request one = with_option(with_option(with_option(r, "--tp", n), "--ep", n), "--etp", 1);
  give(one, *find_option("--sp"), "");
  return one;
}

/// Whether the request specifies a layout.
bool gives_layout(const Request& r) { return r.gave("--tp") || r.gave("--ep") || r.gave("--dp") || r.gave("--pp"); }

/// Whether the GPUs of a node have no link faster than PCI Express.
bool joins_by_pcie(const HardwareCard& card) {
  const auto& levels = card.cluster.levels;
  return card.pcie.value > 0 && !levels.empty() && levels[0].bandwidth <= card.pcie;
}

/// Requests with the same lengths as those in the log: sent by `users` who each send their next request immediately; if
/// `users` is 0, sent far apart in time.
ServingTraffic again(const ServingTraffic& log, Count users, Count n) {
  constexpr double long_after = 1e5;  // seconds
  const RequestList& all = log.requests.requests;
  ServingTraffic t;
  t.requests.users = users;
  t.requests.requests.set_prefixes(all.prefixes());
  for (Count i = 0; i < n; ++i) {
    ServerRequest q = all[static_cast<std::size_t>(i) % all.size()];
    q.at = Seconds(users > 0 ? 0 : long_after * real(i));
    t.requests.requests.push_back(q);
  }
  return t;
}

Served run_of(const Request& r, const ServingEngine& e, const ServingTraffic& traffic) {
  return served_of(r, traffic, plain_run(r, e, traffic));
}

/// Pareto front, slowest user first. Gains within 1 %, the noise of a short trial, are ignored.
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
    if (n == 1 || !r.model.arch.has_experts()) continue;
    all.push_back(with_option(with_option(r, "--dp", n), "--ep", n));
    all.push_back(with_whole_experts(r, n));
  }
  return all;
}

namespace {

/// Results of the first `n` requests of the traffic, each sent long after the previous one.
Served alone_of(const Request& r, const ServingEngine& e, const ServingTraffic* log, Count n) {
  if (log != nullptr)
    return run_of(r, e, again(*log, 0, std::min(n, static_cast<Count>(log->requests.requests.size()))));
  Request one = r;
  one.serving.rate = 1e-5;
  one.serving.arrival_variation = 0;
  one.serving.users = std::nullopt;
  one.serving.duration = std::nullopt;
  one.serving.requests = n;
  one.serving.turns = 1;
  return run_of(one, e, serving_traffic(one, e));
}

/// Three standard errors of the share of requests within the limits, for this number of requests and a true share of
/// --percentile.
double chance(const Request& r, const Served& s) {
  const double share = r.serving.percentile / 100;
  return s.requests > 1 ? 3 * std::sqrt(share * (1 - share) / real(s.requests)) : 0;
}

}  // namespace

Served served_alone(const Request& r, const ServingEngine& e, const ServingTraffic* log) {
  constexpr Count several = 100, many = 10'000;
  const ServingInputs& v = r.serving;
  const bool alike = log == nullptr && v.length_variation == 0 && v.lengths.empty() && v.shared_prefix == 0;
  Request one = r;
  one.serving.replicas = 1;
  const Served s = alone_of(one, e, log, alike ? 1 : several);
  const bool unclear = !keeps_slo(r, s) && s.met + chance(r, s) >= v.percentile / 100;
  return unclear ? alone_of(one, e, log, many) : s;
}

std::string too_slow(const Request& r, const Served& s) {
  const ServingInputs& v = r.serving;
  if (s.met + chance(r, s) >= v.percentile / 100) return "";
  if (v.slo_first_token && s.first_token.mean > *v.slo_first_token)
    return fmt::format("without queueing, TTFT is {}", seconds_text(s.first_token.mean));
  if (v.slo_per_token && s.per_token.mean > *v.slo_per_token)
    return fmt::format("without queueing, TPOT is {}", seconds_text(s.per_token.mean));
  return fmt::format("without queueing, {:.4g} % of the requests meet the limits", 100 * s.met);
}

namespace {

/// Mean traffic at a rate beyond any capacity. With turns, prompts include on average half of the conversation.
SteadyLoad full_load(const Request& r) {
  constexpr double beyond = 1e300;
  const ServingInputs& v = r.serving;
  const double before = real(v.turns - 1) / 2 * real(r.plan.prompt + r.plan.generate);
  return {.rate = beyond,
          .prompt = real(v.shared_prefix + r.plan.prompt) + before,
          .generate = real(r.plan.generate),
          .cached = v.prefix_cache ? real(v.shared_prefix) + before : 0,
          .shared = v.shared_prefix};
}

/// Lower bound on requests per second if the limits are met: with users, the rate if every answer takes the longest
/// allowed time. 0 if unknown.
double least_rate(const Request& r, const SteadyState& full) {
  const ServingInputs& v = r.serving;
  if (v.rate) return *v.rate;
  if (!v.slo_first_token) return 0;
  const double decodes = real(r.plan.generate - 1);
  const double answer = v.slo_per_token ? decodes * v.slo_per_token->value : full.decodes * full.full_pass.value;
  return real(*v.users) / (v.slo_first_token->value + answer + v.think.value);
}

/// Lower bound on the number of engines, from rate and mean lengths; 1 if the lengths are not known without a trial.
Count least_engines(const Request& r, const ServingEngine& e) {
  constexpr double error = 1.5, most = 1e9;
  if (has_lengths_of_its_own(r)) return 1;
  const SteadyState full = steady_state({.server = e.rules}, e.times, full_load(r));
  const double engines = least_rate(r, full) / (error * full.capacity);
  return std::max<Count>(1, static_cast<Count>(std::ceil(std::min(engines, most))));
}

/// Fills in the speed of a request without contention, and the lower bound on the number of engines.
void look_at(ServingOffer& offer) {
  const Request r = at_pace(offer.request, offer.caution);
  offer.engine = serving_engine(r);
  offer.fits = holds_a_request(r, offer.engine);
  if (!offer.fits) {
    offer.why = "insufficient memory for a request";
    return;
  }
  std::optional<ServingTraffic> log;
  if (!r.serving.log.empty()) log = serving_traffic(r, offer.engine);
  offer.alone = served_alone(r, offer.engine, log ? &*log : nullptr);
  offer.why = too_slow(r, offer.alone);
  if (!offer.why.empty() && offer.caution > 1)
    offer.why += fmt::format(", times {:.3g} at the slow end of the interval: no published run on {} under {}",
                             offer.caution, r.hardware->name, r.engine->name);
  if (offer.why.empty()) offer.engines = least_engines(r, offer.engine);
}

}  // namespace

double caution_of(const Request& r) {
  if (!r.engine || !is_new_to_fit(r)) return 1;
  const auto interval = interval_of(r, InferenceClass::served_decode);
  return interval ? interval->factor : 1;
}

ServingOffer serving_offer(const Request& r, double caution) {
  ServingOffer offer;
  offer.caution = caution;
  offer.request = r;
  settle(offer.request);  // engine and rates depend on the layout
  try {
    check(offer.request);
    offer.possible = true;
    look_at(offer);
  } catch (const InputError& e) {
    offer.why = e.what();
  }
  return offer;
}

std::vector<ServingPoint> serving_front(const std::vector<const ServingOffer*>& offers) {
  constexpr Count rounds = 8;
  std::vector<ServingPoint> all;
  for (const ServingOffer* o : offers) {
    const ServingEngine& engine = o->engine;
    std::optional<ServingTraffic> log;
    if (!o->request.serving.log.empty()) log = serving_traffic(o->request, engine);
    for (Count users = 1; users <= engine.limits.sequences; users *= 4) {
      Request r = o->request;
      r.serving.rate = std::nullopt;
      r.serving.users = users;
      r.serving.replicas = 1;
      r.serving.requests = mul(rounds, users);
      const Served s = run_of(r, engine, log ? again(*log, users, *r.serving.requests) : serving_traffic(r, engine));
      if (s.continued > 0)
        all.push_back({o, users, 1 / s.per_token.mean.value, s.token_rate / real(devices(r.layout))});
    }
  }
  return undominated(std::move(all));
}

}  // namespace llmcalc
