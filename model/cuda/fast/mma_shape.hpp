#pragma once
/// Gain and measure: see mma_attention.hpp.
///
/// Shapes for attention kernels on tensor cores, stored as ints, which use fewer registers than Counts.

#include "model/backend.hpp"
#include "model/cuda/fast/mma_tile.hpp"

namespace llmcalc::model::cuda {

/// For a segment of queries (or keys), ranges of keys (or queries). At least one token of the segment is paired with
/// [first, end), and every token with [all_first, all_end).
struct TokenBand {
  int first = 0, end = 0, all_first = 0, all_end = 0;
  LLMCALC_HD bool any(int x, int x_end) const { return x < end && x_end > first; }
  LLMCALC_HD bool all(int x, int x_end) const { return x >= all_first && x_end <= all_end; }
};

/// The keys that query i sees under a causal mask: from the first visible one to past + i.
struct Band {
  int past, queries;
  ReachOf<int> reach;
  LLMCALC_HD explicit Band(const Attention& s)
      : past(static_cast<int>(s.past())),
        queries(static_cast<int>(s.queries)),
        reach{static_cast<int>(s.reach.tokens), s.reach.chunked} {}

  LLMCALC_HD int keys() const { return past + queries; }
  LLMCALC_HD bool holds(int i, int j) const { return j <= past + i && j >= first_key(i); }
  /// The keys that queries [i, i_end) see.
  LLMCALC_HD TokenBand of_queries(int i, int i_end) const {
    if (i >= i_end) return {};
    return {first_key(i), past + i_end, first_key(i_end - 1), past + i + 1};
  }
  /// The queries that see keys [j, j_end).
  LLMCALC_HD TokenBand of_keys(int j, int j_end) const {
    if (j >= j_end) return {};
    return {first_query(j), end_query(j_end - 1), first_query(j_end - 1), end_query(j)};
  }

 private:
  LLMCALC_HD int first_key(int i) const { return reach.first(past + i); }
  LLMCALC_HD int first_query(int j) const { return j > past ? j - past : 0; }
  LLMCALC_HD int end_query(int j) const { return reach.end(j, keys()) - past; }
};

/// The work of a block: a segment of tokens in one head of one sequence.
struct BlockPlace {
  int sequence, head, stretch;
};
/// The work of the n-th block to start. Blocks process sixteen heads at a time, whose keys and values fit in the L2
/// cache. Their segments start in order, so if the first segment is the longest, the shortest come last and all
/// multiprocessors finish together.
LLMCALC_HD inline BlockPlace place_of(int n, int stretches, int heads, int sequences) {
  constexpr int most = 16;
  const int first = n / (stretches * most) * most, left = heads * sequences - first;
  const int together = left < most ? left : most, rest = n - first * stretches, head = first + rest % together;
  return {head / heads, head % heads, rest / together};
}

/// A HeadView whose tokens are stored in order.
struct MmaHeads {
  bf16* data;
  Count sequence;
  int token, head;
  explicit MmaHeads(const HeadView& v)
      : data(static_cast<bf16*>(const_cast<void*>(v.data))),
        sequence(v.sequence),
        token(static_cast<int>(v.token)),
        head(static_cast<int>(v.head)) {}

  LLMCALC_HD bf16* of(int b, int h) const { return data + b * sequence + static_cast<Count>(h) * head; }
  LLMCALC_HD bf16* of(int b, int h, int i) const { return of(b, h) + static_cast<Count>(i) * token; }
  LLMCALC_HD HeadTokens rows(int b, int h, int tokens, int dim) const { return {of(b, h), token, tokens, dim}; }
};

struct MmaShape {
  Band band;
  int sequences, heads, kv_heads, dim;  ///< dim: width of every head, for queries, keys and values
  float scale;
  explicit MmaShape(const Attention& s, double scale_of_scores)
      : band(s),
        sequences(static_cast<int>(s.sequences)),
        heads(static_cast<int>(s.heads)),
        kv_heads(static_cast<int>(s.kv_heads)),
        dim(static_cast<int>(s.qk_dim)),
        scale(static_cast<float>(scale_of_scores)) {}

  LLMCALC_HD int group(int head) const { return head / (heads / kv_heads); }
  /// A query's index in (sequences, queries, heads).
  LLMCALC_HD Count place(int b, int h, int i) const { return (static_cast<Count>(b) * band.queries + i) * heads + h; }
  /// Factor that turns scores into exponents of two: e^(scale x) = 2^(factor x).
  LLMCALC_HD float factor() const { return scale * log2_e; }
  static constexpr float log2_e = 1.44269504f, ln_2 = 0.693147181f;

  /// The work of the n-th block, with `stretches` blocks for each of `of_heads` heads.
  LLMCALC_HD BlockPlace block(Count n, int stretches, int of_heads) const {
    return place_of(static_cast<int>(n), stretches, of_heads, sequences);
  }
};

}  // namespace llmcalc::model::cuda
