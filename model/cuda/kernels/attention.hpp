#pragma once
/// Attention on a GPU, for any shape: flash and naive, forward and backward, with one block per query or per key.
/// Scores are computed by multiply-adds of single threads; model/cuda/fast has faster kernels on tensor cores.

#include <cmath>
#include <limits>

#include "model/backend.hpp"
#include "model/cuda/thread.hpp"
#include "model/math/alibi.hpp"
#include "model/random.hpp"

namespace llmcalc::model::cuda {

/// The dropout factor of element n.
LLMCALC_HD inline float dice(const Dropout& d, Count n) {
  const std::uint64_t key = d.moved != nullptr ? *d.moved : d.key;
  const RandomWords r = philox(random_key(key), random_counter(static_cast<std::uint64_t>(n) / 4));
  const auto at = static_cast<unsigned>(n) % 4;  // selected, not indexed: an indexed array cannot be in registers
  const std::uint32_t low = at == 0 ? r.word[0] : r.word[1], high = at == 2 ? r.word[2] : r.word[3];
  return unit_float(at < 2 ? low : high) >= static_cast<float>(d.p) ? static_cast<float>(1 / (1 - d.p)) : 0.0f;
}

/// The queries, keys and scores of one attention operator.
template <typename T>
struct Scores {
  Attention s;
  AttentionInputs in;
  Dropout drop;
  const Count* moved = nullptr;  ///< address of the number of past tokens, in a recording

  LLMCALC_HD Count past() const { return moved != nullptr ? *moved : s.past(); }
  LLMCALC_HD Count keys() const { return past() + s.queries; }
  LLMCALC_HD Count plain() const { return s.qk_dim - in.rope_dim; }
  LLMCALC_HD Count group(Count h) const { return h / (s.heads / s.kv_heads); }
  /// Address of element 0 of head h of token t of sequence b.
  LLMCALC_HD static T* at(const HeadView& v, Count b, Count t, Count h) {
    const Count slot = v.capacity > 0 ? t % v.capacity : t;
    return const_cast<T*>(static_cast<const T*>(v.data)) + b * v.sequence + slot * v.token + h * v.head;
  }
  /// The keys that query i sees: [first, last).
  LLMCALC_HD Count last(Count i) const { return past() + i + 1; }
  LLMCALC_HD Count first(Count i) const { return s.reach.first(last(i) - 1); }
  /// Index of query i's first score in the scores of all heads and sequences.
  LLMCALC_HD Count row(Count b, Count h, Count i) const { return ((b * s.heads + h) * s.queries + i) * keys(); }
  /// The query of block n, counted in the order (sequences, heads, queries).
  struct Row {
    Count b, h, i;
  };
  LLMCALC_HD Row row_of(Count n) const { return {n / s.queries / s.heads, n / s.queries % s.heads, n % s.queries}; }
  /// The query's index in (sequences, queries, heads).
  LLMCALC_HD Count place(Count b, Count h, Count i) const { return (b * s.queries + i) * s.heads + h; }
  LLMCALC_HD static float dot(Count n, const T* a, const T* b) {
    float sum = 0;
    for (Count i = 0; i < n; ++i) sum += wide(a[i]) * wide(b[i]);
    return sum;
  }
  LLMCALC_HD float score(Count b, Count h, Count i, Count j) const {
    const Count g = group(h);
    float x = dot(plain(), at(in.q, b, i, h), at(in.k, b, j, g));
    if (in.rope_dim > 0) x += dot(in.rope_dim, at(in.q_rope, b, i, h), at(in.k_rope, b, j, g));
    x *= static_cast<float>(in.scale);
    return in.alibi ? x - static_cast<float>(alibi_slope(s.heads, h)) * static_cast<float>(last(i) - 1 - j) : x;
  }
  LLMCALC_HD float sink(Count h) const { return wide(static_cast<const T*>(in.sinks)[h]); }
};

/// Computes a row of probabilities in tiles of a block's size, with online correction of maximum and sum (Milakov,
/// Gimelshein 2018, arXiv:1805.02867).
struct Softmax {
  float most = -std::numeric_limits<float>::infinity(), total = 0;

