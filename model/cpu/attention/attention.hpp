#pragma once
/// o = softmax(q k' scale) v, causal unless the shape is bidirectional (Vaswani et al. 2017), in two versions: naive,
/// which forms and saves the scores, and flash (Dao et al. 2022, arXiv:2205.14135), which saves a log-sum-exp per row
/// and recomputes the scores in backward.

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "model/cpu/attention/scores.hpp"

namespace llmcalc::model::LLMCALC_ISA {

// ---- flash: computes only pairs that pass the mask or an indexer's selection

template <typename T>
Flops flash(const Attention& s, const AttentionInputs& in, const Dropout& drop, Wide<T>* log_sum_exp, T* o) {
  using W = Wide<T>;
  each<T>(s.sequences * s.heads * s.queries, s.keys * (s.qk_dim + s.v_dim), [&](Count r) {
    thread_local Aligned<W> p, out;
    thread_local std::vector<Count> room;
    const Count i = r % s.queries, h = r / s.queries % s.heads, b = r / s.queries / s.heads;
    const CoreHead<T> c(s, in, b, h);
    const Keys keys = c.keys(i, room);
    p.resize(static_cast<std::size_t>(keys.n));
    out.assign(static_cast<std::size_t>(s.v_dim), W(0));
    c.scores(i, keys, p.data());
    const W sink = in.sinks != nullptr ? c.sink() : W(0);
    const W lse = softmax(keys.n, p.data(), in.sinks != nullptr ? &sink : nullptr);
    if (log_sum_exp != nullptr) log_sum_exp[(b * s.queries + i) * s.heads + h] = lse;
    if (drop.p > 0) multiply_by_dice(drop, c.row(i), keys, p.data());
    c.add_values(keys, p.data(), out.data());
    write_out(out, o + ((b * s.queries + i) * s.heads + h) * s.v_dim);
  });
  return (s.sequences * s.heads) * pair_flops(seen_pairs<T>(s, in), s.qk_dim + s.v_dim);
}

/// Wide gradients of the keys and values of one sequence, summed over queries and heads.
template <typename T>
struct KeySums {
  using W = Wide<T>;
  Aligned<W> k, k_rope, v;
  Count plain, rope, width;
  KeySums(Count keys, const CoreHead<T>& c) : plain(c.plain()), rope(c.in.rope_dim), width(c.s.v_dim) {
    k.assign(static_cast<std::size_t>(keys * plain), W(0));
    k_rope.assign(static_cast<std::size_t>(keys * rope), W(0));
    v.assign(static_cast<std::size_t>(keys * width), W(0));
  }
};

/// Gradients of one row's query, and the row's contributions to the gradients of keys and values, from the row's
/// probabilities p before and after dropout and dp = do . v: ds = p (dp - sum p dp) scale. `keep`: the dropout
/// factors; `slope`: the derivative of the cap on the scores s, 1 - (s / cap)^2.
template <typename T>
struct RowGradient {
  using W = Wide<T>;
  Aligned<W> p, dropped, ds, keep, slope, dq, dq_rope, wide_q, wide_d;

