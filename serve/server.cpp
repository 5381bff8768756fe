#include "serve/server.hpp"

#include <algorithm>

namespace llmcalc {

Server::Server(const EngineRules& rules, const PassTimes& times, const RequestList& requests, std::uint32_t replica)
    : times_(times), replica_(replica) {
  for (Count i = 0; i < rules.ranks; ++i) ranks_.emplace_back(rules.scheduler, times.reach, requests);
}

Scheduler& Server::least_loaded() {
  const auto load = [](const Scheduler& s) { return s.in_progress() + s.waiting(); };
  return *std::min_element(ranks_.begin(), ranks_.end(),
                           [&](const Scheduler& a, const Scheduler& b) { return load(a) < load(b); });
}

bool Server::idle() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const Scheduler& s) { return s.idle(); });
}
Count Server::in_system() const {
  Count n = 0;
  for (const Scheduler& s : ranks_) n += s.in_progress() + s.waiting();
  return n;
}
Count Server::waiting() const {
  Count n = 0;
  for (const Scheduler& s : ranks_) n += s.waiting();
  return n;
}

/// Adds a request. The pass after the running one can admit it, so the remaining passes of the series are canceled.
void Server::arrive(RequestId id, Ticks now, const Progress& progress) {
  least_loaded().arrive(id, progress);
  if (!passing_) return;
  came_.push_back(now);
  keep_until(now);
}

/// Shortens the series of passes in progress to the fewest passes that last until `now`. All passes take nearly the
/// same time, so the first guess is close.
void Server::keep_until(Ticks now) {
  Count too_few = 0;
  Ticks too_early = start_;
  while (passes_ - too_few > 1) {
    const auto guess = static_cast<Count>((now - too_early) * (passes_ - too_few) / (end_ - too_early));
    const Count some = std::clamp(too_few + guess, too_few + 1, passes_ - 1);
    const Ticks end = start_ + duration(some);
    (end >= now ? passes_ : too_few) = some;
    (end >= now ? end_ : too_early) = end;
  }
}

void Server::start(Ticks now) {
  if (idle()) return;
  start_ = now;
  works_.clear();
  for (Scheduler& s : ranks_) works_.push_back(s.schedule());
  share_experts();
  passes_ = passes_alike();
  end_ = start_ + duration(passes_);
  passing_ = true;
  came_.clear();
}

/// Sets the expert rows of each rank: the rows of all ranks are spread evenly over the experts.
void Server::share_experts() {
  if (works_.size() == 1) return;
  Count rows = 0;
  for (const PassWork& w : works_) rows += w.rows();
  for (PassWork& w : works_) w.expert_rows = ceil_div(rows, static_cast<Count>(works_.size()));
}

/// Duration of the first `passes` of the passes in progress. All ranks wait for the slowest, which is the same rank in
/// all passes (passes_alike).
Ticks Server::duration(Count passes) const {
  if (times_.measured) return times_.passes(works_[lead_], ranks_[lead_].growth(), passes);
  return series_.passes(passes);
}

void Server::set_lead(std::size_t rank) {
  lead_ = rank;
  if (!times_.measured) series_ = PassSeries(times_, works_[rank], ranks_[rank].growth());
}

/// Number of consecutive passes with the same sequences and the same slowest rank, which is stored in lead_.
Count Server::passes_alike() {
  Count passes = PassSeries::most;
  for (const Scheduler& s : ranks_)
    if (!s.idle()) passes = std::min(passes, s.passes_alike());
  if (ranks_.size() == 1) {
    set_lead(0);
    return passes;
  }
  while (!leads_throughout(passes)) passes /= 2;
  return passes;
}

