#include "ask/answer/serving/capacity.hpp"

// Measures the highest throughput of a server.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ask/answer/serving/run.hpp"
#include "ask/answer/serving/serving.hpp"
#include "ask/answer/serving/steady.hpp"
#include "ask/request/request.hpp"
#include "ask/request/server.hpp"
#include "ask/request/serving_inputs.hpp"

namespace llmcalc {
namespace {

constexpr double capacity_step = 1.02;  ///< rates closer than this count as equal

/// Number of shared-prefix tokens that are served from the cache.
double saved_of_prefix(const SchedulerRules& rules, Count tokens) {
  return real(shared_blocks(rules, tokens) / std::max<Count>(1, rules.whole_groups) * rules.block_tokens);
}

/// A subset of the fleet; the fleet has `parts` such subsets. One engine, or the smallest pools with the same ratio;
/// several engines if the router sends a session's turns to different ones, since a single engine would hide that cost.
struct FleetPart {
  Request request;
  double parts = 1;
  FleetPart(const Request& r, bool sessions) : request(r) {
    constexpr Count most = 8;
    ServingInputs& v = request.serving;
    if (v.pools) {
      const Count both = std::gcd(v.pools->prefill, v.pools->decode);
      v.pools = Pools{v.pools->prefill / both, v.pools->decode / both};
      parts = real(both);
      return;
    }
    const Count engines = sessions && v.routing != Routing::prefix_aware ? std::min(most, v.replicas) : 1;
    parts = real(v.replicas) / real(engines);
    v.replicas = engines;
  }
};

/// Repeats the traffic's requests up to `n`, with Poisson arrivals scaled to a mean rate of exactly `rate`, so that
/// requests do not run in lockstep. Turns follow the answers that they wait for. Repeated prompts begin with other
/// prefixes if prefixes extend one another. `sessions`: number of the traffic's sessions.
ServingTraffic at_rate(const RequestList& given, ChainId sessions, double rate, Count n, std::uint64_t draw = 0) {
  ServingTraffic all;
  all.requests.requests.set_prefixes(given.prefixes().copies(ceil_div(n, static_cast<Count>(given.size()))));
  Random random(draw);
  double drawn = 0;
  for (Count i = 0; i < n; ++i) {
    const auto round = static_cast<std::uint32_t>(static_cast<std::size_t>(i) / given.size());
    ServerRequest q = given[static_cast<std::size_t>(i) % given.size()];
    if (q.session != no_chain) q.session += round * sessions;
    if (q.prefix != no_chain) q.prefix += round * static_cast<ChainId>(given.prefixes().size());
    if (q.after != no_request)
      q.after += round * static_cast<RequestId>(given.size());
    else
      q.at = Seconds(drawn += exponential(random) / rate);
    all.requests.requests.push_back(q);
  }
  RequestList& made = all.requests.requests;
  for (std::size_t i = 0; i < made.size(); ++i)
    if (made.after(i) == no_request) made.set_at(i, real(n) / rate / drawn * made.at(i));
  return all;
}

/// Number of sessions.
ChainId count_sessions(const RequestList& all) {
  ChainId sessions = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all.session(i) != no_chain) sessions = std::max(sessions, all.session(i) + 1);
  return sessions;
}

/// Mean number of requests per session, rounded up; 1 without sessions.
Count mean_turns(const RequestList& all, ChainId sessions) {
  if (sessions == 0) return 1;
  Count requests = 0;
  for (std::size_t i = 0; i < all.size(); ++i) requests += all.session(i) != no_chain ? 1 : 0;
  return ceil_div(requests, sessions);
}

/// Requests answered in the middle half of a run, counted between two completions: of requests that complete at the
/// same time, those at the end of the interval count and those at its start do not.
ServingCapacity middle_half(const ServerRun& run, double parts) {
  std::vector<Ticks> ends;
  for (std::size_t i = 0; i < run.answers.size(); ++i) ends.push_back(run.answers.last(i));
  std::sort(ends.begin(), ends.end());
  const Ticks from = ends[ends.size() / 4], to = ends[ends.size() * 3 / 4];
  if (from == to) return {static_cast<Count>(ends.size()), seconds(ends.back()), parts};
  const auto until = [&](Ticks t) { return std::upper_bound(ends.begin(), ends.end(), t) - ends.begin(); };
  return {static_cast<Count>(until(to) - until(from)), seconds(to - from), parts};
}

/// Tries rates on a subset of the fleet.
class CapacityTrial {
 public:
  CapacityTrial(const Request& r, const ServingEngine& e, const ServingTraffic& traffic)
      : engine_(e),
        traffic_(traffic),
        mean_(mean_load(traffic)),
        sessions_(count_sessions(traffic.requests.requests)),
        turns_(mean_turns(traffic.requests.requests, sessions_)),
        part_(r, sessions_ > 0) {}

