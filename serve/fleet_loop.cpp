#include "serve/fleet_loop.hpp"

#include <algorithm>
#include <utility>

namespace llmcalc {

FleetLoop::FleetLoop(const RequestTraffic& traffic, const ServerWatch& watch)
    : requests_(traffic.requests), watch_(watch), arrivals_(traffic) {
  run_.answers.resize(requests_.size());
}

void FleetLoop::add(const Fleet& fleet, const PassTimes& times, const CacheTransfer& from_here) {
  const auto n = static_cast<std::size_t>(fleet.replicas);
  pools_.push_back({Router(fleet.routing, n), {}, from_here, times.request, std::vector<Ticks>(n), replicas_});
  for (std::size_t i = 0; i < n; ++i) pools_.back().servers.emplace_back(fleet.server, times, requests_, replicas_++);
}

ServerRun FleetLoop::run() {
  for (Ticks now = next(); now != never && goes_on(); now = next()) {
    for (std::size_t p = 0; p < pools_.size(); ++p)
      for (Server& s : pools_[p].servers)
        if (s.end() == now) finish(p, s);
    while (arrivals_.next() == now) arrive(now);
    while (!travelling_.empty() && travelling_.top().time == now) land(now);
    for (Pool& p : pools_)
      for (Server& s : p.servers)
        if (s.resting()) s.start(now);
  }
  return std::move(run_);
}

Ticks FleetLoop::next() const {
  Ticks t = std::min(arrivals_.next(), travelling_.empty() ? never : travelling_.top().time);
  for (const Pool& p : pools_)
    for (const Server& s : p.servers) t = std::min(t, s.end());
  return t;
}

void FleetLoop::arrive(Ticks now) {
  const RequestId id = arrivals_.pop();
  run_.answers[id].sent = now;
  Pool& p = pools_.front();
  p.servers[p.router.route(requests_[id])].arrive(id, now);
}

void FleetLoop::finish(std::size_t pool, Server& s) {
  if (watch_.pass)
    for (std::size_t i = 0; i < s.ranks(); ++i) watch_.pass(s.record(i));
  s.finish(run_, [&](RequestId id) { leave(pool, id); });
}

/// A request leaves a replica: it is answered, or goes on in the second fleet.
void FleetLoop::leave(std::size_t pool, RequestId id) {
  const Answer& a = run_.answers[id];
  Pool& p = pools_[pool];
  p.router.done(a.replica - p.first);
  if (pool + 1 < pools_.size() && requests_[id].generate > 1) return send(p, id);
  run_.end = std::max(run_.end, a.last);
  arrivals_.answered(id, a.last);
  ++answered_;
}

/// Keys and values leave with the end of the pass: what a request takes besides passes is on its way to the user.
void FleetLoop::send(Pool& from, RequestId id) {
  Answer& a = run_.answers[id];
  const Ticks computed = a.last - from.request;
  Ticks& sending = from.sending[a.replica - from.first];
  sending = std::max(sending, computed) + from.transfer.wait + requests_[id].prompt * from.transfer.token;
  run_.presence += sending - computed;
  travelling_.push({sending, id});
  a.last = never;
}

void FleetLoop::land(Ticks now) {
  const RequestId id = travelling_.top().id;
  travelling_.pop();
  Pool& p = pools_.back();
  const Ticks token = run_.answers[id].first - pools_.front().request;
  p.servers[p.router.route(requests_[id])].arrive(id, now, {requests_[id].prompt, 1, token});
}

/// Asks whoever watches, once per 1024 times.
bool FleetLoop::goes_on() {
  if (!watch_.goes_on || ++times_asked_ % 1024 != 0) return true;
  run_.stopped = !watch_.goes_on(answered_, static_cast<Count>(requests_.size()));
  return !run_.stopped;
}

}  // namespace llmcalc