/// Finds the slowest rank of the first pass; ties are broken by the last pass. Returns whether it is the slowest in
/// all passes. This is the case if it is also the slowest in the last pass and its time grows linearly in between,
/// because the times of other ranks are convex.
bool Server::leads_throughout(Count passes) {
  const auto at = [&](std::size_t i, Count n) { return times_.pass(grown(works_[i], ranks_[i].growth(), n)); };
  Ticks first = -1, last = -1, longest = -1;  // the lead's first and last pass; the longest last pass of all ranks
  std::size_t lead = 0;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const Ticks begin = at(i, 0), end = passes > 1 ? at(i, passes - 1) : begin;
    longest = std::max(longest, end);
    if (std::pair(begin, end) <= std::pair(first, last)) continue;
    lead = i;
    first = begin;
    last = end;
  }
  set_lead(lead);
  return passes == 1 || (last == longest && 2 * duration(passes) == passes * (first + last));
}

PassRecord Server::record(std::size_t rank) const {
  const Scheduler& s = ranks_[rank];
  return {
      replica_,       static_cast<std::uint32_t>(rank), start_, end_, passes_, s.work(), s.in_progress(), s.waiting(),
      s.blocks_used()};
}

Server::LaterPasses Server::later_passes() const {
  if (passes_ < 2) return {};
  const Ticks first = duration(1), all = end_ - start_;
  return {.second = duration(2) - first, .last = all - duration(passes_ - 1), .all = all - first};
}

void Server::finish(ServerRun& run, const std::function<void(RequestId)>& done) {
  ServerTimeline::Stretch all = stretch();
  const PassEnds ends{start_ + duration(1), end_};
  const LaterPasses later = later_passes();
  passing_ = false;
  for (Scheduler& s : ranks_) {
    note_decisions(run, s);
    const PassEnd& end = s.finish(passes_, ends);
    all.tokens += end.tokens;
    run.most_blocks = std::max(run.most_blocks, s.most_blocks());
    note_end(run, end, ends, later);
    for (const RequestId id : end.last) done(id);
  }
  note_stretch(run, all);
}

/// The passes in progress as one stretch, without answer tokens.
ServerTimeline::Stretch Server::stretch() const {
  ServerTimeline::Stretch all{.start = start_, .end = end_, .busy = 1};
  for (const Scheduler& s : ranks_) {
    all.in_progress += s.in_progress() - s.answered();
    all.waiting += s.waiting();
    all.blocks_used += s.blocks_used();
    all.prompt_tokens += s.work().prompt_tokens;
  }
  all.waiting -= static_cast<Count>(came_.size());
  return all;
}

void Server::note_stretch(ServerRun& run, const ServerTimeline::Stretch& all) const {
  const Ticks length = end_ - start_;
  run.presence += (all.in_progress + all.waiting) * length;
  for (const Ticks t : came_) {
    run.presence += end_ - t;
    run.timeline.add({.start = t, .end = end_, .waiting = 1});
  }
  run.timeline.add(all);
  run.busy += length;
  run.passes += passes_;
  run.prompt_tokens += all.prompt_tokens;
}

void Server::note_decisions(ServerRun& run, const Scheduler& rank) const {
  for (const Scheduler::Admitted& a : rank.admitted())
    if (!a.was_preempted && run.answers.first(a.id) == never) run.answers.set_cached(a.id, a.cached);
  for (const RequestId id : rank.preempted()) run.answers.count_preemption(id);
}

/// Records results. Passes after the first only produce one token for every decoding sequence.
void Server::note_end(ServerRun& run, const PassEnd& end, const PassEnds& ends, const LaterPasses& later) const {
  for (const RequestId id : end.first) run.answers.set_first(id, ends.last + times_.request);
  for (const RequestId id : end.last) {
    run.answers.set_last(id, ends.last + times_.request);
    run.answers.set_replica(id, replica_);
  }
  run.tokens += end.tokens;
  for (const PassEnd::Gap& g : end.gaps) run.gaps.add(g.time, g.tokens);
  if (passes_ > 1) run.gaps.add(later.second, later.last, later.all, passes_ - 1, end.tokens / passes_);
}

}  // namespace llmcalc
