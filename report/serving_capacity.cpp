// The most that a server answers per second.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "report/sections.hpp"
#include "report/serving.hpp"

namespace llmcalc {
namespace {

constexpr double kept_up = 0.98;       ///< of what comes, answered: no queue grows
constexpr double session_step = 1.02;  ///< rates closer than this count as one

bool has_sessions(const ServingTraffic& t) {
  return std::any_of(t.requests.requests.begin(), t.requests.requests.end(),
                     [](const ServerRequest& q) { return q.session != no_chain; });
}

/// A part of the engines that stands for `parts` such: one of them, or of two kinds as many as tell their ratio. A
/// router that gives a session's turns to different engines needs several to show what that costs.
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

/// The traffic's requests over and over at another rate: as Poisson's, so that they are in no step with each other.
/// Turns follow the answers that they wait for.
ServingTraffic at_rate(const std::vector<ServerRequest>& given, double rate, Count n) {
  ChainId sessions = 0;
  for (const ServerRequest& q : given)
    if (q.session != no_chain) sessions = std::max(sessions, q.session + 1);
  ServingTraffic all;
  Random random(0);
  double drawn = 0;
  for (Count i = 0; i < n; ++i) {
    drawn += exponential(random) / rate;
    const auto round = static_cast<std::uint32_t>(static_cast<std::size_t>(i) / given.size());
    ServerRequest q = given[static_cast<std::size_t>(i) % given.size()];
    if (q.session != no_chain) q.session += round * sessions;
    if (q.after != no_request)
      q.after += round * static_cast<RequestId>(given.size());
    else
      q.at = Seconds(drawn);
    all.requests.requests.push_back(q);
  }
  return all;
}

/// What is answered in the middle half of a run, counted from one end of a request to another: where many end at once,
/// all of one end and none of the other.
ServingCapacity middle_half(const ServerRun& run, double parts) {
  std::vector<Ticks> ends;
  for (const Answer& a : run.answers) ends.push_back(a.last);
  std::sort(ends.begin(), ends.end());
  const Ticks from = ends[ends.size() / 4], to = ends[ends.size() * 3 / 4];
  if (from == to) return {static_cast<Count>(ends.size()), seconds(ends.back()), parts};
  const auto until = [&](Ticks t) { return std::upper_bound(ends.begin(), ends.end(), t) - ends.begin(); };
  return {static_cast<Count>(until(to) - until(from)), seconds(to - from), parts};
}

/// Tries rates on a part of the engines.
class CapacityTrial {
 public:
  CapacityTrial(const Request& r, const ServingEngine& e, const ServingTraffic& traffic)
      : engine_(e), traffic_(traffic), sessions_(has_sessions(traffic)), part_(r, sessions_) {}

  bool sessions() const { return sessions_; }
  /// Of the part, by queueing theory, with nothing in the cache: a rate to begin with.
  double guess() const {
    const Fleet one{.server = engine_.rules, .replicas = serving_engines(part_.request)};
    return steady_state(one, engine_.times, mean_load(traffic_)).capacity;
  }
  /// What is answered at a rate, and whether that is all that comes: with sessions, that no queue was long, since one
  /// that is drains the cache of what their next turns need.
  struct Tried {
    ServingCapacity answered;
    bool keeps_up;
  };
  Tried at(double rate) const {
    const ServingTraffic more = at_rate(traffic_.requests.requests, rate, enough(rate));
    const ServingRun run = serving_run(part_.request, engine_, more, false, [](Count, Count) { return true; });
    const ServingCapacity c = middle_half(run.run, part_.parts);
    return {c, sessions_ ? long_queue(run.run) == 0 : c.rate() >= kept_up * rate * c.parts};
  }

 private:
  /// For rounds of those in progress, and of those whose users think.
  Count enough(double rate) const {
    constexpr Count rounds = 32, fewest = 4000, most = 100'000;
    const SchedulerRules& rules = engine_.rules.scheduler;
    const SteadyLoad mean = mean_load(traffic_);
    const auto tokens = static_cast<Count>(mean.prompt + mean.generate);
    const Count in_progress = mul(std::max<Count>(1, most_sequences(rules, engine_.times.reach, tokens)),
                                  engine_.rules.ranks, serving_engines(part_.request));
    const double thinking = sessions_ ? std::min(rate * part_.request.serving.think.value, real(most)) : 0;
    return std::clamp(mul(rounds, in_progress + static_cast<Count>(thinking)), fewest, most);
  }

  const ServingEngine& engine_;
  const ServingTraffic& traffic_;
  bool sessions_;
  FleetPart part_;
};

/// The most rate that is kept, between one that is and one that is not.
ServingCapacity between(const CapacityTrial& trial, ServingCapacity kept, double low, double high) {
  while (high > session_step * low) {
    const double middle = std::sqrt(low * high);
    const CapacityTrial::Tried t = trial.at(middle);
    if (t.keeps_up) kept = t.answered;
    (t.keeps_up ? low : high) = middle;
  }
  return kept;
}

}  // namespace

ServingCapacity measured_capacity(const Request& r, const ServingEngine& e, const ServingTraffic& traffic) {
  constexpr int tries = 8;
  constexpr double beyond = 1.5, far_beyond = 3;
  const CapacityTrial trial(r, e, traffic);
  double rate = beyond * trial.guess();
  CapacityTrial::Tried t = trial.at(rate);
  for (int i = 0; i < tries; ++i) {
    const ServingCapacity& c = t.answered;
    if (!t.keeps_up && rate * c.parts < far_beyond * c.rate()) break;
    rate = t.keeps_up ? 2 * rate : beyond * c.rate() / c.parts;
    t = trial.at(rate);
  }
  const ServingCapacity& c = t.answered;
  return trial.sessions() ? between(trial, c, std::min(rate, c.rate() / c.parts), rate) : c;
}

double long_queue(const ServerRun& run) {
  constexpr double few = 10;
  double most = 0;
  for (const Sample& s : run.timeline.samples())
    if (s.waiting > few && s.waiting > s.in_progress) most = std::max(most, s.waiting);
  return most;
}

double serving_capacity(const Request& r, const ServingEngine& e, const ServingTraffic& traffic) {
  return measured_capacity(r, e, traffic).rate();
}

}  // namespace llmcalc
