#pragma once
/// Gain and measure: see mma_attention.hpp.
///
/// Flash attention on tensor cores, backward. Scores are computed twice, in a kernel for the gradient of queries and in
/// one for the gradients of keys and values: 7 matmuls instead of 5. Every element is summed by one warp in a fixed
/// order, without atomics, so that results are bitwise reproducible.
///
///     p = e^(scale q k' - log-sum-exp)    ds = p (do v' - delta)    dq = scale ds k    dk = scale ds' q    dv = p' do

#include "model/cuda/fast/mma_forward.hpp"

namespace llmcalc::model::cuda {

/// Inputs of both kernels.
struct MmaGradientInputs {
  MmaShape s;
  MmaHeads q, k, v, d_o;
  const float *log_sum_exp, *delta;  ///< one value per row; delta: o . do
};

/// dq: one block per segment of queries, which loops over tiles of keys.
template <int width>
struct MmaQueryGradient {
  static constexpr int threads = 128, blocks_per_multiprocessor = 2;
  static constexpr int m = 2, rows = 16 * m, columns = width > 64 ? 32 : 64, n = columns / 8;
  static constexpr int stretch = threads / warp * rows;
  using Queries = SharedTile<stretch, width>;
  using Keys = SharedTile<columns, width>;
  static constexpr Count room = 2 * Queries::bytes + 4 * Keys::bytes;

  MmaGradientInputs from;
  MmaHeads to;

  LLMCALC_HD int stretches() const { return (from.s.band.queries + stretch - 1) / stretch; }

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const MmaShape& s = from.s;
    const Band& band = s.band;
    const WarpLane l(t);
    const BlockPlace at = s.block(t.block(), stretches(), s.heads);
    const int begin = (stretches() - 1 - at.stretch) * stretch;
    const int end = begin + stretch < band.queries ? begin + stretch : band.queries;
    const int row = t.index() / warp * rows, i = begin + row;
    const TokenBand reach = band.of_queries(i, i + rows < end ? i + rows : end);
    const int g = s.group(at.head);
    constexpr Queries q{0}, d_o{Queries::bytes};
    from.q.rows(at.sequence, at.head, band.queries, s.dim).from(begin).template load<threads>(t, q);
    from.d_o.rows(at.sequence, at.head, band.queries, s.dim).from(begin).template load<threads>(t, d_o);
    float sum[m][width / 8][4] = {}, base[m][2], delta[m][2];
    LLMCALC_UNROLL
    for (int r = 0; r < 2 * m; ++r) {
      const int query = i + r / 2 * 16 + l.row(r % 2 * 2);
      const Count place = s.place(at.sequence, at.head, query < band.queries ? query : 0);
      base[r / 2][r % 2] = from.log_sum_exp[place] * MmaShape::log2_e;
      delta[r / 2][r % 2] = from.delta[place];
    }
    const auto take = [&](const Keys& k, const Keys& v, int j) {
      if (!reach.any(j, j + columns)) return;
      float ds[m][n][4], dp[m][n][4];
      multiply_rows(t, ds, q, static_cast<unsigned>(row), k);
      multiply_rows(t, dp, d_o, static_cast<unsigned>(row), v);
      if (!reach.all(j, j + columns)) hide(t, ds, [&](int a, int b) { return band.holds(i + a, j + b); });
      LLMCALC_UNROLL
      for (int x = 0; x < m * n * 4; ++x) {
        const int a = x / 4 / n, b = x / 4 % n, e = x % 4;
        const float p = exp2_of(ds[a][b][e] * s.factor() - base[a][e / 2]);
        ds[a][b][e] = p * (dp[a][b][e] - delta[a][e / 2]);
      }
      add_product(t, sum, ds, k);
    };
    each_tile<threads, Keys>(t, from.k.rows(at.sequence, g, band.keys(), s.dim),
                             from.v.rows(at.sequence, g, band.keys(), s.dim), 2 * Queries::bytes,
                             band.of_queries(begin, end), take);
    LLMCALC_UNROLL
    for (int r = 0; r < 2 * m; ++r) {
      const int query = i + r / 2 * 16 + l.row(r % 2 * 2);
      if (query < band.queries) store_row(l, to.of(at.sequence, at.head, query), s.dim, sum[r / 2], r % 2, s.scale);
    }
  }
};

/// dk and dv: one block per segment of keys of a KV head, which loops over query tiles of all heads that share it, with
/// transposed scores.
template <int width>
struct MmaKeyGradient {
  static constexpr int threads = 128, blocks_per_multiprocessor = 2;
  static constexpr int m = width > 64 ? 1 : 2, rows = 16 * m, columns = width > 64 ? 64 : 32, n = columns / 8;
  static constexpr int stretch = threads / warp * rows;
  using Keys = SharedTile<stretch, width>;
  using Queries = SharedTile<columns, width>;
  /// A tile of queries: q, do, and the log-sum-exp and delta of each query.
  static constexpr unsigned numbers = columns * sizeof(float), turn_bytes = 2 * Queries::bytes + 2 * numbers;
  static constexpr Count room = 2 * Keys::bytes + 2 * turn_bytes;

