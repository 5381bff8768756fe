#pragma once
/// Attention scores, one sequence and one head at a time: the keys that a query sees, q k' with position terms, softmax
/// and dropout.

#include <cmath>
#include <cstdlib>
#include <limits>

#include "model/backend.hpp"
#include "model/cpu/aligned.hpp"
#include "model/cpu/attention/chosen_keys.hpp"
#include "model/cpu/products/product.hpp"
#include "model/cpu/rowwise/dropout.hpp"
#include "model/cpu/rowwise/loss.hpp"
#include "model/cpu/rowwise/pointwise.hpp"
#include "model/math/alibi.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// Address of element 0 of head h of token t of sequence s.
template <typename T>
const T* at(const HeadView& v, Count s, Count t, Count h) {
  const Count slot = v.capacity > 0 ? t % v.capacity : t;
  return static_cast<const T*>(v.data) + s * v.sequence + slot * v.token + h * v.head;
}
template <typename T>
T* at_mutable(const HeadView& v, Count s, Count t, Count h) {
  return const_cast<T*>(at<T>(v, s, t, h));
}

/// Total number of token keys and pooled keys, including the key of an incomplete group.
inline Count all_keys(const Attention& s) { return s.keys + (s.pooled > 0 ? ceil_div(s.keys, s.pooled) : 0); }

/// Calls f(first, n, at) for each run of n consecutive keys: `first` is the run's first key, and `at` is its index in
/// `keys`.
template <typename F>
void for_each_run(const Keys& keys, const F& f) {
  for (Count at = 0, n = 0; at < keys.n; at += n) {
    n = keys.run(at);
    f(keys[at], n, at);
  }
}

/// Attention of one sequence and one head: pointers and sizes for the loops below.
template <typename T>
struct CoreHead {
  using W = Wide<T>;
  const Attention& s;
  const AttentionInputs& in;
  Count sequence, head, group;  ///< group: the KV head
  W slope;

  CoreHead(const Attention& shape, const AttentionInputs& inputs, Count seq, Count h)
      : s(shape), in(inputs), sequence(seq), head(h), group(h / (shape.heads / shape.kv_heads)) {
    slope = W(inputs.alibi ? alibi_slope(shape.heads, h) : 0.0);
  }
  Count plain() const { return s.qk_dim - in.rope_dim; }
  const T* q(Count i) const { return at<T>(in.q, sequence, i, head); }
  const T* q_rope(Count i) const { return at<T>(in.q_rope, sequence, i, head); }
  const T* k(Count j) const { return j < s.keys ? at<T>(in.k, sequence, j, group) : pooled(j); }
  const T* k_rope(Count j) const { return at<T>(in.k_rope, sequence, j, group); }
  const T* v(Count j) const { return j < s.keys ? at<T>(in.v, sequence, j, group) : pooled(j); }
  /// Pooled keys are numbered after token keys.
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
  /// Number of pooled keys that query i sees, starting at the first.
  Count seen(Count i) const { return s.pooled_seen(s.past() + i); }
  /// The token keys that query i sees, followed by the pooled keys that it sees; or the keys that an indexer
  /// selected, stored in `room`.
  Keys keys(Count i, std::vector<Count>& room) const {
    const Count near = last(i) - first(i);
    if (in.chosen == nullptr) return {.first = first(i), .n = near + seen(i), .near = near, .far = s.keys};
    const ChosenIndex* const mine = in.chosen + (sequence * s.queries + i) * in.indices;
    if (s.pooled > 0) return near_and_chosen(first(i), last(i), mine, in.indices, s.keys, room);
    return chosen_keys(s.selection, mine, in.indices, s.past() + i, room);
  }
  /// Index of query i's first score in the scores of all heads and sequences: the start of its dropout mask.
  Count row(Count i) const { return ((sequence * s.heads + head) * s.queries + i) * all_keys(s); }

  /// The relative position term in the score of query i and key j.
  W relative(Count i, Count j) const {
    const RelativeInputs& r = in.relative;
    const Count row = r.is_table ? r.ranges.of(j - s.past() - i) : i * s.keys + j;
    return wide(static_cast<const T*>(r.numbers)[row * s.heads + head]);
  }

