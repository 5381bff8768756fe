#include "calc/pipeline/alternating.hpp"

#include <bit>
#include <cassert>
#include <cmath>

namespace llmcalc {
namespace {

/// Number of entries between the flows' end times, which puts the ends of a micro-batch into different cache sets.
constexpr Count spacing = 8;

}  // namespace

/// A chunk is ahead of the next chunk by at most the forwards that rank 0 runs before its first backward, plus the
/// first group of the next chunk.
template <std::size_t n>
AlternatingRun<n>::AlternatingRun(const Pipeline& p, std::span<const PipelineTimes, n> t, AlternatingWorkspace<n>& room)
    : p_(p), room_(room), slots_(mul(p.micro_batches, p.chunks)) {
  const Count most_ahead = std::min(slots_, mul(p.chunks + 2, p.ranks));
  mask_ = static_cast<Count>(std::bit_ceil(static_cast<std::uint64_t>(most_ahead))) - 1;
  const auto ends = static_cast<std::size_t>(mul(2, p.ranks, mask_ + 1 + spacing));
  if (room_.ends.size() < ends) room_.ends.resize(ends);
  room_.chunks.resize(static_cast<std::size_t>(mul(p.ranks, p.chunks)));
  room_.ranks.resize(static_cast<std::size_t>(p.ranks));
  for (Count r = 0; r < p.ranks; ++r) prepare_rank(r);
  for (Count r = 0; r < p.ranks; ++r)
    for (Count c = 0; c < p.chunks; ++c) prepare_chunk(r, c, t);
}

/// In an interleaved pipeline, chunks take turns of P slots, forwards from the first to the last chunk, backwards from
/// the last to the first. The results of the last rank are the inputs of the first rank's next chunk, P slots later.
template <std::size_t n>
void AlternatingRun<n>::prepare_rank(Count number) {
  Rank& r = rank(number);
  const bool begins = number == 0, ends = number + 1 == p_.ranks, interleaved = p_.chunks > 1;
  const Count turn = interleaved ? p_.ranks : slots_;
  const Rank* const before = begins ? (interleaved ? &rank(p_.ranks - 1) : nullptr) : &rank(number - 1);
  const Rank* const after = ends ? (interleaved ? &rank(0) : nullptr) : &rank(number + 1);
  Lanes<n>* const stored = room_.ends.data() + 2 * number * (mask_ + 1 + spacing);
  r.ahead = forwards_ahead(p_, number);
  r.chunks = &chunk(number, 0);
  r.forward = {.from = before == nullptr ? nullptr : &before->forward,
               .lag = begins ? p_.ranks : 0,
               .ends = stored,
               .chunk = r.chunks,
               .left = turn};
  r.backward = {.from = after == nullptr ? nullptr : &after->backward,
                .lag = ends ? p_.ranks : 0,
                .ends = stored + mask_ + 1 + spacing,
                .chunk = r.chunks + p_.chunks - 1,
                .left = turn};
  r.clock = {};
}

template <std::size_t n>
void AlternatingRun<n>::prepare_chunk(Count rank, Count local, std::span<const PipelineTimes, n> t) {
  const Count q = local * p_.ranks + rank;
  const auto at = static_cast<std::size_t>(q);
  Chunk& c = chunk(rank, local);
  c.has_before = q > 0;
  c.has_after = q + 1 < mul(p_.ranks, p_.chunks);
  c.started = false;
  for (std::size_t i = 0; i < n; ++i) {
    const ChunkTime& time = t[i].chunks[at];
    const bool sends = p_.ranks > 1 && !t[i].sends.empty();
    c.forward.at[i] = time.forward.value;
    c.backward.at[i] = time.backward_input.value + time.backward_weight.value;
    c.from_before.at[i] = sends && c.has_before ? t[i].sends[at - 1].value : 0;
    c.from_after.at[i] = sends && c.has_after ? t[i].sends[at].value : 0;
    c.ready.at[i] = t[i].ready.empty() ? 0 : t[i].ready[at].value;
  }
}

/// Runs the next forward if its input has been computed.
template <std::size_t n>
bool AlternatingRun<n>::forward(Rank& rank) const {
  Flow& f = rank.forward;
  Chunk& c = *f.chunk;
  Lanes<n> start = rank.clock;
  if (c.has_before) {
    const Count k = f.done - f.lag;
    if (f.from->done <= k) return false;
    start = later(start, f.from->ends[k & mask_] + c.from_before);
  }
  if (!c.started) {
    start = later(start, c.ready);
    c.first = start;
    c.started = true;
  }
  rank.clock = f.ends[f.done++ & mask_] = start + c.forward;
  if (--f.left > 0) return true;
  f.left = p_.ranks;
  f.chunk = f.chunk + 1 == rank.chunks + p_.chunks ? rank.chunks : f.chunk + 1;
  return true;
}

/// Runs the next backward if its gradients have been computed.
template <std::size_t n>
bool AlternatingRun<n>::backward(Rank& rank) const {
  Flow& f = rank.backward;
  const Chunk& c = *f.chunk;
  Lanes<n> start = rank.clock;
  if (c.has_after) {
    const Count k = f.done - f.lag;
    if (f.from->done <= k) return false;
    start = later(start, f.from->ends[k & mask_] + c.from_after);
  }
  rank.clock = f.ends[f.done++ & mask_] = start + c.backward;
  if (--f.left > 0) return true;
  f.left = p_.ranks;
  f.chunk = (f.chunk == rank.chunks ? rank.chunks + p_.chunks : f.chunk) - 1;
  return true;
}

/// Runs a rank's slots until one lacks its input or the rank reaches its stop. Returns whether it reached the stop.
template <std::size_t n>
bool AlternatingRun<n>::pass(Rank& rank) const {
  while (rank.to_do > 0) {
    const bool next = rank.forward.done < slots_ && rank.forward.done - rank.backward.done <= rank.ahead;
    if (!(next ? forward(rank) : backward(rank))) return false;
    --rank.to_do;
  }
  return true;
}

/// Visits the ranks upward for forwards and downward for gradients, until all ranks have reached their stops.
template <std::size_t n>
void AlternatingRun<n>::run_to_stop() {
  const auto run = [&](Rank& rank) { return rank.to_do > 0 && pass(rank) ? 1 : 0; };
  Count running = 0;
  for (const Rank& rank : room_.ranks) running += rank.to_do > 0 ? 1 : 0;
  while (running > 0) {
    for (Rank& rank : room_.ranks) running -= run(rank);
    for (auto rank = room_.ranks.rbegin(); rank != room_.ranks.rend(); ++rank) running -= run(*rank);
  }
}

/// Calls visit(end) for the ends of neighbors' slots whose results the ranks have not used, as long as it returns true.
/// Returns whether every call returned true.
template <std::size_t n>
template <typename Visit>
bool AlternatingRun<n>::all_unused(Visit visit) const {
  for (const Rank& rank : room_.ranks)
    for (const Flow* f : {&rank.forward, &rank.backward})
      for (Count k = std::max<Count>(0, f->done - f->lag); f->from != nullptr && k < f->from->done; ++k)
        if (!visit(f->from->ends[k & mask_])) return false;
  return true;
}

template <std::size_t n>
void AlternatingRun<n>::set_mark() {
  room_.unused.clear();
  for (Rank& rank : room_.ranks) rank.marked_clock = rank.clock;
  all_unused([&](const Lanes<n>& end) {
    room_.unused.push_back(end);
    return true;
  });
}

/// Whether in each lane all times have shifted equally since the mark, and by how much.
template <std::size_t n>
bool AlternatingRun<n>::shifted(Lanes<n>& by) const {
  const Rank& first = rank(0);
  by = first.clock - first.marked_clock;
  const auto same = [&](const Lanes<n>& now, const Lanes<n>& marked) {
    bool all = true;
    for (std::size_t i = 0; i < n; ++i) all &= std::abs(now.at[i] - marked.at[i] - by.at[i]) <= 1e-13 * by.at[i];
    return all;
  };
  for (const Rank& rank : room_.ranks)
    if (!same(rank.clock, rank.marked_clock)) return false;
  auto marked = room_.unused.begin();
  return all_unused([&](const Lanes<n>& end) { return same(end, *marked++); });
}

/// Compares the cut after every round of `slots` forwards with a mark. The mark is set after rounds 1, 2, 4, 8, ..., so
/// it moves past the warm-up and lies far enough back for any distance at which times repeat. Round 1 is not compared,
/// because it starts forwards that wait for their chunk to be ready. The caller runs the remaining rounds.
template <std::size_t n>
void AlternatingRun<n>::run_steady(Count rounds, Count slots) {
  for (Count round = 1, marked = 0; round < rounds; ++round) {
    for (Rank& rank : room_.ranks) rank.to_do = 2 * slots;
    run_to_stop();
    const Count distance = round - marked;
    if (Lanes<n> by; marked > 0 && shifted(by)) {
      const Count periods = (rounds - round - 1) / distance;
      slots_ -= periods * distance * slots;
      for (std::size_t i = 0; i < n; ++i) left_out_.at[i] += static_cast<double>(periods) * by.at[i];
      return;
    }
    if (distance < marked) continue;
    marked = round;
    set_mark();
  }
}

/// At the end of a round, P micro-batches of every chunk, all ranks are at the same slot, and no rank is blocked before
/// that: the first rank would have to wait for the last rank before its last forwards, but these belong to the first
/// chunk, which has no input. In 1F1B a round is one micro-batch.
template <std::size_t n>
void AlternatingRun<n>::run() {
  const Count round = p_.chunks == 1 ? 1 : mul(p_.ranks, p_.chunks);
  const Count rounds = (slots_ - rank(0).ahead) / round;
  for (Rank& rank : room_.ranks) rank.to_do = rank.ahead;
  run_to_stop();
  run_steady(rounds, round);
  for (Rank& rank : room_.ranks) rank.to_do = 2 * slots_ - rank.forward.done - rank.backward.done;
  run_to_stop();
}

template <std::size_t n>
Lanes<n> AlternatingRun<n>::last(Count number, Count local) const {
  const Count slot = slots_ - 1 - local * p_.ranks;
  return rank(number).backward.ends[slot & mask_] + left_out_;
}

template class AlternatingRun<1>;
template class AlternatingRun<2>;
template class AlternatingRun<4>;

}  // namespace llmcalc
