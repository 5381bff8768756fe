#pragma once
/// Scores of attention, one sequence and one head at a time: which keys a query sees, q k' and what positions add,
/// their softmax and dropout.

#include <cmath>
#include <cstdlib>

#include "model/backend.hpp"
#include "model/cpu/aligned.hpp"
#include "model/cpu/chosen_keys.hpp"
#include "model/cpu/dropout.hpp"
#include "model/cpu/loss.hpp"
#include "model/cpu/pointwise.hpp"
#include "model/cpu/product.hpp"
#include "model/math/alibi.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// Number 0 of head h of token t of sequence s.
template <typename T>
const T* at(const HeadView& v, Count s, Count t, Count h) {
  const Count slot = v.capacity > 0 ? t % v.capacity : t;
  return static_cast<const T*>(v.data) + s * v.sequence + slot * v.token + h * v.head;
}
template <typename T>
T* at_mutable(const HeadView& v, Count s, Count t, Count h) {
  return const_cast<T*>(at<T>(v, s, t, h));
}

/// Keys of tokens and of groups of them, an open one included.
inline Count all_keys(const Attention& s) { return s.keys + (s.pooled > 0 ? ceil_div(s.keys, s.pooled) : 0); }

/// Attention of one sequence and one head: pointers and sizes for the loops below.
template <typename T>
struct Core {
  using W = Wide<T>;
  const Attention& s;
  const AttentionInputs& in;
  Count sequence, head, group;  ///< group: the KV head
  W slope;

  Core(const Attention& shape, const AttentionInputs& inputs, Count seq, Count h)
      : s(shape), in(inputs), sequence(seq), head(h), group(h / (shape.heads / shape.kv_heads)) {
    slope = W(inputs.alibi ? alibi_slope(shape.heads, h) : 0.0);
  }
  Count plain() const { return s.qk_dim - in.rope_dim; }
  const T* q(Count i) const { return at<T>(in.q, sequence, i, head); }
  const T* q_rope(Count i) const { return at<T>(in.q_rope, sequence, i, head); }
  const T* k(Count j) const { return j < s.keys ? at<T>(in.k, sequence, j, group) : pooled(j); }
  const T* k_rope(Count j) const { return at<T>(in.k_rope, sequence, j, group); }
  const T* v(Count j) const { return j < s.keys ? at<T>(in.v, sequence, j, group) : pooled(j); }
  /// Keys of groups of tokens are numbered behind those of tokens.
  const T* pooled(Count j) const { return at<T>(in.pooled, sequence, j - s.keys, 0); }

  /// The keys that query i (of this pass) sees: [first, last).
  Count last(Count i) const {
    if (!s.bidirectional) return s.past() + i + 1;
    const Count end = in.documents != nullptr ? in.documents[i].end : s.keys;
    return s.reach.limited() ? std::min(end, i + s.reach.side() + 1) : end;
  }
  Count first(Count i) const {
    const Count begin = in.documents != nullptr ? in.documents[i].first : 0;
    if (!s.bidirectional) return begin + s.reach.first(s.past() + i - begin);
    return s.reach.limited() ? std::max(begin, i - s.reach.side()) : begin;
  }
  /// Pooled keys that query i sees: the first ones.
  Count seen(Count i) const { return s.pooled_seen(s.past() + i); }
  /// All of them and the pooled ones behind them, or those that an indexer chose of either, in `room`.
  Keys keys(Count i, std::vector<Count>& room) const {
    const Count near = last(i) - first(i);
    if (in.chosen == nullptr) return {.first = first(i), .n = near + seen(i), .near = near, .far = s.keys};
    const ChosenIndex* const mine = in.chosen + (sequence * s.queries + i) * in.indices;
    if (s.pooled > 0) return near_and_chosen(first(i), last(i), mine, in.indices, s.keys, room);
    return chosen_keys(s.selection, mine, in.indices, s.past() + i, room);
  }
  /// Index of query i's first score among those of all heads and sequences: the start of its dropout mask.
  Count row(Count i) const { return ((sequence * s.heads + head) * s.queries + i) * all_keys(s); }