  /// Adds a tile's scores. Returns e^(x - most), and in `shrink` the factor for earlier sums.
  template <typename Thread>
  LLMCALC_HD float take(const Thread& t, float x, bool there, float* room, float& shrink) {
    const float tile = block_most(t, there ? x : -std::numeric_limits<float>::infinity(), room);
    const float next = tile > most ? tile : most;
    shrink = most == next ? 1.0f : exp_of(most - next);  // both may be -infinity before the first score
    const float e = there ? exp_of(x - next) : 0.0f;
    total = total * shrink + block_sum(t, e, room);
    most = next;
    return e;
  }
  /// Adds a sink, which is a score without a value.
  LLMCALC_HD void take_sink(float sink, float& shrink) {
    const float next = sink > most ? sink : most;
    shrink = exp_of(most - next);
    total = total * shrink + exp_of(sink - next);
    most = next;
  }
  LLMCALC_HD float log_sum_exp() const { return most + log_of(total); }
};

/// Flash (Dao et al. 2022, arXiv:2205.14135): a block per query and head. Shared memory: warps + block + v_dim
/// elements.
template <typename T>
struct FlashForward {
  Scores<T> c;
  float* log_sum_exp;
  T* o;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Attention& s = c.s;
    const auto at = c.row_of(t.block());
    const Count b = at.b, h = at.h, i = at.i;
    float *const room = reinterpret_cast<float*>(t.room()), *const p = room + warp, *const out = p + t.size();
    in_block(t, s.v_dim, [&](Count d) { out[d] = 0; });
    Softmax row;
    float shrink = 1;
    for (Count tile = c.first(i); tile < c.last(i); tile += t.size()) {
      const Count j = tile + t.index(), n = c.last(i) - tile < t.size() ? c.last(i) - tile : t.size();
      const bool there = j < c.last(i);
      const float e = row.take(t, there ? c.score(b, h, i, j) : 0.0f, there, room, shrink);
      p[t.index()] = c.drop.p > 0 && there ? e * dice(c.drop, c.row(b, h, i) + j) : e;
      t.sync();
      in_block(t, s.v_dim, [&](Count d) {
        float sum = out[d] * shrink;
        for (Count k = 0; k < n; ++k) sum += p[k] * wide(c.at(c.in.v, b, tile + k, c.group(h))[d]);
        out[d] = sum;
      });  // take() has barriers before the next write of p
    }
    shrink = 1;
    if (c.in.sinks != nullptr) row.take_sink(c.sink(h), shrink);
    const Count place = c.place(b, h, i);
    in_block(t, s.v_dim, [&](Count d) { o[place * s.v_dim + d] = static_cast<T>(out[d] * shrink / row.total); });
    if (log_sum_exp != nullptr && t.index() == 0) log_sum_exp[place] = row.log_sum_exp();
  }
};

/// o . do of every query and head, and the gradient of its sink, -p_sink (o . do). A block per row.
template <typename T>
struct FlashDelta {
  Scores<T> c;
  const float* log_sum_exp;
  const T *o, *d_o;
  float *delta, *sink_rows;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Count r = t.block();
    float sum = 0;
    in_block(t, c.s.v_dim, [&](Count d) { sum += wide(o[r * c.s.v_dim + d]) * wide(d_o[r * c.s.v_dim + d]); });
    sum = block_sum(t, sum, reinterpret_cast<float*>(t.room()));
    if (t.index() != 0) return;
    delta[r] = sum;
    if (c.in.sinks != nullptr) sink_rows[r] = -exp_of(c.sink(r % c.s.heads) - log_sum_exp[r]) * sum;
  }
};

/// Factors of one query-key pair's gradients: `value` * do is added to the gradient of v, `score` * k to the gradient
/// of q, and `score` * q to the gradient of k.
struct PairGradient {
  float value, score;
};

/// Computes the factors from the log-sum-exp, for unmasked pairs only.
template <typename T>
struct FlashPairs {
  Scores<T> c;
  const float *log_sum_exp, *delta;
  const T* d_o;

  LLMCALC_HD Count first_key(Count i) const { return c.first(i); }
  LLMCALC_HD Count last_key(Count i) const { return c.last(i); }
  LLMCALC_HD Count first_query(Count j) const { return j > c.s.past() ? j - c.s.past() : 0; }
  LLMCALC_HD Count last_query(Count j) const { return c.s.reach.end(j, c.s.keys) - c.s.past(); }
  LLMCALC_HD PairGradient of(Count b, Count h, Count i, Count j) const {
    const Count place = c.place(b, h, i);
    const float p = exp_of(c.score(b, h, i, j) - log_sum_exp[place]);
    const float keep = c.drop.p > 0 ? dice(c.drop, c.row(b, h, i) + j) : 1.0f;
    const float dp = Scores<T>::dot(c.s.v_dim, d_o + place * c.s.v_dim, c.at(c.in.v, b, j, c.group(h)));
    return {p * keep, p * (dp * keep - delta[place]) * static_cast<float>(c.in.scale)};
  }
};

/// Reads the factors from the tensors that naive attention saved, for every pair.
template <typename T>
struct NaivePairs {
  Scores<T> c;
  const T *value, *score;  ///< probabilities after dropout; gradients of the scores

