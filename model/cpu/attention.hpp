#pragma once
/// o = softmax(q k' scale) v, causal unless the shape is bidirectional (Vaswani et al. 2017): naive, which forms and
/// keeps the scores, and flash (Dao et al. 2022, arXiv:2205.14135), which keeps a log-sum-exp per row and recomputes
/// the scores in backward.

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "model/backend.hpp"
#include "model/cpu/aligned.hpp"
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
  Count last(Count i) const { return s.bidirectional ? s.keys : s.past() + i + 1; }
  Count first(Count i) const { return s.bidirectional ? 0 : s.reach.first(s.past() + i); }
  /// Pooled keys that query i sees: the first ones.
  Count seen(Count i) const { return s.pooled_seen(s.past() + i); }
  /// Key number `at` of the n in reach, from `first` on, and of the pooled ones behind them.
  Count key(Count first, Count n, Count at) const { return at < n ? first + at : s.keys + at - n; }
  /// Index of query i's first score among those of all heads and sequences: the start of its dropout mask.
  Count row(Count i) const { return ((sequence * s.heads + head) * s.queries + i) * all_keys(s); }

  /// Scores of query i with keys [first, first + n).
  void scores(Count i, Count first, Count n, W* to) const {
    for (Count j = 0; j < n; ++j) {
      Dot<W> score;
      score.add(plain(), q(i), k(first + j));
      if (in.rope_dim > 0) score.add(in.rope_dim, q_rope(i), k_rope(first + j));
      to[j] = score.total();
    }
    const W scale = number<W>(in.scale), alibi = slope;
    const Count distance = s.past() + i - first;
    if (in.alibi)
      lanes<W>(0, n,
               [=](Count j) { to[j] = to[j] * scale - alibi * W(static_cast<Plain<W>>(std::abs(distance - j))); });
    else
      lanes<W>(0, n, [=](Count j) { to[j] = to[j] * scale; });
    if (in.cap > 0) cap(n, number<W>(in.cap), to);
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

// ---- flash: only the pairs that the mask leaves

template <typename T>
Flops flash(const Attention& s, const AttentionInputs& in, const Dropout& drop, Wide<T>* log_sum_exp, T* o) {
  using W = Wide<T>;
  const Count keys = s.keys;
  Count pairs = 0;
  for (Count i = 0; i < s.queries; ++i) {
    const Core<T> c(s, in, 0, 0);
    pairs += c.last(i) - c.first(i) + c.seen(i);
  }
  each<T>(s.sequences * s.heads * s.queries, keys * (s.qk_dim + s.v_dim), [&](Count r) {
    thread_local Aligned<W> p, out;
    const Count i = r % s.queries, h = r / s.queries % s.heads, b = r / s.queries / s.heads;
    const Core<T> c(s, in, b, h);
    const Count first = c.first(i), n = c.last(i) - first, more = c.seen(i);
    p.resize(static_cast<std::size_t>(n + more));
    out.assign(static_cast<std::size_t>(s.v_dim), W(0));
    c.scores(i, first, n, p.data());
    c.scores(i, s.keys, more, p.data() + n);
    const W sink = in.sinks != nullptr ? c.sink() : W(0);
    const W lse = softmax(n + more, p.data(), in.sinks != nullptr ? &sink : nullptr);
    if (log_sum_exp != nullptr) log_sum_exp[(b * s.queries + i) * s.heads + h] = lse;
    if (drop.p > 0) multiply_by_dice(drop, c.row(i) + first, n, p.data());
    if (drop.p > 0 && more > 0) multiply_by_dice(drop, c.row(i) + s.keys, more, p.data() + n);
    for (Count j = 0; j < n + more; ++j)
      axpy(s.v_dim, p[static_cast<std::size_t>(j)], c.v(c.key(first, n, j)), out.data());
    write_out(out, o + ((b * s.queries + i) * s.heads + h) * s.v_dim);
  });
  return (s.sequences * s.heads) * pair_flops(pairs, s.qk_dim + s.v_dim);
}

/// Wide gradients of the keys and values of one sequence, added up over queries and heads.
template <typename T>
struct KeySums {
  using W = Wide<T>;
  Aligned<W> k, k_rope, v;
  Count plain, rope, width;
  KeySums(Count keys, const Core<T>& c) : plain(c.plain()), rope(c.in.rope_dim), width(c.s.v_dim) {
    k.assign(static_cast<std::size_t>(keys * plain), W(0));
    k_rope.assign(static_cast<std::size_t>(keys * rope), W(0));
    v.assign(static_cast<std::size_t>(keys * width), W(0));
  }
};

/// Gradients of one row's query, and its share of the keys' and values', from the row's probabilities p before and
/// after dropout and dp = do . v: ds = p (dp - sum p dp) scale; `keep`: the dropout factors.
template <typename T>
struct RowGradient {
  using W = Wide<T>;
  Aligned<W> p, dropped, ds, keep, dq, dq_rope;

  void resize(Count n, const Core<T>& c) {
    const std::size_t size = static_cast<std::size_t>(n);
    p.resize(size);
    dropped.resize(size);
    ds.resize(size);
    keep.assign(size, W(1));
    dq.assign(static_cast<std::size_t>(c.plain()), W(0));
    dq_rope.assign(static_cast<std::size_t>(c.in.rope_dim), W(0));
  }
  /// Propagates ds of keys [first, first + n) and of `more` pooled ones to q and k, and their p to v.
  void spread(const Core<T>& c, Count i, Count first, Count n, Count more, const T* d_o, KeySums<T>& sums) {
    const W scale = number<W>(c.in.scale);
    for (Count at = 0; at < n + more; ++at) {
      const Count j = c.key(first, n, at);
      const W scaled = ds[static_cast<std::size_t>(at)] * scale;
      axpy(c.plain(), scaled, c.k(j), dq.data());
      axpy(c.plain(), scaled, c.q(i), sums.k.data() + j * sums.plain);
      if (sums.rope > 0) {
        axpy(sums.rope, scaled, c.k_rope(j), dq_rope.data());
        axpy(sums.rope, scaled, c.q_rope(i), sums.k_rope.data() + j * sums.rope);
      }
      axpy(sums.width, dropped[static_cast<std::size_t>(at)], d_o, sums.v.data() + j * sums.width);
    }
  }
};

/// The gradient of keys that are the values, too: the sum of both.
template <typename T>
void write_shared_keys(const Core<T>& c, const AttentionGradients& to, const KeySums<T>& sums) {
  for (Count j = 0; j < all_keys(c.s); ++j) {
    T* const k = j < c.s.keys ? at_mutable<T>(to.k, c.sequence, j, c.group)
                              : at_mutable<T>(to.pooled, c.sequence, j - c.s.keys, 0);
    for (Count i = 0; i < sums.width; ++i) {
      const auto at = static_cast<std::size_t>(j * sums.width + i);
      k[i] = static_cast<T>(sums.k[at] + sums.v[at]);
    }
  }
}

/// The gradients of one head's keys and values: written or added.
template <typename T>
void write_keys(const Core<T>& c, const AttentionGradients& to, Count keys, const KeySums<T>& sums) {
  if (c.s.shared) return write_shared_keys(c, to, sums);
  for (Count j = 0; j < keys; ++j) {
    T *k = at_mutable<T>(to.k, c.sequence, j, c.group), *v = at_mutable<T>(to.v, c.sequence, j, c.group);
    for (Count i = 0; i < sums.plain; ++i)
      put(k + i, sums.k[static_cast<std::size_t>(j * sums.plain + i)], to.add_keys);
    for (Count i = 0; i < sums.width; ++i)
      put(v + i, sums.v[static_cast<std::size_t>(j * sums.width + i)], to.add_keys);
  }
}

/// Runs head(core, key sums) for every head of every sequence; the heads of one KV head share their sums, and so do all
/// heads the rotary part. Sequences and KV heads are independent.
template <typename T, typename F>
void each_head_gradient(const Attention& s, const AttentionInputs& in, const AttentionGradients& to, const F& head) {
  using W = Wide<T>;
  const Count keys = s.keys, per_group = s.heads / s.kv_heads;
  const bool shared = in.rope_dim > 0;
  const Count parts = shared ? 1 : s.kv_heads, groups = s.kv_heads / parts;
  each<T>(s.sequences * parts, keys * keys * s.qk_dim, [&](Count part) {
    const Count b = part / parts;
    Aligned<W> rope_sum;
    for (Count g = part % parts * groups; g < (part % parts + 1) * groups; ++g) {
      const Core<T> first(s, in, b, g * per_group);
      KeySums<T> sums(all_keys(s), first);
      if (shared && !rope_sum.empty()) sums.k_rope.swap(rope_sum);
      for (Count h = g * per_group; h < (g + 1) * per_group; ++h) head(Core<T>(s, in, b, h), sums);
      write_keys(first, to, keys, sums);
      rope_sum.swap(sums.k_rope);
    }
    if (!shared) return;
    for (Count j = 0; j < keys; ++j) {
      T* k = at_mutable<T>(to.k_rope, b, j, 0);
      for (Count i = 0; i < in.rope_dim; ++i)
        k[i] = static_cast<T>(rope_sum[static_cast<std::size_t>(j * in.rope_dim + i)]);
    }
  });
}

/// The sink's gradient, that of a score whose value vector is zero: -p_sink (o . do) per row.
template <typename T>
void write_query(const Core<T>& c, const AttentionGradients& to, Count i, const RowGradient<T>& r) {
  write_out(r.dq, at_mutable<T>(to.q, c.sequence, i, c.head));
  if (c.in.rope_dim > 0) write_out(r.dq_rope, at_mutable<T>(to.q_rope, c.sequence, i, c.head));
}

template <typename T>
Flops flash_gradient(const Attention& s, const AttentionInputs& in, const Dropout& drop, const Wide<T>* log_sum_exp,
                     const T* o, const T* d_o, const AttentionGradients& to) {
  using W = Wide<T>;
  Count pairs = 0;
  Aligned<W> sink_rows(in.sinks != nullptr ? static_cast<std::size_t>(s.rows() * s.heads) : 0);
  for (Count i = 0; i < s.queries; ++i) {
    const Core<T> c(s, in, 0, 0);
    pairs += c.last(i) - c.first(i) + c.seen(i);
  }
  each_head_gradient<T>(s, in, to, [&](const Core<T>& c, KeySums<T>& sums) {
    thread_local RowGradient<T> r;
    for (Count i = 0; i < s.queries; ++i) {
      const Count first = c.first(i), n = c.last(i) - first, more = c.seen(i), all = n + more,
                  row = (c.sequence * s.queries + i) * s.heads + c.head;
      const T *mine = o + row * s.v_dim, *d = d_o + row * s.v_dim;
      r.resize(all, c);
      c.scores(i, first, n, r.p.data());
      c.scores(i, s.keys, more, r.p.data() + n);
      exponentials(all, log_sum_exp[row], r.p.data());
      if (drop.p > 0) throw_dice(drop, c.row(i) + first, n, r.keep.data());
      if (drop.p > 0 && more > 0) throw_dice(drop, c.row(i) + s.keys, more, r.keep.data() + n);
      for (Count j = 0; j < all; ++j) r.ds[static_cast<std::size_t>(j)] = dot(s.v_dim, d, c.v(c.key(first, n, j)));
      W *ds = r.ds.data(), *dropped = r.dropped.data();
      const W *p = r.p.data(), *keep = r.keep.data();
      // Sum p dp = o . do; an output of shared keys has been rotated since.
      const W mean = s.shared ? sum_of<W>(all, [=](Count j) { return p[j] * keep[j] * ds[j]; })
                              : sum_of<W>(s.v_dim, [=](Count k) { return wide(mine[k]) * wide(d[k]); });
      lanes<W>(0, all, [=](Count j) { ds[j] = p[j] * (ds[j] * keep[j] - mean), dropped[j] = p[j] * keep[j]; });
      r.spread(c, i, first, n, more, d, sums);
      if (in.sinks != nullptr) sink_rows[static_cast<std::size_t>(row)] = -exp_of(c.sink() - log_sum_exp[row]) * mean;
      write_query(c, to, i, r);
    }
  });
  for (std::size_t i = 0; i < sink_rows.size(); ++i)
    static_cast<W*>(to.sinks)[i % static_cast<std::size_t>(s.heads)] += sink_rows[i];
  // Scores again (qk), dp and dv (v each), dq and dk (qk each).
  return (s.sequences * s.heads) * pair_flops(pairs, 3 * s.qk_dim + 2 * s.v_dim);
}

// ---- naive: every pair; masked scores are computed and discarded

/// Rounds x to the stored format and stores it.
template <typename T>
void round_to(Count first, Count last, Wide<T>* x, T* to) {
  lanes<Wide<T>>(first, last, [=](Count j) { to[j] = static_cast<T>(x[j]), x[j] = wide(to[j]); });
}

/// Groups of tokens that are whole, whose keys queries may see.
inline Count whole_groups(const Attention& s) { return s.pooled > 0 ? s.keys / s.pooled : 0; }

template <typename T>
Flops naive(const Attention& s, const AttentionInputs& in, const Dropout& drop, const AttentionKept& kept, T* o) {
  using W = Wide<T>;
  const Count keys = s.keys;
  const NaiveKept<T> k(kept);
  each<T>(s.sequences * s.heads * s.queries, keys * (s.qk_dim + s.v_dim), [&](Count r) {
    thread_local Aligned<W> p, visible, out, factor;
    const Count i = r % s.queries, h = r / s.queries % s.heads, b = r / s.queries / s.heads;
    const Core<T> c(s, in, b, h);
    const Count first = c.first(i), n = c.last(i) - first, more = c.seen(i), row = c.row(i);
    p.assign(static_cast<std::size_t>(all_keys(s)), W(0));
    factor.assign(p.size(), W(1));
    visible.resize(static_cast<std::size_t>(n + more));
    out.assign(static_cast<std::size_t>(s.v_dim), W(0));
    W* x = p.data();
    // A single query skips the keys that it does not see.
    const bool every = s.queries > 1;
    const std::array parts{std::pair{every ? 0 : first, every ? keys : first + n},
                           std::pair{keys, keys + (every ? whole_groups(s) : more)}};
    for (const auto& [low, high] : parts) {
      c.scores(i, low, high - low, x + low);
      if (k.scores != nullptr) lanes<W>(low, high, [=, to = k.scores + row](Count j) { to[j] = static_cast<T>(x[j]); });
    }
    for (Count j = 0; j < n + more; ++j) visible[static_cast<std::size_t>(j)] = x[c.key(first, n, j)];
    const W sink = in.sinks != nullptr ? c.sink() : W(0);
    softmax(n + more, visible.data(), in.sinks != nullptr ? &sink : nullptr);
    std::fill(p.begin(), p.end(), W(0));
    for (Count j = 0; j < n + more; ++j) x[c.key(first, n, j)] = visible[static_cast<std::size_t>(j)];
    for (const auto& [low, high] : parts) {
      round_to(low, high, x, k.probabilities + row);
      if (drop.p > 0 && high > low) {
        throw_dice(drop, row + low, high - low, factor.data() + low);
        lanes<W>(low, high, [=, f = factor.data()](Count j) { x[j] = x[j] * f[j]; });
        if (k.mask != nullptr) {
          round_to(low, high, x, k.dropped + row);
          lanes<W>(low, high, [=, f = factor.data(), to = k.mask + row](Count j) { to[j] = f[j] > W(0); });
        }
      }
      for (Count j = low; j < high; ++j) axpy(s.v_dim, x[j], c.v(j), out.data());
    }
    write_out(out, o + ((b * s.queries + i) * s.heads + h) * s.v_dim);
  });
  const Count pairs =
      s.queries > 1 ? keys + whole_groups(s) : s.reach.seen(keys - 1) + (s.pooled > 0 ? s.pooled_seen(keys - 1) : 0);
  return (s.sequences * s.heads * s.queries) * pair_flops(pairs, s.qk_dim + s.v_dim);
}

template <typename T>
Flops naive_gradient(const Attention& s, const AttentionInputs& in, const Dropout& drop, const AttentionKept& kept,
                     const T* d_o, T* scratch, const AttentionGradients& to) {
  using W = Wide<T>;
  const Count keys = s.keys + whole_groups(s);
  const NaiveKept<T> k(kept);
  Aligned<W> sink_rows(in.sinks != nullptr ? static_cast<std::size_t>(s.rows() * s.heads) : 0);
  each_head_gradient<T>(s, in, to, [&](const Core<T>& c, KeySums<T>& sums) {
    thread_local RowGradient<T> r;
    for (Count i = 0; i < s.queries; ++i) {
      const Count row = c.row(i), out_row = (c.sequence * s.queries + i) * s.heads + c.head;
      const T* d = d_o + out_row * s.v_dim;
      r.resize(keys, c);
      for (Count j = 0; j < keys; ++j) r.ds[static_cast<std::size_t>(j)] = dot(s.v_dim, d, c.v(j));
      W *ds = r.ds.data(), *dropped = r.dropped.data();
      const T *p = k.probabilities + row, *after = k.dropped != nullptr ? k.dropped + row : p;
      if (k.mask != nullptr)
        lanes<W>(0, keys, [=, keep = number<W>(1 / (1 - drop.p)), stays = k.mask + row](Count j) {
          ds[j] = ds[j] * (stays[j] != 0 ? keep : W(0));
        });
      round_to(0, keys, ds, scratch + row);
      const W mean = sum_of<W>(keys, [=](Count j) { return wide(p[j]) * ds[j]; });
      const W total = sum_of<W>(keys, [=](Count j) { return wide(p[j]); });
      lanes<W>(0, keys, [=](Count j) { ds[j] = wide(p[j]) * (ds[j] - mean), dropped[j] = wide(after[j]); });
      round_to(0, keys, ds, scratch + row);  // in place of dp
      r.spread(c, i, 0, keys, 0, d, sums);
      if (in.sinks != nullptr) sink_rows[static_cast<std::size_t>(out_row)] = -(W(1) - total) * mean;
      write_query(c, to, i, r);
    }
  });
  for (std::size_t i = 0; i < sink_rows.size(); ++i)
    static_cast<W*>(to.sinks)[i % static_cast<std::size_t>(s.heads)] += sink_rows[i];
  return (s.sequences * s.heads * s.queries) * pair_flops(keys, 2 * (s.qk_dim + s.v_dim));
}

}  // namespace llmcalc::model::LLMCALC_ISA