  /// Throughput under a load about 1.5 times the capacity, independent of the first rate tried.
  ServingCapacity saturated() const {
    constexpr int tries = 16;
    constexpr double beyond = 1.5, least = 1.4, most = 1.6;
    double rate = beyond * guess();
    ServingCapacity c = middle_half(run(rate, enough(rate)), part_.parts);
    for (int i = 0; i < tries; ++i) {
      const double excess = rate * c.parts / c.rate();
      if (least < excess && excess < most) break;
      rate = beyond * c.rate() / c.parts;
      c = middle_half(run(rate, enough(rate)), part_.parts);
    }
    return c;
  }
  /// Whether the queue grows at a rate. With sessions: whether it ever gets long, which evicts cached tokens that later
  /// turns need.
  bool grows(double rate) const {
    constexpr std::uint64_t draws = 3;
    if (!sessions()) return queue_growth(run(rate, tell(rate))) > 0;
    bool lost = false;
    for (std::uint64_t draw = 0; draw < draws && !lost; ++draw) lost = thrashes(rate, draw);
    return lost;
  }
  bool sessions() const { return sessions_ > 0; }
  /// Share of prompt tokens that are cached at this rate; absent without sessions.
  std::optional<double> cached(double rate) const {
    if (!sessions()) return std::nullopt;
    const ServingTraffic more = at_rate(traffic_.requests.requests, sessions_, rate, tell(rate));
    return served_of(part_.request, more, plain_run(part_.request, engine_, more)).cached;
  }
  /// Highest rate without queue growth, by bisection between `low` (no growth) and `high` (growth).
  ServingCapacity between(double low, double high) const {
    while (high > capacity_step * low) {
      const double middle = std::sqrt(low * high);
      (grows(middle) ? high : low) = middle;
    }
    return {tell(low), Seconds(real(tell(low)) / low), part_.parts};
  }

