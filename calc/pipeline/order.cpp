#include "calc/pipeline/order.hpp"

#include <algorithm>

namespace llmcalc {
namespace {

constexpr OrderStep forward_step{SlotKind::forward}, backward_step{SlotKind::backward};
constexpr OrderStep input_step{SlotKind::backward_input}, weight_step{SlotKind::backward_weight};

template <typename... Steps>
void push_run(RankOrder& order, Count times, Steps... steps) {
  if (times <= 0) return;
  order.push({{steps...}, static_cast<std::int32_t>(sizeof...(steps)), times, 0});
}

/// An order of alternating forward and backward slots, after `ahead` forward slots. Round j = 0 ... n-1 has the next
/// forward slot (if any are left), backward slot j and, if separate, the weight gradients of slot j - `delay`. The
/// remaining weight gradients come last.
struct Alternation {
  Count slots = 0, ahead = 0, delay = 0;
  bool apart = false;   ///< whether input and weight gradients are separate
  bool placed = false;  ///< whether weight gradients are part of the order
  /// Steady rounds j, from `begin` on: `rounds` units of `repeats` rounds each.
  Count begin = 0, rounds = 0, repeats = 1;
};

void push_rounds(RankOrder& order, const Alternation& a, Count begin, Count end) {
  const bool forward = begin < a.slots - a.ahead, weight = a.placed && begin >= a.delay;
  const OrderStep backward = a.apart ? input_step : backward_step;
  if (forward && weight) return push_run(order, end - begin, forward_step, backward, weight_step);
  if (forward) return push_run(order, end - begin, forward_step, backward);
  if (weight) return push_run(order, end - begin, backward, weight_step);
  push_run(order, end - begin, backward);
}

RankOrder alternate(const Alternation& a) {
  RankOrder order;
  push_run(order, a.ahead, forward_step);
  const Count steady_end = a.begin + a.rounds * a.repeats;
  std::array<Count, 5> cuts{a.slots - a.ahead, std::min(a.delay, a.slots), a.begin, steady_end, a.slots};
  std::sort(cuts.begin(), cuts.end());
  Count begin = 0;
  for (const Count end : cuts) {
    if (end == begin) continue;
    push_rounds(order, a, begin, end);
    if (begin == a.begin && end == steady_end) order[order.size() - 1].rounds = a.rounds;
    begin = end;
  }
  if (a.placed) push_run(order, std::min(a.delay, a.slots), weight_step);
  return order;
}

RankOrder gpipe_order(const Pipeline& p) {
  RankOrder order;
  push_run(order, p.micro_batches, forward_step);
  push_run(order, p.micro_batches, backward_step);
  return order;
}

bool far_ahead(Schedule s) { return s == Schedule::zb_h2 || s == Schedule::zb_2p; }

/// 1F1B, ZB-H1, ZB-H2: rank r runs h (P - r - 1) slots ahead, and its weight gradients run h r slots late. ZB-1p runs
/// ahead like ZB-H1, and ZB-2p like ZB-H2.
RankOrder one_chunk_order(const Pipeline& p, Count rank) {
  const Count m = p.micro_batches, h = far_ahead(p.schedule) ? 2 : 1, most = h * (p.ranks - 1);
  const bool apart = splits_backward(p.schedule), placed = apart && !automatic(p.schedule);
  const Count latest = placed ? most : 0, rounds = std::max<Count>(0, m - most - latest);
  const Count ahead = std::min(m, most - h * rank), delay = placed ? h * rank : 0;
  return alternate({m, ahead, delay, apart, placed, rounds > 0 ? latest : 0, rounds, 1});
}

/// A round is P micro-batches of every chunk. At the end of a round, all ranks are at the same slot. No rank is
/// blocked before that: the only possible cycle, the first rank waiting for the last rank before its last forwards,
/// does not occur, because these forwards are in the first chunk, which has no input.
RankOrder interleaved_order(const Pipeline& p, Count rank) {
  const Count n = mul(p.micro_batches, p.chunks), round = mul(p.ranks, p.chunks);
  const Count rounds = (n - forwards_ahead(p, 0)) / round;
  return alternate({n, forwards_ahead(p, rank), 0, false, false, 0, rounds, round});
}

/// Remaining slots of each kind and local chunk: forwards, then input gradients.
using SlotsLeft = std::array<std::array<Count, 2>, 2>;

Count& slots_left(SlotsLeft& left, const OrderStep& s) {
  return left[runs_forward(s.kind) ? 0 : 1][static_cast<std::size_t>(s.chunk)];
}

/// Appends a pattern `times` times, and drops each of its steps once no slots of that kind remain.
void push_while_left(RankOrder& order, SlotsLeft& left, Count times, OrderRun pattern) {
  while (times > 0 && pattern.size > 0) {
    pattern.times = times;
    for (std::int32_t i = 0; i < pattern.size; ++i)
      pattern.times = std::min(pattern.times, slots_left(left, pattern.steps[static_cast<std::size_t>(i)]));
    if (pattern.times > 0) order.push(pattern);
    times -= pattern.times;
    std::int32_t saved = 0;
    for (std::int32_t i = 0; i < pattern.size; ++i) {
      const OrderStep s = pattern.steps[static_cast<std::size_t>(i)];
      slots_left(left, s) -= pattern.times;
      if (slots_left(left, s) > 0) pattern.steps[static_cast<std::size_t>(saved++)] = s;
    }
    pattern.size = saved;
  }
}

/// ZB-V, derived for F = B = W = 1, where weight gradients (here placed when memory requires it) leave no gap:
///   from r to 2P + r, when the first gradient arrives: forwards of the first chunk and, from the return of the first
///   micro-batch at 2P - 1 - r on, alternately of both chunks: 2P in total, which fills the memory;
///   then, for 3 (P - r - 1) time units, alternately gradients and forwards of the second chunk, one W after each
///   gradient;
///   from then on, at 5P - 3 - 2r + 6i, a round of B' W F B W F' (' second chunk), while such slots remain.
/// In round i the rank runs B' P - r - 1 + i, F 2P - 1 - r + i, B i, F' P + i. A slot's input from the previous rank is
/// therefore ready 3 time units before the slot, and its input from the next rank 1 time unit before.
RankOrder zb_v_order(const Pipeline& p, Count rank) {
  const OrderStep f{SlotKind::forward, 0, 0}, f2{SlotKind::forward, 1, 1};
  const OrderStep b{SlotKind::backward_input, 0, 0}, b2{SlotKind::backward_input, 1, 1};
  const Count m = p.micro_batches, behind = p.ranks - rank - 1, rounds = std::max<Count>(0, m - 2 * p.ranks + 1);
  SlotsLeft left{{{m, m}, {m, m}}};
  RankOrder order;
  push_while_left(order, left, 2 * behind, {{f}, 1});
  push_while_left(order, left, rank + 1, {{f, f2}, 2});
  push_while_left(order, left, behind, {{b2, f2}, 2});
  push_while_left(order, left, rounds, {{b2, f, b, f2}, 4});
  if (rounds > 0) order[order.size() - 1].rounds = rounds;
  push_while_left(order, left, m, {{b2, f, b, f2}, 4});
  return order;
}

/// Position of a rank in DualPipe's eight steps. `near`: number of ranks between it and its end of the pipeline.
/// `half`: number of ranks from an end to the middle. `micro_batches`: per direction. `first`, `second`: its chunks
/// of the near and of the far direction.
struct Dual {
  Count near = 0, half = 0, micro_batches = 0;
  std::int8_t first = 0, second = 1;