  void resize(Count n, const CoreHead<T>& c) {
    const std::size_t size = static_cast<std::size_t>(n);
    p.resize(size);
    dropped.resize(size);
    ds.resize(size);
    keep.assign(size, W(1));
    dq.assign(static_cast<std::size_t>(c.plain()), W(0));
    dq_rope.assign(static_cast<std::size_t>(c.in.rope_dim), W(0));
  }
  /// Computes the slope from the capped scores in p.
  void find_slope(Count n, W most) {
    slope.resize(p.size());
    const W inverse = W(1) / most;
    lanes<W>(0, n, [=, s = p.data(), to = slope.data()](Count j) {
      const W share = s[j] * inverse;
      to[j] = W(1) - share * share;
    });
  }
  void multiply_by_slope(Count n) {
    lanes<W>(0, n, [=, from = slope.data(), to = ds.data()](Count j) { to[j] = to[j] * from[j]; });
  }
  /// Adds the gradients of q, k and relative positions from ds of these keys, and the gradient of v from their
  /// probabilities. d_o: wide.
  void spread(const CoreHead<T>& c, Count i, const Keys& keys, const W* d_o, KeySums<T>& sums, void* relative) {
    if (relative != nullptr)
      for (Count at = 0; at < keys.n; ++at)
        put(static_cast<T*>(relative) + (i * c.s.keys + keys[at]) * c.s.heads + c.head,
            ds[static_cast<std::size_t>(at)], true);
    W* const scaled = ds.data();
    scale_row(keys.n, number<W>(c.in.scale), scaled, scaled);
    const W* const q = widened(c.plain(), c.q(i), wide_q);
    c.each_stretch(keys, [&](Count j, Count n, Count at) {
      add_rows_times(n, c.plain(), scaled + at, c.k(j), c.stride(c.in.k, j), dq.data());
      add_to_rows(n, c.plain(), scaled + at, q, sums.k.data() + j * sums.plain);
      add_to_rows(n, sums.width, dropped.data() + at, d_o, sums.v.data() + j * sums.width);
    });
    if (sums.rope > 0) spread_rope(c, i, keys, sums);
  }
  void spread_rope(const CoreHead<T>& c, Count i, const Keys& keys, KeySums<T>& sums) {
    const W *const q = widened(sums.rope, c.q_rope(i), wide_q), *const scaled = ds.data();
    c.each_stretch(keys, [&](Count j, Count n, Count at) {
      add_rows_times(n, sums.rope, scaled + at, c.k_rope(j), c.in.k_rope.token, dq_rope.data());
      add_to_rows(n, sums.rope, scaled + at, q, sums.k_rope.data() + j * sums.rope);
    });
  }
};

/// Writes the gradient of keys that are also the values: the sum of both gradients.
template <typename T>
void write_shared_keys(const CoreHead<T>& c, const AttentionGradients& to, const KeySums<T>& sums) {
  for (Count j = 0; j < all_keys(c.s); ++j) {
    T* const k = j < c.s.keys ? at_mutable<T>(to.k, c.sequence, j, c.group)
                              : at_mutable<T>(to.pooled, c.sequence, j - c.s.keys, 0);
    for (Count i = 0; i < sums.width; ++i) {
      const auto at = static_cast<std::size_t>(j * sums.width + i);
      k[i] = static_cast<T>(sums.k[at] + sums.v[at]);
    }
  }
}

/// Writes or adds the gradients of one head's keys and values.
template <typename T>
void write_keys(const CoreHead<T>& c, const AttentionGradients& to, Count keys, const KeySums<T>& sums) {
  if (c.s.shared) return write_shared_keys(c, to, sums);
  for (Count j = 0; j < keys; ++j) {
    T *k = at_mutable<T>(to.k, c.sequence, j, c.group), *v = at_mutable<T>(to.v, c.sequence, j, c.group);
    put_row(sums.plain, sums.k.data() + j * sums.plain, k, to.add_keys);
    put_row(sums.width, sums.v.data() + j * sums.width, v, to.add_keys);
  }
}

/// Runs head(core, key sums) for every head of every sequence. The heads of one KV head share their sums, and all heads
/// share the rotary part. Sequences and KV heads are independent, except for relative positions, to which all sequences
/// add.
template <typename T, typename F>
void each_head_gradient(const Attention& s, const AttentionInputs& in, const AttentionGradients& to, const F& head) {
  using W = Wide<T>;
  const Count keys = s.keys, per_group = s.heads / s.kv_heads;
  const bool shared = in.rope_dim > 0;
  const Count parts = shared ? 1 : s.kv_heads, groups = s.kv_heads / parts;
  const auto run = [&](Count part) {
    const Count b = part / parts;
    Aligned<W> rope_sum;
    for (Count g = part % parts * groups; g < (part % parts + 1) * groups; ++g) {
      const CoreHead<T> first(s, in, b, g * per_group);
      KeySums<T> sums(all_keys(s), first);
      if (shared && !rope_sum.empty()) sums.k_rope.swap(rope_sum);
      for (Count h = g * per_group; h < (g + 1) * per_group; ++h) head(CoreHead<T>(s, in, b, h), sums);
      write_keys(first, to, keys, sums);
      rope_sum.swap(sums.k_rope);
    }
    if (!shared) return;
    for (Count j = 0; j < keys; ++j) {
      put_row(in.rope_dim, rope_sum.data() + j * in.rope_dim, at_mutable<T>(to.k_rope, b, j, 0), false);
    }
  };
  const Count at_once = to.relative != nullptr ? 1 : s.sequences;
  for (Count first = 0; first < s.sequences; first += at_once)
    each<T>(at_once * parts, keys * keys * s.qk_dim, [&](Count part) { run(first * parts + part); });
}

/// Writes the gradients of one query.
template <typename T>
void write_query(const CoreHead<T>& c, const AttentionGradients& to, Count i, const RowGradient<T>& r) {
  write_out(r.dq, at_mutable<T>(to.q, c.sequence, i, c.head));
  if (c.in.rope_dim > 0) write_out(r.dq_rope, at_mutable<T>(to.q_rope, c.sequence, i, c.head));
}

template <typename T>
Flops flash_gradient(const Attention& s, const AttentionInputs& in, const Dropout& drop, const Wide<T>* log_sum_exp,
                     const T* o, const T* d_o, const AttentionGradients& to) {
  using W = Wide<T>;
  Aligned<W> sink_rows(in.sinks != nullptr ? static_cast<std::size_t>(s.rows() * s.heads) : 0);
  each_head_gradient<T>(s, in, to, [&](const CoreHead<T>& c, KeySums<T>& sums) {
    thread_local RowGradient<T> r;
    thread_local std::vector<Count> room;
    for (Count i = 0; i < s.queries; ++i) {
      const Keys keys = c.keys(i, room);
      const Count n = keys.n, row = (c.sequence * s.queries + i) * s.heads + c.head;
      const T *mine = o + row * s.v_dim, *d = d_o + row * s.v_dim;
      r.resize(n, c);
      c.scores(i, keys, r.p.data());
      if (in.cap > 0) r.find_slope(n, number<W>(in.cap));
      exponential_row(n, r.p.data(), log_sum_exp[row], W(1), r.p.data());
      if (drop.p > 0) throw_dice(drop, c.row(i), keys, r.keep.data());
      const W* const wide_d = widened(s.v_dim, d, r.wide_d);
      c.value_products(keys, wide_d, r.ds.data());
      W *ds = r.ds.data(), *dropped = r.dropped.data();
      const W *p = r.p.data(), *keep = r.keep.data();
      // Sum p dp = o . do, except with shared keys: there, o has been rotated since. The gradient of a sink, a score
      // with a zero value vector, is -p_sink times this sum.
      const W mean =
          s.shared ? sum_of<W>(n, [=](Count j) { return p[j] * keep[j] * ds[j]; }) : row_product(s.v_dim, mine, d);
      score_gradients(n, p, keep, mean, ds, dropped);
      if (in.cap > 0) r.multiply_by_slope(n);
      r.spread(c, i, keys, wide_d, sums, to.relative);
      if (in.sinks != nullptr) sink_rows[static_cast<std::size_t>(row)] = -exp_of(c.sink() - log_sum_exp[row]) * mean;
      write_query(c, to, i, r);
    }
  });
  for (std::size_t i = 0; i < sink_rows.size(); ++i)
    static_cast<W*>(to.sinks)[i % static_cast<std::size_t>(s.heads)] += sink_rows[i];
  // Elements per pair: qk each for recomputed scores, dq and dk; v each for dp and dv.
  return (s.sequences * s.heads) * pair_flops(seen_pairs<T>(s, in), 3 * s.qk_dim + 2 * s.v_dim);
}

// ---- naive: every pair; masked scores are computed and discarded

/// Writes x to `to` in the stored format, and rounds x itself to that format.
template <typename T>
void round_to(Count first, Count last, Wide<T>* x, T* to) {
  put_row(last - first, x + first, to + first, false);
  if constexpr (!std::is_same_v<T, Wide<T>>) widen(last - first, to + first, x + first);
}

/// Number of complete groups of tokens. Queries may see only the keys of complete groups.
inline Count whole_groups(const Attention& s) { return s.pooled > 0 ? s.keys / s.pooled : 0; }

template <typename T>
Flops naive(const Attention& s, const AttentionInputs& in, const Dropout& drop, const AttentionSaved& saved, T* o) {
  using W = Wide<T>;
  const Count keys = s.keys;
  const NaiveSaved<T> k(saved);
  each<T>(s.sequences * s.heads * s.queries, keys * (s.qk_dim + s.v_dim), [&](Count r) {
    thread_local Aligned<W> p, few, out, factor;
    thread_local std::vector<Count> room;
    const Count i = r % s.queries, h = r / s.queries % s.heads, b = r / s.queries / s.heads;
    const CoreHead<T> c(s, in, b, h);
    const Keys seen = c.keys(i, room), done = s.queries > 1
                                                  ? Keys{.n = keys + whole_groups(s)}
                                                  : seen;  // with a single query, keys that it does not see are skipped
    const Count row = c.row(i), low = done[0], high = done[done.n - 1] + 1;
    p.resize(static_cast<std::size_t>(all_keys(s)));
    few.resize(static_cast<std::size_t>(done.n));
    out.assign(static_cast<std::size_t>(s.v_dim), W(0));
    c.scores(i, done, few.data());
    W *x = p.data(), *y = few.data();
    if (k.scores != nullptr)
      for (Count j = 0; j < done.n; ++j) k.scores[row + done[j]] = static_cast<T>(y[j]);
    if (s.queries > 1)
      for (Count j = 0; j < seen.n; ++j) y[j] = y[seen[j]];  // ascending: no element is read after it is written
    const W sink = in.sinks != nullptr ? c.sink() : W(0);
    softmax(seen.n, y, in.sinks != nullptr ? &sink : nullptr);
    std::fill(x + low, x + high, W(0));
    for (Count j = 0; j < seen.n; ++j) x[seen[j]] = y[j];
    round_to(low, high, x, k.probabilities + row);
    if (drop.p > 0) {
      factor.resize(p.size());
      throw_dice(drop, row + low, high - low, factor.data() + low);
      lanes<W>(low, high, [=, f = factor.data()](Count j) { x[j] = x[j] * f[j]; });
      if (k.mask != nullptr) {
        round_to(low, high, x, k.dropped + row);
        lanes<W>(low, high, [=, f = factor.data(), to = k.mask + row](Count j) { to[j] = f[j] > W(0); });
      }
    }
    for (Count j = 0; j < done.n; ++j) y[j] = x[done[j]];
    c.add_values(done, y, out.data());
    write_out(out, o + ((b * s.queries + i) * s.heads + h) * s.v_dim);
  });
  const Count pairs = s.queries > 1 ? mul(s.queries, keys + whole_groups(s)) : seen_pairs<T>(s, in);
  return (s.sequences * s.heads) * pair_flops(pairs, s.qk_dim + s.v_dim);
}

template <typename T>
Flops naive_gradient(const Attention& s, const AttentionInputs& in, const Dropout& drop, const AttentionSaved& saved,
                     const T* d_o, T* scratch, const AttentionGradients& to) {
  using W = Wide<T>;
  const Count keys = s.keys + whole_groups(s);
  const NaiveSaved<T> k(saved);
  Aligned<W> sink_rows(in.sinks != nullptr ? static_cast<std::size_t>(s.rows() * s.heads) : 0);
  each_head_gradient<T>(s, in, to, [&](const CoreHead<T>& c, KeySums<T>& sums) {
    thread_local RowGradient<T> r;
    for (Count i = 0; i < s.queries; ++i) {
      const Count row = c.row(i), out_row = (c.sequence * s.queries + i) * s.heads + c.head;
      const T* d = d_o + out_row * s.v_dim;
      r.resize(keys, c);
      const W* const wide_d = widened(s.v_dim, d, r.wide_d);
      c.value_products({.n = keys}, wide_d, r.ds.data());
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
      round_to(0, keys, ds, scratch + row);  // replaces dp
      r.spread(c, i, {.n = keys}, wide_d, sums, to.relative);
      if (in.sinks != nullptr) sink_rows[static_cast<std::size_t>(out_row)] = -(W(1) - total) * mean;
      write_query(c, to, i, r);
    }
  });
  for (std::size_t i = 0; i < sink_rows.size(); ++i)
    static_cast<W*>(to.sinks)[i % static_cast<std::size_t>(s.heads)] += sink_rows[i];
  return (s.sequences * s.heads * s.queries) * pair_flops(keys, 2 * (s.qk_dim + s.v_dim));
}

}  // namespace llmcalc::model::LLMCALC_ISA
