#include "serve/fleet.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include "serve/arrivals.hpp"
#include "serve/router.hpp"

namespace llmcalc {
namespace {

/// Passes and arrivals in order of time.
class FleetLoop {
 public:
  FleetLoop(const Fleet& fleet, const PassTimes& times, const RequestTraffic& traffic, const ServerWatch& watch)
      : requests_(traffic.requests),
        watch_(watch),
        arrivals_(traffic),
        router_(fleet.routing, static_cast<std::size_t>(fleet.replicas)) {
    for (Count i = 0; i < fleet.replicas; ++i)
      servers_.emplace_back(fleet.server, times, requests_, static_cast<std::uint32_t>(i));
    run_.answers.resize(requests_.size());
  }

  ServerRun run() {
    for (Ticks now = next(); now != never && goes_on(); now = next()) {
      for (Server& s : servers_)
        if (s.end() == now) finish(s);
      while (arrivals_.next() == now) arrive(now);
      for (Server& s : servers_)
        if (s.resting()) s.start(now);
    }
    return std::move(run_);
  }

 private:
  Ticks next() const {
    Ticks t = arrivals_.next();
    for (const Server& s : servers_) t = std::min(t, s.end());
    return t;
  }

  void arrive(Ticks now) {
    const RequestId id = arrivals_.pop();
    run_.answers[id].sent = now;
    servers_[router_.route(requests_[id])].arrive(id, now);
  }

  void finish(Server& s) {
    if (watch_.pass)
      for (std::size_t i = 0; i < s.ranks(); ++i) watch_.pass(s.record(i));
    s.finish(run_, [&](RequestId id) {
      Answer& a = run_.answers[id];
      run_.end = std::max(run_.end, a.last);
      arrivals_.answered(id, a.last);
      router_.done(a.replica);
      ++answered_;
    });
  }

  /// Asks whoever watches, once per 1024 times.
  bool goes_on() {
    if (!watch_.goes_on || ++times_asked_ % 1024 != 0) return true;
    run_.stopped = !watch_.goes_on(answered_, static_cast<Count>(requests_.size()));
    return !run_.stopped;
  }

  const std::vector<ServerRequest>& requests_;
  const ServerWatch& watch_;
  Arrivals arrivals_;
  Router router_;
  std::deque<Server> servers_;
  ServerRun run_;
  Count answered_ = 0, times_asked_ = 0;
};

}  // namespace

ServerRun serve(const Fleet& fleet, const PassTimes& times, const RequestTraffic& traffic, const ServerWatch& watch) {
  return FleetLoop(fleet, times, traffic, watch).run();
}

Count longest_sequence(const SchedulerRules& rules, const Reach& reach) {
  Count fits = 0, too_long = rules.blocks / rules.whole_groups * rules.block_tokens + 1;
  while (too_long - fits > 1) {
    const Count middle = fits + (too_long - fits) / 2;
    (blocks_of(rules, reach, middle) <= rules.blocks ? fits : too_long) = middle;
  }
  return fits;
}

}  // namespace llmcalc
