#pragma once
/// Gain and measure: see mma_attention.hpp.
///
/// Tiles of bf16 elements, and matmuls of tiles on tensor cores, a warp at a time.
///
/// Layout of fragments (PTX ISA, "Matrix Fragments for mma.m16n8k16", "ldmatrix"), g = lane / 4, t = lane % 4; a word
/// is two elements, the first in its lower half:
///
///     a (16, 16)  word 0: row g,     columns 2t, 2t + 1      word 2: row g,     columns 2t + 8, 2t + 9
///                 word 1: row g + 8, columns 2t, 2t + 1      word 3: row g + 8, columns 2t + 8, 2t + 9
///     b (16, 8)   word 0: rows 2t, 2t + 1 of column g        word 1: rows 2t + 8, 2t + 9 of column g
///     c (16, 8)   0, 1: row g, columns 2t, 2t + 1            2, 3: row g + 8, columns 2t, 2t + 1
///     ldmatrix    word m: row g of matrix m, columns 2t, 2t + 1; transposed: rows 2t, 2t + 1 of column g
///
/// Two adjacent c thus form an a, without moving a word between lanes: scores become the left operand of the next
/// matmul.

#include <bit>
#include <limits>

#include "model/cuda/thread.hpp"

namespace llmcalc::model::cuda {

/// A tile in a block's shared memory, `at` bytes from its start. Each row consists of 16-byte chunks. ldmatrix reads
/// eight chunks at a time, one from each of eight rows. Each row's chunks are permuted by the row's index, so that
/// these eight are in different banks (there are 32 of 4 bytes) even if a row is as long as all banks together, half as
/// long or twice as long.
template <int rows_, int width_>
struct SharedTile {
  static constexpr int rows = rows_, width = width_, chunks = width / 8;
  static constexpr unsigned row_bytes = width * 2, bytes = rows * row_bytes;  ///< the permutation repeats after 8 rows
  static_assert(rows % 16 == 0 && width % 16 == 0);
  unsigned at = 0;

  LLMCALC_HD unsigned of(unsigned row, unsigned chunk) const {
    constexpr unsigned period = chunks % 8 == 0 ? 8 : chunks % 4 == 0 ? 4 : 2;
    const unsigned turned = chunk ^ (row / (8 / period) % period);
    return at + row * row_bytes + turned * 16;
  }
};

/// Tokens of one head in memory, `dim` elements each.
struct HeadTokens {
  const bf16* data;
  int stride, tokens, dim;