 private:
  /// Initial rate for the subset, from the limits of a pass.
  double guess() const {
    const Fleet one{.server = engine_.rules, .replicas = serving_engines(part_.request)};
    SteadyLoad load = mean_;
    load.cached = std::min(saved_of_prefix(engine_.rules.scheduler, load.shared), load.prompt - 1);
    return steady_state(one, engine_.times, load).capacity;
  }
  ServerRun run(double rate, Count n, std::uint64_t draw = 0, const ServerWatch& watch = {}) const {
    const ServingTraffic more = at_rate(traffic_.requests.requests, sessions_, rate, n, draw);
    return plain_run(part_.request, engine_, more, watch);
  }
  /// grows() for sessions. A long queue evicts their cached tokens, and then persists if arrivals exceed the
  /// throughput without a cache. Reads the queue before the last sessions end, because arrivals thin out then. Ends
  /// the run early if the queue is hopeless.
  bool thrashes(double rate, std::uint64_t draw) const {
    constexpr Count few = 10, longer = 3, hopeless = 10, per_cent = 100;
    const Count n = tell(rate), nearly_all = n * 4 / 5;
    Count waiting = 0, in_progress = 0, answers = 0;
    const auto look = [&](const PassRecord& p) {
      waiting = p.waiting;
      in_progress = std::max(few, p.in_progress);
    };
    const auto answered = [&](RequestId, const AnswerTimes&) {
      return ++answers < nearly_all && waiting <= hopeless * in_progress;
    };
    run(rate, n, draw, {.pass = look, .answered = answered});
    return answers < nearly_all || waiting > std::min(longer * in_progress, n / per_cent);
  }
  /// Number of requests that reveals a backlog of 2 %. Near capacity, a session cache degrades slowly: fewer hits keep
  /// more sessions live, which leaves less cache. With sessions, the run therefore spans several session lifetimes.
  Count tell(double rate) const {
    constexpr Count few = 12'000, most = 60'000, lives = 4;
    const Count n = std::max(few, enough(rate));
    return sessions() ? std::clamp(mul(lives * turns_, enough(rate)), n, std::max(n, most)) : n;
  }
  /// Number of requests in 16 rounds. A round is all requests in progress plus those of thinking users.
  Count enough(double rate) const {
    constexpr Count rounds = 16, fewest = 4000, most = 60'000;
    const SchedulerRules& rules = engine_.rules.scheduler;
    const auto tokens = static_cast<Count>(mean_.prompt + mean_.generate);
    const Count in_progress = mul(std::max<Count>(1, most_sequences(rules, engine_.times.reach, tokens, mean_.shared)),
                                  engine_.rules.ranks, serving_engines(part_.request));
    const double thinking = sessions() ? std::min(rate * part_.request.serving.think.value, real(most)) : 0;
    return std::clamp(mul(rounds, in_progress + static_cast<Count>(thinking)), fewest, most);
  }

  const ServingEngine& engine_;
  const ServingTraffic& traffic_;
  SteadyLoad mean_;
  ChainId sessions_;  ///< number of sessions
  Count turns_;       ///< mean number of requests per session
  FleetPart part_;
};

}  // namespace

/// The throughput of a saturated server is its capacity, with three exceptions: identical queued requests run in
/// lockstep on all ranks, batches that fill slowly fall into a different lockstep, and a queue causes preemptions or
/// evicts cached sessions.
ServingCapacity measured_capacity(const Request& r, const ServingEngine& e, const ServingTraffic& traffic) {
  constexpr double below = 0.97, above = 1.06, beyond = 1.5;
  const CapacityTrial trial(r, e, traffic);
  const ServingCapacity full = trial.saturated();
  const double rate = full.rate() / full.parts;
  ServingCapacity most = full;
  if (trial.grows(below * rate))
    most = trial.between(rate / 4, below * rate);
  else if (!trial.grows(above * rate))
    most = trial.between(above * rate, beyond * rate);
  else if (trial.sessions())  // the saturated run was too short for sessions
    most = trial.between(below * rate, above * rate);
  most.overloaded = full.rate();
  most.cached = trial.cached(most.rate() / most.parts);
  return most;
}

bool ServingCapacity::depends_on_queue() const {
  constexpr double within = 0.05;
  return std::abs(overloaded - rate()) > within * rate();
}

double queue_growth(const ServerRun& run) {
  Ticks first = never, last = 0;
  Count came = 0;
  for (std::size_t i = 0; i < run.answers.size(); ++i) {
    const Ticks sent = run.answers.sent(i);
    if (sent == never) continue;
    first = std::min(first, sent);
    last = std::max(last, sent);
    ++came;
  }
  if (came < 2 || last == first) return 0;
  const std::vector<Sample> samples = run.timeline.samples();
  const auto waiting = [&](Ticks t) {
    const auto after =
        std::find_if(samples.begin(), samples.end(), [&](const Sample& s) { return s.start + s.length > seconds(t); });
    return (after == samples.end() ? samples.back() : *after).waiting;
  };
  const Ticks half = (last - first) / 2;
  const double more = waiting(last) - waiting(first + half);
  return more > real(came) / 2 / 50 ? more / seconds(half).value : 0;
}

double long_queue(const ServerRun& run) {
  constexpr double few = 10;
  double most = 0;
  for (const Sample& s : run.timeline.samples())
    if (s.waiting > few && s.waiting > s.in_progress) most = std::max(most, s.waiting);
  return most;
}

}  // namespace llmcalc
