#include "calc/pipeline/pipeline_run.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

#include "calc/pipeline/bound.hpp"

namespace llmcalc {

void PipelineRun::prepare() {
  const Count chunks = mul(p_.ranks, p_.chunks);
  automatic_ = automatic(p_.schedule);
  most_saved_ = most_chunks_saved(p_);
  saved_ = static_cast<Count>(std::bit_ceil(static_cast<std::uint64_t>(most_unused())));
  const auto ends = static_cast<std::size_t>(mul(2, chunks, saved_ + apart));
  if (room_.ends_.size() < ends) room_.ends_.resize(ends);
  room_.chunks_.assign(static_cast<std::size_t>(chunks), {});
  room_.ranks_.resize(static_cast<std::size_t>(p_.ranks));
  for (Count r = 0; r < p_.ranks; ++r) prepare_rank(r);
}

/// Maximum number of micro-batches by which a chunk is ahead of the next chunk, in either direction. A chunk's
/// forwards are ahead of its input gradients, which come through the next chunk, by at most 2 (P - 1) + (v - 1) P + 1
/// over all chunks in interleaved orders, and by at most 2P in ZB-2p and ZB-V. GPipe, whose lead is larger, is not
/// simulated.
Count PipelineRun::most_unused() const {
  return std::min(micro_batches_per_direction(p_), mul(p_.chunks + 2, p_.ranks));
}

void PipelineRun::prepare_rank(Count number) {
  Rank& rank = room_.ranks_[static_cast<std::size_t>(number)];
  rank.order = rank_order(p_, number);
  rank.at = PlainOrderCursor(rank.order);
  rank.weights = rank.at;
  rank.clock = 0;
  rank.pending = rank.saved = 0;
  rank.chunks = &chunk(number * p_.chunks);
  rank.slots.clear();
  for (Count c = 0; c < p_.chunks; ++c) prepare_chunk({number, c});
}

void PipelineRun::prepare_chunk(ChunkPlace at) {
  const Count number = chunk_index(p_, at);
  const ChunkNode n = chunk_node(p_, t_, at);
  Chunk& c = chunk(number);
  double* const ends = room_.ends_.data() + 2 * number * (saved_ + apart);
  if (n.before != ChunkNode::none) c.forward.from = &chunk(n.before).forward;
  if (n.after != ChunkNode::none) c.backward.from = &chunk(n.after).backward;
  c.forward.latency = n.from_before;
  c.backward.latency = n.from_after;
  c.forward.ready = n.ready;
  c.forward.ends = ends;
  c.backward.ends = ends + saved_ + apart;
  c.forward.saved = c.backward.saved = saved_ - 1;
  c.seconds = {n.forward, n.input + n.weight, n.input, n.weight};
  c.paired = n.paired;
}

/// Runs the oldest pending weight gradients of an automatic schedule.
void PipelineRun::run_weights(Rank& rank) {
  while (rank.weights.kind() == SlotKind::forward) rank.weights.advance();
  Chunk& c = rank.chunks[rank.weights.chunk()];
  rank.slots.push_back({SlotKind::backward_weight, rank.weights.chunk(), c.weights++});
  rank.weights.advance();
  rank.clock += c.seconds[weight];
  c.last = rank.clock;
  --rank.pending;
  --rank.saved;
}

/// Runs weight gradients before a slot: one set before a forward that would exceed the memory limit, and then further
/// sets while at least half of the next set fits into the time before the slot can start. The slot is thus delayed by
/// no more than the time filled. (This rule is our own. arXiv:2401.10241, section 3.1, fills gaps of at least T_W,
/// and shorter gaps if a rank has waited less than others.)
void PipelineRun::place_weights(Rank& rank, SlotKind next, double start) {
  constexpr double half = 0.5 * (1 - 1e-9);  // a time that is equal up to rounding counts as fitting
  const bool enters = next == SlotKind::forward;
  if (enters && rank.saved == most_saved_) run_weights(rank);
  while (rank.pending > 0) {
    PlainOrderCursor& at = rank.weights;
    while (at.kind() == SlotKind::forward) at.advance();
    if (rank.clock + half * rank.chunks[at.chunk()].seconds[weight] > start) break;
    run_weights(rank);
  }
  const Count local = rank.at.chunk();
  const Chunk& c = rank.chunks[local];
  rank.slots.push_back({next, local, enters ? c.forward.done : c.backward.done});
  ++(enters ? rank.saved : rank.pending);
}

/// Whether the next slot of a flow has its input. If so, raises `start` to the input's arrival.
bool PipelineRun::arrives(const Flow& f, double& start) {
  start = std::max(start, f.ready);
  if (f.from == nullptr) return true;
  if (f.from->done <= f.done) return false;
  assert(f.from->done - f.done <= f.saved + 1);
  start = std::max(start, f.from->end(f.done) + f.latency);
  return true;
}

/// Runs a rank's slots until one lacks its input or the rank reaches its stop. Returns whether it reached the stop.
template <bool by_rule>
bool PipelineRun::pass(Rank& rank) {
  PlainOrderCursor at = rank.at;
  double clock = rank.clock;
  Count to_do = rank.to_do;
  for (; to_do > 0; --to_do) {
    const SlotKind kind = at.kind();
    Chunk& c = rank.chunks[at.chunk()];
    double start = clock;
    if (kind == SlotKind::backward_weight) {
      clock += c.seconds[weight];
      c.last = clock;
    } else if (kind == SlotKind::forward_and_backward) {
      Chunk& other = rank.chunks[at.backward_chunk()];
      if (!arrives(c.forward, start) || !arrives(other.backward, start)) break;
      clock = start + (c.paired > 0 ? c.paired : c.seconds[forward] + other.seconds[backward]);
      if (c.forward.done == 0) c.first = start;
      c.forward.end(c.forward.done++) = clock;
      other.last = other.backward.end(other.backward.done++) = clock;
    } else {
      Flow& flow = kind == SlotKind::forward ? c.forward : c.backward;
      if (!arrives(flow, start)) break;
      if constexpr (by_rule) {
        rank.clock = clock;
        rank.at = at;
        place_weights(rank, kind, start);
        start = std::max(start, rank.clock);
      }
      clock = start + c.seconds[static_cast<std::size_t>(kind)];
      if (kind != SlotKind::forward)
        c.last = clock;
      else if (flow.done == 0)
        c.first = start;
      flow.end(flow.done++) = clock;
    }
    at.advance();
  }
  rank.clock = clock;
  rank.to_do = to_do;
  rank.at = at;
  return to_do == 0;
}

bool PipelineRun::pass(Rank& rank) {
  if (rank.to_do == 0) return false;
  return automatic_ ? pass<true>(rank) : pass<false>(rank);
}

/// Visits the ranks upward for forwards and downward for gradients, until all ranks have reached their stops.
void PipelineRun::run_to_stop() {
  Count running = 0;
  for (const Rank& rank : room_.ranks_) running += rank.to_do > 0 ? 1 : 0;
  while (running > 0) {
    for (Rank& rank : room_.ranks_) running -= pass(rank) ? 1 : 0;
    if (running == 0) return;
    for (auto rank = room_.ranks_.rbegin(); rank != room_.ranks_.rend(); ++rank) running -= pass(*rank) ? 1 : 0;
  }
}

/// Sets a rank's stop to the start of its next steady run or to the end of its order. Precondition: the rank is at the
/// start of a repetition.
void PipelineRun::stop_at_steady(Rank& rank) const {
  rank.to_do = 0;
  if (rank.at.done()) return;
  const std::size_t first = rank.at.run_number();
  for (std::size_t i = first; i < rank.order.size(); ++i) {
    const OrderRun& run = rank.order[i];
    const bool entered = i == first && rank.at.left() < run.times;
    if (run.rounds > 1 && !entered && !whole_) break;
    rank.to_do += (entered ? rank.at.left() : run.times) * run.size;
  }
}

/// Calls visit(time) for the end of every slot whose result the next chunk has not used, until a call returns false.
/// Returns whether all calls returned true.
template <typename Visit>
bool PipelineRun::all_unused(Visit visit) const {
  for (const Chunk& c : room_.chunks_) {
    for (const Flow* f : {&c.forward, &c.backward})
      for (Count i = f->done; f->from != nullptr && i < f->from->done; ++i)
        if (!visit(f->from->end(i))) return false;
  }
  return true;
}

void PipelineRun::set_mark() {
  room_.unused_.clear();
  for (Rank& rank : room_.ranks_) {
    rank.marked_clock = rank.clock;
    rank.marked_pending = rank.pending;
  }
  all_unused([&](double time) {
    room_.unused_.push_back(time);
    return true;
  });
}

/// Seconds by which all times have shifted since the mark; absent if the shifts differ.
std::optional<double> PipelineRun::shift() const {
  const Rank& first = room_.ranks_[0];
  const double by = first.clock - first.marked_clock, tolerance = 1e-13 * by;
  for (const Rank& rank : room_.ranks_) {
    if (std::abs(rank.clock - rank.marked_clock - by) > tolerance) return std::nullopt;
    if (rank.pending != rank.marked_pending) return std::nullopt;
  }
  auto marked = room_.unused_.begin();
  const bool same = all_unused([&](double time) { return std::abs(time - *marked++ - by) <= tolerance; });
  return same ? std::optional(by) : std::nullopt;
}

/// Skips `rounds` of the `of` rounds of the steady run. The cursor of weight gradients also skips them if it is in
/// that run; otherwise, it is still before that run.
void PipelineRun::leave_out(Count rounds, Count of, double seconds_per_round) {
  for (Rank& rank : room_.ranks_) {
    OrderRun& run = rank.order[rank.at.run_number()];
    const Count repetitions = rounds * (run.times / of);
    rank.at.skip(repetitions);
    if (rank.weights.run_number() == rank.at.run_number()) rank.weights.skip(repetitions);
    run.times -= repetitions;
  }
  left_out_ += static_cast<double>(rounds) * seconds_per_round;
}

/// Compares the cut after every round with a mark. The mark is set after rounds 1, 2, 4, 8, ...: it moves past the
/// warm-up, and is eventually far enough back for any period of the times. Round 1 is not compared, because its
/// forwards may wait for their chunk to be ready. The caller runs the remaining rounds.
void PipelineRun::run_steady(Count rounds) {
  for (Count round = 1, marked = 0; round < rounds; ++round) {
    for (Rank& rank : room_.ranks_) rank.to_do = rank.at.run().times / rounds * rank.at.run().size;
    run_to_stop();
    const Count distance = round - marked;
    const auto by = marked > 0 ? shift() : std::nullopt;
    if (by) return leave_out((rounds - round - 1) / distance * distance, rounds, *by / static_cast<double>(distance));
    if (distance < marked) continue;
    marked = round;
    set_mark();
  }
}

/// Time at which the last of m jobs leaves station `last`, if all jobs pass through the stations in order. The
/// longest path through the table of stations and jobs starts at the first job of some station. It passes every later
/// station once, and the slowest of them m - 1 more times.
double PipelineRun::leaves(std::size_t last) const {
  const double more = static_cast<double>(p_.micro_batches - 1);
  double latest = 0, way = 0, slowest = 0;
  for (std::size_t i = last + 1; i-- > 0;) {
    const Station& s = room_.stations_[i];
    way += s.seconds;
    slowest = std::max(slowest, s.seconds);
    latest = std::max(latest, s.opens + way + more * slowest);
    way += s.latency;
  }
  return latest;
}

/// GPipe needs no simulation: forwards pass through the ranks like jobs through stations, then gradients pass back.
void PipelineRun::run_gpipe() {
  std::vector<Station>& stations = room_.stations_;
  const std::size_t n = room_.ranks_.size();
  stations.clear();
  double first = 0;
  for (std::size_t r = 0; r < n; ++r) {
    Chunk& c = room_.chunks_[r];
    stations.push_back({c.forward.ready, c.forward.latency, c.seconds[forward]});
    c.first = std::max(first + c.forward.latency, c.forward.ready);
    first = c.first + c.seconds[forward];
    room_.ranks_[r].clock = leaves(r);
  }
  stations.clear();
  for (std::size_t i = 0; i < n; ++i) {
    Chunk& c = room_.chunks_[n - 1 - i];
    stations.push_back({room_.ranks_[n - 1 - i].clock, c.backward.latency, c.seconds[backward]});
    c.last = leaves(i);
  }
}

void PipelineRun::run_slots() {
  for (;;) {
    for (Rank& rank : room_.ranks_) stop_at_steady(rank);
    run_to_stop();
    if (room_.ranks_[0].at.done()) return;
    run_steady(room_.ranks_[0].at.run().rounds);
  }
}

Makespan PipelineRun::run() {
  p_.schedule == Schedule::gpipe ? run_gpipe() : run_slots();
  Seconds total;
  for (Rank& rank : room_.ranks_)
    while (rank.pending > 0) run_weights(rank);
  for (std::size_t i = 0; i < spans_.size(); ++i) {
    const Chunk& c = room_.chunks_[i];
    spans_[i] = {Seconds(c.first), Seconds(c.last + left_out_)};
    total = std::max(total, spans_[i].last);
  }
  return {total, validates_after(p_.schedule) ? longest_span(p_, t_, spans_) : Seconds(), spans_};
}

Makespan PipelineRun::run_and_write() {
  const Makespan m = run();
  for (Rank& rank : room_.ranks_) {
    SlotNumbering numbers(p_);
    for (OrderCursor at(rank.order, p_); !at.done(); at.advance())
      rank.slots.push_back(numbers.number(at.kind(), at.chunk(), at.backward_chunk()));
  }
  return m;
}

}  // namespace llmcalc
