#pragma once
/// Index scores, the selection of the keys with the highest scores, and the gradient of the indexer's loss.

#include <algorithm>
#include <numeric>

#include "model/cpu/attention/attention.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// The scores of one query of one sequence.
template <typename T>
class IndexRow {
  using W = Wide<T>;

 public:
  IndexRow(const IndexScores& s, const IndexView& in, Count sequence, Count query)
      : s_(s), in_(in), sequence_(sequence), query_(query) {}
  /// Index of the query's token. The query sees the tokens up to this one.
  Count token() const { return s_.past() + query_; }
  /// Number of keys that the query sees: tokens up to its own, or complete groups of tokens.
  Count seen() const { return s_.pooled > 0 ? (token() + 1) / s_.pooled : token() + 1; }
  Count heads() const { return s_.heads; }

  /// Computes q k' of every head with every key; a key's results for all heads are adjacent.
  void products(const Keys& keys, W* to) const {
    for (Count i = 0; i < keys.n; ++i)
      for (Count h = 0; h < s_.heads; ++h) *to++ = dot(s_.width, q(h), k(keys[i]));
  }
  /// A key's score from its products with the queries of all heads.
  W score(const W* product) const {
    W sum(0);
    for (Count h = 0; h < s_.heads; ++h) sum += is_weighted() ? weight(h) * positive(product[h]) : product[h];
    return sum;
  }

  /// Adds the gradients that follow from d, the gradient of key j's score; dk accumulates the gradient of this key.
  void add_gradients(Count j, const W* product, W d, W* dq, W* dk, W* dweights) const {
    for (Count h = 0; h < s_.heads; ++h) {
      const W slope = d * head_slope(h, product[h]);
      axpy(s_.width, slope, k(j), dq + h * s_.width);
      axpy(s_.width, slope, q(h), dk);
      if (is_weighted()) dweights[h] += d * positive(product[h]);
    }
  }

  /// Adds the query's gradients to the heads' gradients in memory.
  void write(const IndexGradients& to, const W* dq, const W* dweights) const {
    for (Count h = 0; h < s_.heads; ++h) {
      T* const at = at_mutable<T>(to.q, sequence_, query_, h);
      for (Count i = 0; i < s_.width; ++i) put(at + i, dq[h * s_.width + i], true);
      if (is_weighted()) put(at_mutable<T>(to.weights, sequence_, query_, h), dweights[h], true);
    }
  }

 private:
  bool is_weighted() const { return in_.weights.data != nullptr; }
  const T* q(Count h) const { return at<T>(in_.q, sequence_, query_, h); }
  const T* k(Count j) const { return at<T>(in_.k, sequence_, j, 0); }
  W weight(Count h) const { return wide(*at<T>(in_.weights, sequence_, query_, h)); }
  static W positive(W x) { return x > W(0) ? x : W(0); }

  /// The derivative of a score with respect to head h's product.
  W head_slope(Count h, W product) const {
    if (!is_weighted()) return W(1);
    return product > W(0) ? weight(h) : W(0);
  }

  const IndexScores& s_;
  const IndexView& in_;
  Count sequence_, query_;
};