  /// What relative positions add to the score of query i and key j.
  W relative(Count i, Count j) const {
    const RelativeInputs& r = in.relative;
    const Count row = r.is_table ? r.ranges.of(j - s.past() - i) : i * s.keys + j;
    return wide(static_cast<const T*>(r.numbers)[row * s.heads + head]);
  }

  /// Scores of query i with these keys.
  void scores(Count i, const Keys& keys, W* to) const {
    for (Count j = 0; j < keys.n; ++j) {
      Dot<W> score;
      score.add(plain(), q(i), k(keys[j]));
      if (in.rope_dim > 0) score.add(in.rope_dim, q_rope(i), k_rope(keys[j]));
      to[j] = score.total();
    }
    const W scale = number<W>(in.scale), alibi = slope;
    const Count own = s.past() + i;
    const auto distance = [=](Count j) { return W(static_cast<Plain<W>>(std::abs(own - keys[j]))); };
    if (in.alibi)
      lanes<W>(0, keys.n, [=](Count j) { to[j] = to[j] * scale - alibi * distance(j); });
    else
      lanes<W>(0, keys.n, [=](Count j) { to[j] = to[j] * scale; });
    if (in.relative.numbers != nullptr)
      for (Count j = 0; j < keys.n; ++j) to[j] += relative(i, keys[j]);
    if (in.cap > 0) cap(keys.n, number<W>(in.cap), to);
  }
  W sink() const { return wide(static_cast<const T*>(in.sinks)[head]); }
};

/// Softmax of a row of n scores in place; returns the log-sum-exp, a sink's logit included.
template <typename W>
W softmax(Count n, W* x, const W* sink) {
  W most = greatest_of<W>(n, x);
  if (sink != nullptr && *sink > most) most = *sink;
  W total = exponentials(n, most, x);
  if (sink != nullptr) total += exp_of(*sink - most);
  const W inverse = W(1) / total;
  lanes<W>(0, n, [=](Count i) { x[i] = x[i] * inverse; });
  return most + log_of(total);
}

/// Multiply-adds of one pass over n pairs, as FLOPs.
inline Flops pair_flops(Count n, Count width) { return flops(2, n, width); }

template <typename T>
void write_out(const Aligned<Wide<T>>& from, T* to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<T>(from[i]);
}

/// Pairs of one sequence and head.
template <typename T>
Count seen_pairs(const Attention& s, const AttentionInputs& in) {
  std::vector<Count> room;
  const Core<T> c(s, in, 0, 0);
  Count pairs = 0;
  for (Count i = 0; i < s.queries; ++i) pairs += c.keys(i, room).n;
  return pairs;
}

/// Calls f(first, n, at) for runs of keys that follow one another: n from number `first` on, the first of which is key
/// `at` of all.
template <typename F>
void for_each_run(const Keys& keys, const F& f) {
  if (keys.list != nullptr) {
    for (Count j = 0; j < keys.n; ++j) f(keys[j], Count{1}, j);
    return;
  }
  const Count near = std::min(keys.near, keys.n);
  f(keys.first, near, Count{0});
  if (keys.n > near) f(keys.far, keys.n - near, near);
}

/// Dropout factors of a row's numbers at these keys.
template <typename W>
void throw_dice(const Dropout& drop, Count row, const Keys& keys, W* factor) {
  for_each_run(keys, [&](Count first, Count n, Count at) { throw_dice(drop, row + first, n, factor + at); });
}
/// Multiplies x by them.
template <typename W>
void multiply_by_dice(const Dropout& drop, Count row, const Keys& keys, W* x) {
  for_each_run(keys, [&](Count first, Count n, Count at) { multiply_by_dice(drop, row + first, n, x + at); });
}

}  // namespace llmcalc::model::LLMCALC_ISA