  MmaGradientInputs from;
  MmaHeads to_k, to_v;

  LLMCALC_HD int stretches() const { return (from.s.band.keys() + stretch - 1) / stretch; }

  struct Sums {
    float k[m][width / 8][4] = {}, v[m][width / 8][4] = {};
  };

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const MmaShape& s = from.s;
    const Band& band = s.band;
    const BlockPlace at = s.block(t.block(), stretches(), s.kv_heads);
    const int heads = s.heads / s.kv_heads;
    const int begin = at.stretch * stretch, end = begin + stretch < band.keys() ? begin + stretch : band.keys();
    const int row = t.index() / warp * rows, j = begin + row;
    const TokenBand reach = band.of_keys(j, j + rows < end ? j + rows : end), of_block = band.of_keys(begin, end);
    const int first = of_block.first / columns * columns, last = of_block.end;
    const int tiles = last > first ? (last - first + columns - 1) / columns : 0, steps = tiles * heads;
    from.k.rows(at.sequence, at.head, s.band.keys(), s.dim).from(begin).template load<threads>(t, Keys{0});
    from.v.rows(at.sequence, at.head, s.band.keys(), s.dim).from(begin).template load<threads>(t, Keys{Keys::bytes});
    const auto start = [&](int step) {
      load(t, at.sequence, at.head * heads + step / tiles, first + step % tiles * columns, turn(step));
    };
    if (steps > 0) start(0);
    Sums sums;
    for (int step = 0; step < steps; ++step) {
      t.template cp_async_wait<0>();
      t.sync();
      if (step + 1 < steps) start(step + 1);
      const int i = first + step % tiles * columns;
      if (reach.any(i, i + columns)) add(t, sums, reach.all(i, i + columns), i, j, row, turn(step));
    }
    store(t, sums, at, j);
  }

  /// Offset of the step's tile of queries in shared memory.
  LLMCALC_HD static unsigned turn(int step) { return 2 * Keys::bytes + static_cast<unsigned>(step % 2) * turn_bytes; }
  template <typename Thread>
  LLMCALC_FORCE_INLINE void load(const Thread& t, int b, int h, int i, unsigned at) const {
    const MmaShape& s = from.s;
    from.q.rows(b, h, s.band.queries, s.dim).from(i).template load<threads>(t, Queries{at});
    from.d_o.rows(b, h, s.band.queries, s.dim).from(i).template load<threads>(t, Queries{at + Queries::bytes});
    if (t.index() < 2 * columns) {
      const int query = i + t.index() % columns;
      const bool there = query < s.band.queries;
      const float* const numbers_of = t.index() < columns ? from.log_sum_exp : from.delta;
      t.template cp_async<4>(at + 2 * Queries::bytes + static_cast<unsigned>(t.index()) * 4,
                             numbers_of + s.place(b, h, query), there);
    }
    t.cp_async_commit();
  }

  /// Adds the contribution of a tile of queries. Past the last query all inputs are zero: p is 1 but contributes 0.
  template <typename Thread>
  LLMCALC_FORCE_INLINE void add(const Thread& t, Sums& sums, bool all, int i, int j, int row, unsigned at) const {
    const Queries q{at}, d_o{at + Queries::bytes};
    const float* const log_sum_exp = reinterpret_cast<const float*>(t.room() + at + 2 * Queries::bytes);
    const float* const delta = log_sum_exp + columns;
    float p[m][n][4], ds[m][n][4];
    multiply_rows(t, p, Keys{0}, static_cast<unsigned>(row), q);
    multiply_rows(t, ds, Keys{Keys::bytes}, static_cast<unsigned>(row), d_o);
    if (!all) hide(t, p, [&](int a, int b) { return from.s.band.holds(i + b, j + a); });
    const WarpLane l(t);
    LLMCALC_UNROLL
    for (int x = 0; x < m * n * 4; ++x) {
      const int a = x / 4 / n, b = x / 4 % n, e = x % 4, query = 8 * b + l.column(e);
      p[a][b][e] = exp2_of(p[a][b][e] * from.s.factor() - log_sum_exp[query] * MmaShape::log2_e);
      ds[a][b][e] = p[a][b][e] * (ds[a][b][e] - delta[query]);
    }
    add_product(t, sums.v, p, d_o);
    add_product(t, sums.k, ds, q);
  }

  template <typename Thread>
  LLMCALC_FORCE_INLINE void store(const Thread& t, const Sums& sums, const BlockPlace& at, int j) const {
    const WarpLane l(t);
    LLMCALC_UNROLL
    for (int r = 0; r < 2 * m; ++r) {
      const int key = j + r / 2 * 16 + l.row(r % 2 * 2);
      if (key >= from.s.band.keys()) continue;
      store_row(l, to_k.of(at.sequence, at.head, key), from.s.dim, sums.k[r / 2], r % 2, from.s.scale);
      store_row(l, to_v.of(at.sequence, at.head, key), from.s.dim, sums.v[r / 2], r % 2, 1.0f);
    }
  }
};

}  // namespace llmcalc::model::cuda