/// Writes the indices of the `most` greatest of n scores, in ascending order, padded with -1 up to `each`.
template <typename W>
void choose(const W* score, Count n, Count most, ChosenIndex* to, Count each) {
  thread_local std::vector<ChosenIndex> order;
  order.resize(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  const Count saved = std::min(n, most);
  if (saved < n)
    std::nth_element(order.begin(), order.begin() + saved, order.end(), [score](ChosenIndex a, ChosenIndex b) {
      return score[a] > score[b] || (!(score[b] > score[a]) && a < b);
    });
  std::sort(order.begin(), order.begin() + saved);
  std::copy_n(order.begin(), saved, to);
  std::fill_n(to + saved, each - saved, -1);
}

/// Finds the maximum score of each complete block of `size` tokens.
template <typename W>
void block_scores(const W* score, Count blocks, Count size, W* to) {
  for (Count b = 0; b < blocks; ++b) {
    to[b] = score[b * size];
    for (Count j = 1; j < size; ++j)
      if (score[b * size + j] > to[b]) to[b] = score[b * size + j];
  }
}

/// Keys that any query may see: all tokens, or all complete groups.
inline Count scored_keys(const IndexScores& s) { return s.pooled > 0 ? s.keys / s.pooled : s.keys; }

/// Selects every query's keys. naive: whether to compute all scores and ignore those of later tokens.
template <typename T>
Flops index_scores(const IndexScores& s, const IndexView& in, bool naive, ChosenIndex* chosen) {
  using W = Wide<T>;
  const Count each_row = s.selection.indices(s.all_keys()), block = s.selection.block;
  const bool every = naive && s.queries > 1;
  each<T>(s.rows(), s.all_keys() * s.heads * s.width, [&](Count r) {
    thread_local Aligned<W> product, score, best;
    const IndexRow<T> row(s, in, r / s.queries, r % s.queries);
    const Count seen = row.seen(), done = every ? scored_keys(s) : seen;
    product.resize(static_cast<std::size_t>(done * s.heads));
    row.products({.n = done}, product.data());
    score.resize(static_cast<std::size_t>(seen));
    for (Count j = 0; j < seen; ++j) score[static_cast<std::size_t>(j)] = row.score(product.data() + j * s.heads);
    ChosenIndex* const to = chosen + r * each_row;
    if (block == 0) return choose(score.data(), seen, s.selection.keys, to, each_row);
    const Count before = row.token() / block;
    best.resize(static_cast<std::size_t>(before));
    block_scores(score.data(), before, block, best.data());
    choose(best.data(), before, s.selection.keys / block, to, each_row);
  });
  Count pairs = 0;
  for (Count i = 0; i < s.queries; ++i) pairs += every ? scored_keys(s) : IndexRow<T>(s, in, 0, i).seen();
  return (s.sequences * s.heads) * pair_flops(pairs, s.width);
}

/// Computes softmax(scores) - target over one query's keys.
template <typename T>
void score_gradients(const IndexRow<T>& row, const Keys& keys, const Wide<T>* product, const Wide<T>* target,
                     Wide<T>* to) {
  for (Count j = 0; j < keys.n; ++j) to[j] = row.score(product + j * row.heads());
  softmax<Wide<T>>(keys.n, to, nullptr);
  for (Count j = 0; j < keys.n; ++j) to[j] -= target[keys[j]];
}

/// Gradient of the indexer's loss, the sum over queries of KL(target || softmax(scores)) over the selected keys
/// (arXiv:2512.02556, (4)): softmax - target for each score. `target`: (rows, keys), wide; null: no loss, and every
/// score's gradient is zero.
template <typename T>
Flops index_gradient(const IndexScores& s, const IndexView& in, const ChosenIndex* chosen, const Wide<T>* target,
                     const IndexGradients& to) {
  using W = Wide<T>;
  const Count each_row = s.selection.indices(s.all_keys());
  std::vector<Count> pairs(static_cast<std::size_t>(s.sequences));
  const Count all = s.all_keys();
  each<T>(s.sequences, s.queries * all * s.heads * s.width, [&](Count b) {
    Aligned<W> dk(static_cast<std::size_t>(all * s.width), W(0)), product, dscore, dq, dweights;
    std::vector<Count> room;
    for (Count i = 0; i < s.queries; ++i) {
      const IndexRow<T> row(s, in, b, i);
      const Count r = b * s.queries + i;
      const Keys keys = chosen_keys(s.selection, chosen + r * each_row, each_row, row.token(), room);
      pairs[static_cast<std::size_t>(b)] += keys.n;
      product.resize(static_cast<std::size_t>(keys.n * s.heads));
      row.products(keys, product.data());
      dscore.assign(static_cast<std::size_t>(keys.n), W(0));
      if (target != nullptr && keys.n > 0) score_gradients(row, keys, product.data(), target + r * all, dscore.data());
      dq.assign(static_cast<std::size_t>(s.heads * s.width), W(0));
      dweights.assign(static_cast<std::size_t>(s.heads), W(0));
      for (Count j = 0; j < keys.n; ++j)
        row.add_gradients(keys[j], product.data() + j * s.heads, dscore[static_cast<std::size_t>(j)], dq.data(),
                          dk.data() + keys[j] * s.width, dweights.data());
      row.write(to, dq.data(), dweights.data());
    }
    for (Count j = 0; j < all; ++j) {
      T* const k = at_mutable<T>(to.k, b, j, 0);
      for (Count i = 0; i < s.width; ++i) put(k + i, dk[static_cast<std::size_t>(j * s.width + i)], true);
    }
  });
  return s.heads * pair_flops(std::accumulate(pairs.begin(), pairs.end(), Count{0}), 3 * s.width);
}

}  // namespace llmcalc::model::LLMCALC_ISA
