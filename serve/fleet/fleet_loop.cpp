#include "serve/fleet/fleet_loop.hpp"

#include <algorithm>
#include <utility>

namespace llmcalc {

FleetLoop::FleetLoop(const RequestTraffic& traffic, const ServerWatch& watch)
    : requests_(traffic.requests), watch_(watch), arrivals_(traffic) {
  run_.answers = AnswerList(requests_.size());
}

void FleetLoop::add(const Fleet& fleet, const PassTimes& times, const CacheTransfer& from_here) {
  const auto n = static_cast<std::size_t>(fleet.replicas);
  const auto first = static_cast<std::uint32_t>(servers_.size());
  pools_.push_back(
      {Router(fleet.routing, n, requests_.prefixes()), {}, from_here, times.request, std::vector<Ticks>(n), first});
  for (std::size_t i = 0; i < n; ++i) {
    const auto replica = first + static_cast<std::uint32_t>(i);
    servers_.push_back(&pools_.back().servers.emplace_back(fleet.server, times, requests_, replica));
  }
}

ServerRun FleetLoop::run() {
  for (Ticks now = next(); now != never && goes_on(); now = next()) {
    finish_passes(now);
    while (arrivals_.next() == now) arrive(now);
    while (!traveling_.empty() && traveling_.top().time == now) land(now);
    start_passes(now);
  }
  return std::move(run_);
}

Ticks FleetLoop::next() {
  while (!ends_.empty() && servers_[ends_.top().replica]->end() != ends_.top().time) ends_.pop();
  const Ticks passes = ends_.empty() ? never : ends_.top().time;
  return std::min({arrivals_.next(), traveling_.empty() ? never : traveling_.top().time, passes});
}

/// Finishes the passes that end at `now`, in the order of replicas.
void FleetLoop::finish_passes(Ticks now) {
  for (; !ends_.empty() && ends_.top().time == now; ends_.pop()) {
    const std::uint32_t replica = ends_.top().replica;
    if (servers_[replica]->end() == now) finish(replica);
  }
}

void FleetLoop::start_passes(Ticks now) {
  for (const std::uint32_t replica : changed_) {
    Server& s = *servers_[replica];
    if (s.resting()) s.start(now);
    if (s.end() != never) ends_.push({s.end(), replica});
  }
  changed_.clear();
}

void FleetLoop::give(Pool& pool, RequestId id, Ticks now, const Progress& progress) {
  const std::size_t i = pool.router.route(requests_[id]);
  pool.servers[i].arrive(id, now, progress);
  changed_.push_back(pool.first + static_cast<std::uint32_t>(i));
}

void FleetLoop::arrive(Ticks now) {
  const RequestId id = arrivals_.pop();
  run_.answers.set_sent(id, now - arrivals_.held(id));
  give(pools_.front(), id, now, {});
}

void FleetLoop::finish(std::uint32_t replica) {
  Pool& p = pool_of(replica);
  Server& s = *servers_[replica];
  if (watch_.pass)
    for (std::size_t i = 0; i < s.ranks(); ++i) watch_.pass(s.record(i));
  s.finish(run_, [&](RequestId id) { leave(p, id); });
  changed_.push_back(replica);
}

/// Handles a request that leaves a replica: it is either finished or continues in the second fleet.
void FleetLoop::leave(Pool& pool, RequestId id) {
  const AnswerTimes a = run_.answers[id];
  pool.router.done(a.replica - pool.first);
  if (&pool != &pools_.back() && requests_.generate(id) > 1) return send(pool, id);
  run_.end = std::max(run_.end, a.last);
  arrivals_.answered(id, a.last);
  ++answered_;
  if (watch_.answered && !watch_.answered(id, a)) run_.stopped = true;
}

/// Sends a request's keys and values, which are complete at the end of the pass. The request's time outside passes
/// does not delay the transfer, because it is spent on the way to the user.
void FleetLoop::send(Pool& from, RequestId id) {
  const AnswerTimes a = run_.answers[id];
  const Ticks computed = a.last - from.request;
  Ticks& sending = from.sending[a.replica - from.first];
  sending = std::max(sending, computed) + from.transfer.wait + requests_.prompt(id) * from.transfer.token;
  run_.presence += sending - computed;
  traveling_.push({sending, id});
  run_.answers.unset_last(id);
}

void FleetLoop::land(Ticks now) {
  const RequestId id = traveling_.top().id;
  traveling_.pop();
  const Ticks token = run_.answers.first(id) - pools_.front().request;
  give(pools_.back(), id, now, {requests_.prompt(id), 1, token});
}

/// Calls the watch at every 1024th event.
bool FleetLoop::goes_on() {
  if (run_.stopped) return false;
  if (!watch_.goes_on || ++times_asked_ % 1024 != 0) return true;
  run_.stopped = !watch_.goes_on(answered_, static_cast<Count>(requests_.size()));
  return !run_.stopped;
}

}  // namespace llmcalc