  LLMCALC_HD Count first_key(Count) const { return 0; }
  LLMCALC_HD Count last_key(Count) const { return c.keys(); }
  LLMCALC_HD Count first_query(Count) const { return 0; }
  LLMCALC_HD Count last_query(Count) const { return c.s.queries; }
  LLMCALC_HD PairGradient of(Count b, Count h, Count i, Count j) const {
    const Count at = c.row(b, h, i) + j;
    return {wide(value[at]), wide(score[at]) * static_cast<float>(c.in.scale)};
  }
};

/// Computes dq, in one block per query and head. Shared memory: block + qk_dim elements.
template <typename T, typename Pairs>
struct QueryGradient {
  Pairs pairs;
  AttentionGradients to;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Scores<T>& c = pairs.c;
    const Attention& s = c.s;
    const auto at = c.row_of(t.block());
    const Count b = at.b, h = at.h, i = at.i;
    float *const ds = reinterpret_cast<float*>(t.room()), *const sum = ds + t.size();
    in_block(t, s.qk_dim, [&](Count d) { sum[d] = 0; });
    for (Count tile = pairs.first_key(i); tile < pairs.last_key(i); tile += t.size()) {
      const Count j = tile + t.index(), left = pairs.last_key(i) - tile, n = left < t.size() ? left : t.size();
      t.sync();
      if (j < pairs.last_key(i)) ds[t.index()] = pairs.of(b, h, i, j).score;
      t.sync();
      in_block(t, s.qk_dim, [&](Count d) {
        for (Count k = 0; k < n; ++k) sum[d] += ds[k] * key(b, tile + k, c.group(h), d);
      });
    }
    t.sync();
    in_block(t, c.plain(), [&](Count d) { Scores<T>::at(to.q, b, i, h)[d] = static_cast<T>(sum[d]); });
    in_block(t, c.in.rope_dim,
             [&](Count d) { Scores<T>::at(to.q_rope, b, i, h)[d] = static_cast<T>(sum[c.plain() + d]); });
  }
  LLMCALC_HD float key(Count b, Count j, Count g, Count d) const {
    const Scores<T>& c = pairs.c;
    return d < c.plain() ? wide(c.at(c.in.k, b, j, g)[d]) : wide(c.at(c.in.k_rope, b, j, g)[d - c.plain()]);
  }
};

/// Computes dk and dv of a key in a KV head, or the gradient of the key's rotary part, which all heads share. A block
/// per key and KV head, or per key. Shared memory: 2 block + qk_dim + v_dim elements.
template <typename T, typename Pairs>
struct KeyGradient {
  Pairs pairs;
  const T* d_o;
  AttentionGradients to;
  bool rope;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Scores<T>& c = pairs.c;
    const Attention& s = c.s;
    const Count groups = rope ? 1 : s.kv_heads, heads = s.heads / groups, width = rope ? c.in.rope_dim : c.plain();
    const Count j = t.block() % c.keys(), g = t.block() / c.keys() % groups, b = t.block() / c.keys() / groups;
    float *const ds = reinterpret_cast<float*>(t.room()), *const p = ds + t.size();
    float *const dk = p + t.size(), *const dv = dk + width;
    const Count v_dim = rope ? 0 : s.v_dim;
    // The thread that zeroes an element also sums and stores it: no barrier separates the two for a key that no query
    // sees.
    in_block(t, width, [&](Count d) { dk[d] = 0; });
    in_block(t, v_dim, [&](Count d) { dv[d] = 0; });
    for (Count h = g * heads; h < (g + 1) * heads; ++h)
      for (Count tile = pairs.first_query(j); tile < pairs.last_query(j); tile += t.size()) {
        const Count i = tile + t.index(), left = pairs.last_query(j) - tile, n = left < t.size() ? left : t.size();
        t.sync();
        if (i < pairs.last_query(j)) {
          const PairGradient one = pairs.of(b, h, i, j);
          ds[t.index()] = one.score;
          p[t.index()] = one.value;
        }
        t.sync();
        in_block(t, width, [&](Count d) {
          for (Count k = 0; k < n; ++k) dk[d] += ds[k] * wide(c.at(rope ? c.in.q_rope : c.in.q, b, tile + k, h)[d]);
        });
        in_block(t, v_dim, [&](Count d) {
          for (Count k = 0; k < n; ++k) dv[d] += p[k] * wide(d_o[c.place(b, h, tile + k) * s.v_dim + d]);
        });
      }
    in_block(t, width, [&](Count d) { Scores<T>::at(rope ? to.k_rope : to.k, b, j, g)[d] = static_cast<T>(dk[d]); });
    in_block(t, v_dim, [&](Count d) { Scores<T>::at(to.v, b, j, g)[d] = static_cast<T>(dv[d]); });
  }
};