  /// Number of keys, starting at key j, with a constant stride between them and between their values.
  Count evenly(Count j) const {
    Count n = std::numeric_limits<Count>::max();
    if (j >= s.keys) return n;
    for (const HeadView* const v : {&in.k, &in.k_rope, &in.v})
      if (v->capacity > 0) n = std::min(n, v->capacity - j % v->capacity);
    return std::min(n, s.keys - j);
  }
  Count stride(const HeadView& v, Count j) const { return j < s.keys ? v.token : in.pooled.token; }
  /// Calls f(j, n, at) for segments of these keys with a constant stride: n keys starting at key j, which has index
  /// `at`.
  template <typename F>
  void each_stretch(const Keys& keys, const F& f) const {
    for_each_run(keys, [&](Count first, Count n, Count at) {
      for (Count done = 0, some = 0; done < n; done += some) {
        some = std::min(n - done, evenly(first + done));
        f(first + done, some, at + done);
      }
    });
  }

  /// Computes q' k for query i and these keys.
  void products(Count i, const Keys& keys, W* to) const {
    thread_local Aligned<W> room, rope_room;
    const W* const mine = widened(plain(), q(i), room);
    const W* const turned = in.rope_dim > 0 ? widened(in.rope_dim, q_rope(i), rope_room) : nullptr;
    each_stretch(keys, [&](Count j, Count n, Count at) {
      const T* const rest = in.rope_dim > 0 ? k_rope(j) : nullptr;
      dot_rows<T>(n, {mine, plain(), turned, in.rope_dim}, k(j), stride(in.k, j), rest, in.k_rope.token, to + at);
    });
  }
  /// Computes x' v for the values of these keys.
  void value_products(const Keys& keys, const W* x, W* to) const {
    each_stretch(keys, [&](Count j, Count n, Count at) { dot_rows(n, s.v_dim, x, v(j), stride(in.v, j), to + at); });
  }
  /// Adds the sum of c_j v_j.
  void add_values(const Keys& keys, const W* c, W* to) const {
    each_stretch(keys,
                 [&](Count j, Count n, Count at) { add_rows_times(n, s.v_dim, c + at, v(j), stride(in.v, j), to); });
  }

  /// Computes the scores of query i and these keys.
  void scores(Count i, const Keys& keys, W* to) const {
    products(i, keys, to);
    scale_row(keys.n, number<W>(in.scale), to, to);
    const W alibi = slope;
    const Count own = s.past() + i;
    const auto distance = [=](Count j) { return W(static_cast<Plain<W>>(std::abs(own - keys[j]))); };
    if (in.alibi) lanes<W>(0, keys.n, [=](Count j) { to[j] = to[j] - alibi * distance(j); });
    if (in.relative.numbers != nullptr)
      for (Count j = 0; j < keys.n; ++j) to[j] += relative(i, keys[j]);
    if (in.cap > 0) cap(keys.n, number<W>(in.cap), to);
  }
  W sink() const { return wide(static_cast<const T*>(in.sinks)[head]); }
};

/// FLOPs of a multiply-add for each of `width` elements of n query-key pairs.
inline Flops pair_flops(Count n, Count width) { return flops(2, n, width); }

template <typename T>
void write_out(const Aligned<Wide<T>>& from, T* to) {
  put_row(static_cast<Count>(from.size()), from.data(), to, false);
}

/// Number of query-key pairs of one sequence and head.
template <typename T>
Count seen_pairs(const Attention& s, const AttentionInputs& in) {
  std::vector<Count> room;
  const CoreHead<T> c(s, in, 0, 0);
  Count pairs = 0;
  for (Count i = 0; i < s.queries; ++i) pairs += c.keys(i, room).n;
  return pairs;
}

/// Draws the dropout factors of a row's elements at these keys.
template <typename W>
void throw_dice(const Dropout& drop, Count row, const Keys& keys, W* factor) {
  for_each_run(keys, [&](Count first, Count n, Count at) { throw_dice(drop, row + first, n, factor + at); });
}
/// Multiplies x by the dropout factors of a row's elements at these keys.
template <typename W>
void multiply_by_dice(const Dropout& drop, Count row, const Keys& keys, W* x) {
  for_each_run(keys, [&](Count first, Count n, Count at) { multiply_by_dice(drop, row + first, n, x + at); });
}

}  // namespace llmcalc::model::LLMCALC_ISA
