#pragma once
/// Gain and measure: see mma_attention.hpp.
///
/// Flash attention on tensor cores, forward (FlashAttention-2, Dao 2023, arXiv:2307.08691): a block per 128 queries of
/// a head, 32 to each of its warps, which keep their output and the scores of a tile of keys in registers.

#include "model/cuda/fast/mma_shape.hpp"
#include "model/cuda/kernels/attention.hpp"

namespace llmcalc::model::cuda {

/// Calls f(keys, values, j) for each tile of keys that `reach` touches, in order, while the next tile is copied. Shared
/// memory: four tiles, `at` bytes from the start.
template <int threads, typename Tile, typename Thread, typename F>
LLMCALC_FORCE_INLINE void each_tile(const Thread& t, const HeadTokens& k, const HeadTokens& v, unsigned at,
                                    const TokenBand& reach, const F& f) {
  const int first = reach.first / Tile::rows * Tile::rows;
  HeadTokens next_k = k.from(first), next_v = v.from(first);
  const auto load_next = [&](unsigned turn) {
    next_k.template load<threads>(t, Tile{at + turn * 2 * Tile::bytes});
    next_v.template load<threads>(t, Tile{at + (turn * 2 + 1) * Tile::bytes});
    t.cp_async_commit();
    next_k = next_k.from(Tile::rows);
    next_v = next_v.from(Tile::rows);
  };
  load_next(0);
  unsigned turn = 0;
  for (int j = first; j < reach.end; j += Tile::rows, turn ^= 1U) {
    t.template cp_async_wait<0>();
    t.sync();  // now all threads see this tile, and have read the one that is overwritten next
    if (j + Tile::rows < reach.end) load_next(turn ^ 1U);
    f(Tile{at + turn * 2 * Tile::bytes}, Tile{at + (turn * 2 + 1) * Tile::bytes}, j);
  }
}

/// The forward kernel for heads of up to `width` elements.
template <int width>
struct MmaForward {
  static constexpr int threads = 128, blocks_per_multiprocessor = 2;
  static constexpr int m = 2, rows = 16 * m, columns = 64, n = columns / 8, stretch = threads / warp * rows;
  using Queries = SharedTile<stretch, width>;
  using Keys = SharedTile<columns, width>;
  static constexpr Count room = Queries::bytes + 4 * Keys::bytes;

  MmaShape s;
  MmaHeads q, k, v, o;
  const bf16* sinks;
  float* log_sum_exp;

  LLMCALC_HD int stretches() const { return (s.band.queries + stretch - 1) / stretch; }

  /// A warp's state for its queries: sums of values, and for each row the base of its scores (times log2 e) and the sum
  /// of the weights of this lane's keys.
  struct State {
    float sum[m][width / 8][4] = {};
    float base[m][2], total[m][2] = {};
  };

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Band& band = s.band;
    const BlockPlace at = s.block(t.block(), stretches(), s.heads);
    const int begin =
        (stretches() - 1 - at.stretch) * stretch;  // the last segments, which see the most keys, start first
    const int end = begin + stretch < band.queries ? begin + stretch : band.queries;
    const int row = t.index() / warp * rows, i = begin + row;
    const TokenBand reach = band.of_queries(i, i + rows < end ? i + rows : end);
    const int g = s.group(at.head);
    q.rows(at.sequence, at.head, band.queries, s.dim).from(begin).template load<threads>(t, Queries{0});
    State state;
    LLMCALC_UNROLL
    for (int r = 0; r < 2 * m; ++r) state.base[r / 2][r % 2] = -std::numeric_limits<float>::infinity();
    const auto take = [&](const Keys& keys, const Keys& values, int j) {
      if (!reach.any(j, j + columns)) return;
      float p[m][n][4];
      multiply_rows(t, p, Queries{0}, static_cast<unsigned>(row), keys);
      if (!reach.all(j, j + columns)) hide(t, p, [&](int a, int b) { return band.holds(i + a, j + b); });
      weigh(t, state, p);
      add_product(t, state.sum, p, values);
    };
    each_tile<threads, Keys>(t, k.rows(at.sequence, g, band.keys(), s.dim), v.rows(at.sequence, g, band.keys(), s.dim),
                             Queries::bytes, band.of_queries(begin, end), take);
    finish(t, state, at, i);
  }

  /// Replaces scores by e^(score - a row's base), as powers of two. A base is the largest score so far, or an earlier
  /// maximum: bases rise only if a weight would exceed 2^8, which is rare after the first tile; previous sums are then
  /// scaled down.
  template <typename Thread>
  LLMCALC_FORCE_INLINE void weigh(const Thread& t, State& state, float (&p)[m][n][4]) const {
    constexpr float high = 8;
    float most[m][2];
    bool rise = false;
    LLMCALC_UNROLL
    for (int r = 0; r < 2 * m; ++r) {
      const int a = r / 2, half = r % 2;
      float x = p[a][0][2 * half];
      LLMCALC_UNROLL
      for (int b = 0; b < n; ++b) x = std::fmax(x, std::fmax(p[a][b][2 * half], p[a][b][2 * half + 1]));
      x = std::fmax(x, t.across(x, 1));
      x = std::fmax(x, t.across(x, 2)) * s.factor();
      rise = rise || x > state.base[a][half] + high;
      most[a][half] = x;
    }
    if (rise) raise(state, most);
    LLMCALC_UNROLL
    for (int x = 0; x < m * n * 4; ++x) {
      const int a = x / 4 / n, b = x / 4 % n, e = x % 4;
      p[a][b][e] = power(p[a][b][e] * s.factor(), state.base[a][e / 2]);
      state.total[a][e / 2] += p[a][b][e];
    }
  }
  /// 2^(x - base); 0 if a row has no score yet and both are -infinity.
  LLMCALC_FORCE_INLINE static float power(float x, float base) {
    return exp2_of(x - (base == -std::numeric_limits<float>::infinity() ? 0.0f : base));
  }
  LLMCALC_FORCE_INLINE static void raise(State& state, const float (&most)[m][2]) {
    LLMCALC_UNROLL
    for (int r = 0; r < 2 * m; ++r) {
      const int a = r / 2, half = r % 2;
      const float base = std::fmax(state.base[a][half], most[a][half]), shrink = power(state.base[a][half], base);
      state.base[a][half] = base;
      state.total[a][half] *= shrink;
      LLMCALC_UNROLL
      for (int b = 0; b < width / 8; ++b) state.sum[a][b][2 * half] *= shrink, state.sum[a][b][2 * half + 1] *= shrink;
    }
  }

  template <typename Thread>
  LLMCALC_FORCE_INLINE void finish(const Thread& t, const State& state, const BlockPlace& at, int i) const {
    const WarpLane l(t);
    LLMCALC_UNROLL
    for (int r = 0; r < 2 * m; ++r) {
      const int a = r / 2, half = r % 2, query = i + 16 * a + l.row(2 * half);
      float total = state.total[a][half], shrink = 1;
      total += t.across(total, 1);
      total += t.across(total, 2);
      Softmax row{state.base[a][half] * MmaShape::ln_2, total};
      if (sinks != nullptr) row.take_sink(wide(sinks[at.head]), shrink);
      if (query >= s.band.queries) continue;
      store_row(l, o.of(at.sequence, at.head, query), s.dim, state.sum[a], half, shrink / row.total);
      if (log_sum_exp != nullptr && l.lane % 4 == 0)
        log_sum_exp[s.place(at.sequence, at.head, query)] = row.log_sum_exp();
    }
  }
};

}  // namespace llmcalc::model::cuda