/// Naive: scores of every pair; masked ones are discarded. Shared memory: warps + block + v_dim elements.
template <typename T>
struct NaiveForward {
  Scores<T> c;
  NaiveSaved<T> saved;
  T* o;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Attention& s = c.s;
    const auto at = c.row_of(t.block());
    const Count b = at.b, h = at.h, i = at.i;
    // A single query skips the keys that it does not see.
    const Count low = s.queries > 1 ? 0 : c.first(i), high = s.queries > 1 ? c.keys() : c.last(i);
    float *const room = reinterpret_cast<float*>(t.room()), *const p = room + warp, *const out = p + t.size();
    in_block(t, s.v_dim, [&](Count d) { out[d] = 0; });
    Softmax row;
    float shrink = 1;
    for (Count tile = low; tile < high; tile += t.size()) {
      const Count j = tile + t.index();
      const float x = j < high ? c.score(b, h, i, j) : 0.0f;
      if (saved.scores != nullptr && j < high) saved.scores[c.row(b, h, i) + j] = static_cast<T>(x);
      row.take(t, x, j >= c.first(i) && j < c.last(i), room, shrink);
    }
    if (c.in.sinks != nullptr) row.take_sink(c.sink(h), shrink);
    for (Count tile = low; tile < high; tile += t.size()) {
      const Count j = tile + t.index(), n = high - tile < t.size() ? high - tile : t.size();
      if (j < high) p[t.index()] = probability(b, h, i, j, row);
      t.sync();
      in_block(t, s.v_dim, [&](Count d) {
        for (Count k = 0; k < n; ++k) out[d] += p[k] * wide(c.at(c.in.v, b, tile + k, c.group(h))[d]);
      });
      t.sync();
    }
    in_block(t, s.v_dim, [&](Count d) { o[c.place(b, h, i) * s.v_dim + d] = static_cast<T>(out[d]); });
  }
  /// A probability as stored, after dropout.
  LLMCALC_HD float probability(Count b, Count h, Count i, Count j, const Softmax& row) const {
    const bool seen = j >= c.first(i) && j < c.last(i);
    const Count at = c.row(b, h, i) + j;
    const T stored = static_cast<T>(seen ? exp_of(c.score(b, h, i, j) - row.most) / row.total : 0.0f);
    saved.probabilities[at] = stored;
    if (!(c.drop.p > 0)) return wide(stored);
    const float factor = dice(c.drop, at), x = wide(stored) * factor;
    if (saved.mask == nullptr) return x;
    saved.mask[at] = factor > 0.0f ? 1 : 0;
    saved.dropped[at] = static_cast<T>(x);
    return wide(saved.dropped[at]);
  }
};

/// The gradients of the scores, p (dp - sum p dp), as stored. A block per row.
template <typename T>
struct NaiveScores {
  Scores<T> c;
  NaiveSaved<T> saved;
  const T* d_o;
  T* ds;
  float* sink_rows;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Attention& s = c.s;
    const auto at = c.row_of(t.block());
    const Count b = at.b, h = at.h, i = at.i;
    const Count row = c.row(b, h, i), place = c.place(b, h, i);
    float* const room = reinterpret_cast<float*>(t.room());
    float mean = 0, total = 0;
    in_block(t, c.keys(), [&](Count j) {
      float dp = Scores<T>::dot(s.v_dim, d_o + place * s.v_dim, c.at(c.in.v, b, j, c.group(h)));
      if (saved.mask != nullptr) dp *= saved.mask[row + j] != 0 ? static_cast<float>(1 / (1 - c.drop.p)) : 0.0f;
      ds[row + j] = static_cast<T>(dp);
      mean += wide(saved.probabilities[row + j]) * wide(ds[row + j]);
      total += wide(saved.probabilities[row + j]);
    });
    mean = block_sum(t, mean, room);
    total = block_sum(t, total, room);
    in_block(t, c.keys(), [&](Count j) {
      ds[row + j] = static_cast<T>(wide(saved.probabilities[row + j]) * (wide(ds[row + j]) - mean));
    });
    if (c.in.sinks != nullptr && t.index() == 0) sink_rows[place] = -(1.0f - total) * mean;
  }
};

/// dsink of a head: the sum over its rows. A block per head.
struct SinkSums {
  Count rows, heads;
  const float* sink_rows;
  float* gradient;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    float sum = 0;
    in_block(t, rows, [&](Count r) { sum += sink_rows[r * heads + t.block()]; });
    sum = block_sum(t, sum, reinterpret_cast<float*>(t.room()));
    if (t.index() == 0) gradient[t.block()] += sum;
  }
};

}  // namespace llmcalc::model::cuda
