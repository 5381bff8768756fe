#pragma once
/// Flash attention on tensor cores, forward (FlashAttention-2, Dao 2023, arXiv:2307.08691): a block per 128 queries of
/// a head, 32 to each of its warps, which keep their output and the scores of a tile of keys in registers.

#include "model/cuda/attention.hpp"
#include "model/cuda/mma_shape.hpp"

namespace llmcalc::model::cuda {

/// f(keys, values, j) for one tile of keys after another from `first` until `last`; the next is copied meanwhile. Room:
/// four tiles, `at` bytes from the start.
template <int threads, typename Tile, typename Thread, typename F>
LLMCALC_FORCE_INLINE void each_tile(const Thread& t, const HeadRows& k, const HeadRows& v, unsigned at, int first,
                                    int last, const F& f) {
  const auto load = [&](int j, unsigned turn) {
    k.load<threads>(t, Tile{at + turn * 2 * Tile::bytes}, j);
    v.load<threads>(t, Tile{at + (turn * 2 + 1) * Tile::bytes}, j);
    t.cp_async_commit();
  };
  load(first, 0);
  unsigned turn = 0;
  for (int j = first; j < last; j += Tile::rows, turn ^= 1U) {
    t.template cp_async_wait<0>();
    t.sync();  // all see this tile, and none reads any longer what is overwritten now
    if (j + Tile::rows < last) load(j + Tile::rows, turn ^ 1U);
    f(Tile{at + turn * 2 * Tile::bytes}, Tile{at + (turn * 2 + 1) * Tile::bytes}, j);
  }
}

/// Heads of up to `width` numbers.
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

  /// What a warp has of its queries: sums of values, and of each row the largest score and the sum, of this lane's
  /// keys.
  struct State {
    float sum[m][width / 8][4] = {};
    float most[m][2], total[m][2] = {};
  };

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Band& band = s.band;
    const BlockPlace at = s.block(t.block(), stretches(), s.heads);
    const int begin = (stretches() - 1 - at.stretch) * stretch;  // the last see the most keys
    const int end = begin + stretch < band.queries ? begin + stretch : band.queries;
    const int row = t.index() / warp * rows, i = begin + row, i_end = i + rows < end ? i + rows : end;
    const int g = s.group(at.head);
    q.rows(at.sequence, at.head, band.queries, s.dim).template load<threads>(t, Queries{0}, begin);
    State state;
    LLMCALC_UNROLL
    for (int r = 0; r < 2 * m; ++r) state.most[r / 2][r % 2] = -std::numeric_limits<float>::infinity();
    each_tile<threads, Keys>(t, k.rows(at.sequence, g, s.keys(), s.dim), v.rows(at.sequence, g, s.keys(), s.dim),
                             Queries::bytes, band.first_key(begin) / columns * columns, band.end_key(end),
                             [&](const Keys& keys, const Keys& values, int j) {
                               if (i >= i_end || !band.any(i, i_end, j, j + columns)) return;
                               float p[m][n][4];
                               multiply_rows(t, p, Queries{0}, static_cast<unsigned>(row), keys);
                               if (!band.all(i, i_end, j, j + columns)) hide(t, p, i, j);
                               weigh(t, state, p);
                               add_product(t, state.sum, p, values);
                             });
    finish(t, state, at, i);
  }

  /// Scores outside the band are -infinite.
  template <typename Thread>
  LLMCALC_FORCE_INLINE void hide(const Thread& t, float (&p)[m][n][4], int i, int j) const {
    const Lane l(t);
    LLMCALC_UNROLL
    for (int x = 0; x < m * n * 4; ++x) {
      const int a = x / 4 / n, b = x / 4 % n, e = x % 4;
      if (!s.band.holds(i + 16 * a + l.row(e), j + 8 * b + l.column(e)))
        p[a][b][e] = -std::numeric_limits<float>::infinity();
    }
  }

  /// Scores become e^(score - largest so far), by powers of two; what was summed before shrinks to that.
  template <typename Thread>
  LLMCALC_FORCE_INLINE void weigh(const Thread& t, State& state, float (&p)[m][n][4]) const {
    LLMCALC_UNROLL
    for (int r = 0; r < 2 * m; ++r) {
      const int a = r / 2, half = r % 2;
      float most = state.most[a][half];
      LLMCALC_UNROLL
      for (int b = 0; b < n; ++b) most = std::fmax(most, std::fmax(p[a][b][2 * half], p[a][b][2 * half + 1]));
      most = std::fmax(most, t.across(most, 1));
      most = std::fmax(most, t.across(most, 2));
      const float base = most == -std::numeric_limits<float>::infinity() ? 0.0f : most * s.factor();  // none seen yet
      const float shrink = exp2_of(state.most[a][half] * s.factor() - base);
      float total = state.total[a][half] * shrink;
      LLMCALC_UNROLL
      for (int b = 0; b < n; ++b) LLMCALC_UNROLL
      for (int e = 2 * half; e < 2 * half + 2; ++e) total += p[a][b][e] = exp2_of(p[a][b][e] * s.factor() - base);
      state.most[a][half] = most, state.total[a][half] = total;
      LLMCALC_UNROLL
      for (int b = 0; b < width / 8; ++b) state.sum[a][b][2 * half] *= shrink, state.sum[a][b][2 * half + 1] *= shrink;
    }
  }

  template <typename Thread>
  LLMCALC_FORCE_INLINE void finish(const Thread& t, const State& state, const BlockPlace& at, int i) const {
    const Lane l(t);
    LLMCALC_UNROLL
    for (int r = 0; r < 2 * m; ++r) {
      const int a = r / 2, half = r % 2, query = i + 16 * a + l.row(2 * half);
      float total = state.total[a][half], shrink = 1;
      total += t.across(total, 1);
      total += t.across(total, 2);
      Softmax row{state.most[a][half] * s.scale, total};
      if (sinks != nullptr) row.take_sink(wide(sinks[at.head]), shrink);
      if (query >= s.band.queries) continue;
      store_row(l, o.of(at.sequence, at.head, query), s.dim, state.sum[a], half, shrink / row.total);
      if (log_sum_exp != nullptr && l.lane % 4 == 0)
        log_sum_exp[s.place(at.sequence, at.head, query)] = row.log_sum_exp();
    }
  }
};

}  // namespace llmcalc::model::cuda