  LLMCALC_HD HeadTokens from(int first) const {
    return {data + static_cast<Count>(first) * stride, stride, tokens - first, dim};
  }
  /// Starts copying the first tokens into a tile; fills it with zeros after the last token and beyond `dim` elements.
  template <int threads, typename Tile, typename Thread>
  LLMCALC_FORCE_INLINE void load(const Thread& t, const Tile& to) const {
    constexpr int together = threads / Tile::chunks;
    const int index = t.index() / warp * warp + static_cast<int>(t.lane());
    const int row = index / Tile::chunks, chunk = index % Tile::chunks;
    if (row >= together) return;
    LLMCALC_UNROLL
    for (int pass = 0; pass * together < Tile::rows; ++pass) {
      const int r = row + pass * together;
      if (Tile::rows % together != 0 && r >= Tile::rows) break;
      t.template cp_async<16>(to.of(static_cast<unsigned>(r), static_cast<unsigned>(chunk)),
                              data + (r * stride + chunk * 8), chunk * 8 < dim && r < tokens);
    }
  }
};

/// A lane's positions in its warp's tiles: row and column of element e of c, and the row and chunk that the lane
/// addresses for ldmatrix.
struct WarpLane {
  unsigned lane;
  template <typename Thread>
  LLMCALC_HD explicit WarpLane(const Thread& t) : lane(t.lane()) {}
  LLMCALC_HD int row(int e) const { return static_cast<int>(lane / 4) + e / 2 * 8; }
  LLMCALC_HD int column(int e) const { return static_cast<int>(lane % 4 * 2) + e % 2; }
  // Matrices 0 and 1 are stacked, and 2 and 3 are to their right: the order of an mma's operand `a` or, with
  // ldmatrix_transposed, of two adjacent operands `b`.
  LLMCALC_HD unsigned down_row() const { return lane % 16; }
  LLMCALC_HD unsigned down_chunk() const { return lane / 16; }
  // Matrices 0 and 1 are adjacent, and 2 and 3 are below them: the order of two adjacent operands `b` that are
  // transposed in memory.
  LLMCALC_HD unsigned across_row() const { return lane / 16 * 8 + lane % 8; }
  LLMCALC_HD unsigned across_chunk() const { return lane / 8 % 2; }
};

/// c (16 m, 8 n) = x y', x: 16 m rows of its tile, starting at `row`, y: the 8 n rows of its tile.
template <int m, int n, typename X, typename Y, typename Thread>
LLMCALC_FORCE_INLINE void multiply_rows(const Thread& t, float (&c)[m][n][4], const X& x, unsigned row, const Y& y) {
  static_assert(Y::rows == 8 * n && X::width == Y::width);
  const WarpLane l(t);
  LLMCALC_UNROLL
  for (int i = 0; i < m * n * 4; ++i) c[i / 4 / n][i / 4 % n][i % 4] = 0;
  LLMCALC_UNROLL
  for (unsigned k = 0; k < X::width / 16; ++k) {
    const unsigned left = x.of(row + l.down_row(), 2 * k + l.down_chunk());
    const unsigned right = y.of(l.across_row(), 2 * k + l.across_chunk());
    unsigned a[m][4];
    LLMCALC_UNROLL
    for (unsigned i = 0; i < m; ++i) t.ldmatrix(a[i], left + 16 * i * X::row_bytes);
    LLMCALC_UNROLL
    for (unsigned j = 0; j < n; j += 2) {
      unsigned b[4];
      t.ldmatrix(b, right + 8 * j * Y::row_bytes);
      LLMCALC_UNROLL
      for (unsigned i = 0; i < m; ++i) {
        t.mma(c[i][j], a[i], b[0], b[1]);
        t.mma(c[i][j + 1], a[i], b[2], b[3]);
      }
    }
  }
}

/// c (16 m, width) += p y, p (16 m, 8 n) rounded to bf16, y: the 8 n rows of its tile.
template <int m, int n, int columns, typename Y, typename Thread>
LLMCALC_FORCE_INLINE void add_product(const Thread& t, float (&c)[m][columns][4], const float (&p)[m][n][4],
                                      const Y& y) {
  static_assert(Y::rows == 8 * n && Y::width == 8 * columns);
  const WarpLane l(t);
  LLMCALC_UNROLL
  for (unsigned k = 0; k < n / 2; ++k) {
    unsigned a[m][4];
    LLMCALC_UNROLL
    for (unsigned i = 0; i < m; ++i) {
      const float *const left = p[i][2 * k], *const right = p[i][2 * k + 1];
      a[i][0] = packed(left[0], left[1]);
      a[i][1] = packed(left[2], left[3]);
      a[i][2] = packed(right[0], right[1]);
      a[i][3] = packed(right[2], right[3]);
    }
    LLMCALC_UNROLL
    for (unsigned j = 0; j < columns; j += 2) {
      unsigned b[4];
      t.ldmatrix_transposed(b, y.of(l.down_row(), j + l.down_chunk()) + 16 * k * Y::row_bytes);
      LLMCALC_UNROLL
      for (unsigned i = 0; i < m; ++i) {
        t.mma(c[i][j], a[i], b[0], b[1]);
        t.mma(c[i][j + 1], a[i], b[2], b[3]);
      }
    }
  }
}

/// Sets elements of c (16 m, 8 n) to -infinity unless keep(row, column).
template <int m, int n, typename Thread, typename F>
LLMCALC_FORCE_INLINE void hide(const Thread& t, float (&c)[m][n][4], const F& keep) {
  const WarpLane l(t);
  LLMCALC_UNROLL
  for (int x = 0; x < m * n * 4; ++x) {
    const int a = x / 4 / n, b = x / 4 % n, e = x % 4;
    if (!keep(16 * a + l.row(e), 8 * b + l.column(e))) c[a][b][e] = -std::numeric_limits<float>::infinity();
  }
}

/// Writes `dim` elements of a row of c, from its upper or lower half (0, 1), multiplied by a factor.
template <int columns>
LLMCALC_FORCE_INLINE void store_row(const WarpLane& l, bf16* to, int dim, const float (&c)[columns][4], int half,
                                    float factor) {
  struct alignas(4) Two {
    bf16 low, high;
  };
  LLMCALC_UNROLL
  for (int j = 0; j < columns; ++j)
    if (8 * j < dim)
      *reinterpret_cast<Two*>(to + 8 * j + l.column(0)) =
          std::bit_cast<Two>(packed(c[j][2 * half] * factor, c[j][2 * half + 1] * factor));
}

}  // namespace llmcalc::model::cuda