  OrderStep step(SlotKind k, std::int8_t chunk) const { return {k, chunk, chunk}; }
  OrderStep forward(std::int8_t c) const { return step(SlotKind::forward, c); }
  OrderStep backward(std::int8_t c) const { return step(SlotKind::backward, c); }
  OrderStep input(std::int8_t c) const { return step(SlotKind::backward_input, c); }
  OrderStep weight(std::int8_t c) const { return step(SlotKind::backward_weight, c); }
  OrderStep pair(std::int8_t f, std::int8_t b) const { return {SlotKind::forward_and_backward, f, b}; }
  Count to_middle() const { return half - near - 1; }
};

Dual dual_of(const Pipeline& p, Count rank) {
  if (p.schedule == Schedule::dualpipe_v) return {rank, p.ranks, p.micro_batches, 0, 1};
  const bool front = 2 * rank < p.ranks;
  const std::int8_t first = front ? 0 : 1, second = front ? 1 : 0;
  return {front ? rank : p.ranks - 1 - rank, p.ranks / 2, p.micro_batches / 2, first, second};
}

/// Steps 1 to 3: forward slots of the near direction, then of both directions, then backward slots of the far
/// direction as they arrive.
void push_filling(RankOrder& order, const Dual& d) {
  push_run(order, 2 * d.to_middle(), d.forward(d.first));
  push_run(order, d.near + 1, d.forward(d.first), d.forward(d.second));
  push_run(order, d.to_middle(), d.input(d.second), d.weight(d.second), d.forward(d.second));
}

/// Steps 4 and 5: a forward slot of one direction paired with a backward slot of the other. A rank in the middle runs
/// the two slots of its first pair separately, to produce its output earlier.
void push_pairs(RankOrder& order, const Dual& d) {
  const Count rounds = d.micro_batches - 2 * d.half;
  const OrderStep one = d.pair(d.first, d.second), other = d.pair(d.second, d.first);
  if (d.to_middle() == 0)
    push_run(order, 1, d.forward(d.first), d.backward(d.second), other);
  else
    push_run(order, 1, one, other);
  push_run(order, rounds, one, other);
  if (rounds > 0) order[order.size() - 1].rounds = rounds;
  push_run(order, d.near, one, other);
  push_run(order, d.to_middle(), d.backward(d.second), other);
}

/// Step 6: backward slots, alternating between directions; the later half defers its weight gradients.
void push_last_inputs(RankOrder& order, const Dual& d) {
  const Count whole = (d.near + 1) / 2, apart = d.near + 1 - whole;
  push_run(order, whole, d.backward(d.second), d.backward(d.first));
  if (d.near % 2 == 0) push_run(order, 1, d.backward(d.second), d.input(d.first));
  push_run(order, apart - (d.near % 2 == 0 ? 1 : 0), d.input(d.second), d.input(d.first));
}

/// Steps 7 and 8: the deferred weight gradients, oldest first, between the last backward slots and after them. Weight
/// gradients deferred in step 6 alternate between directions; those deferred in step 7 are of the near direction.
void push_last_weights(RankOrder& order, const Dual& d) {
  const Count left = d.near + 1, between = std::min(left, d.to_middle());
  const std::int8_t a = d.near % 2 == 0 ? d.first : d.second, b = d.near % 2 == 0 ? d.second : d.first;
  const OrderStep in = d.input(d.first);
  push_run(order, between / 2, d.weight(a), in, d.weight(b), in);
  if (between % 2 != 0) push_run(order, 1, d.weight(a), in);
  push_run(order, d.to_middle() - between, d.weight(d.first), in);
  const std::int8_t next = between % 2 == 0 ? a : b, after = between % 2 == 0 ? b : a;
  push_run(order, (left - between) / 2, d.weight(next), d.weight(after));
  if ((left - between) % 2 != 0) push_run(order, 1, d.weight(next));
  push_run(order, between, d.weight(d.first));
}

RankOrder dual_order(const Pipeline& p, Count rank) {
  RankOrder order;
  const Dual d = dual_of(p, rank);
  push_filling(order, d);
  push_pairs(order, d);
  push_last_inputs(order, d);
  push_last_weights(order, d);
  return order;
}

}  // namespace

Count forwards_ahead(const Pipeline& p, Count rank) {
  const Count slots = mul(p.micro_batches, p.chunks), later_ranks = p.ranks - rank - 1;
  if (p.schedule == Schedule::one_f_one_b) return std::min(slots, later_ranks);
  return std::min(slots, 2 * later_ranks + (p.chunks - 1) * p.ranks);
}

RankOrder rank_order(const Pipeline& p, Count rank) {
  if (p.schedule == Schedule::gpipe) return gpipe_order(p);
  if (p.schedule == Schedule::interleaved) return interleaved_order(p, rank);
  if (p.schedule == Schedule::zb_v) return zb_v_order(p, rank);
  if (p.chunks == 2) return dual_order(p, rank);
  return one_chunk_order(p, rank);
}

Count SlotNumbering::next(Part part, Count chunk) {
  if (p_.chunks == 2 && p_.schedule != Schedule::interleaved) return done_[part][static_cast<std::size_t>(chunk)]++;
  const Count n = turns_[part]++, round = p_.ranks * p_.chunks;
  return n / round * p_.ranks + n % p_.ranks;
}

Slot SlotNumbering::number(SlotKind kind, Count chunk, Count backward_chunk) {
  const auto global = [&](Count c, Count i) { return c == 0 ? i : i + p_.micro_batches / 2 * (directions(p_) - 1); };
  Slot s{kind, chunk, 0, 0, 0};
  Count gradients = 0;
  if (runs_forward(kind)) s.micro_batch = global(chunk, next(forward, chunk));
  if (runs_backward(kind)) gradients = global(backward_chunk, next(input, backward_chunk));
  if (runs_weights(kind)) {
    const Count i = global(backward_chunk, next(weight, backward_chunk));
    if (!runs_backward(kind)) gradients = i;
  }
  if (!runs_forward(kind)) s.micro_batch = gradients;
  if (kind == SlotKind::forward_and_backward) {
    s.backward_chunk = backward_chunk;
    s.backward_micro_batch = gradients;
  }
  return s;
}

}  // namespace llmcalc
