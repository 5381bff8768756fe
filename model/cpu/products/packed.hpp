#pragma once
/// Our own matmul, for every format: tiles of C in registers, panels of A and B packed so that they are read in order
/// (Goto, van de Geijn 2008, doi:10.1145/1356052.1356053). The sum over k is split at fixed places and never across
/// threads: the result is bitwise independent of thread count and tiling.

#include "model/cpu/aligned.hpp"
#include "model/cpu/parallel.hpp"
#include "model/cpu/products/matmul_shape.hpp"
#include "model/cpu/products/vectors.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// A tile of C: `rows` rows of `columns` elements, in two registers per row.
template <typename W>
struct Tile {
#if defined(__AVX512F__)
  static constexpr Count bytes = 64, rows = 12;
#elif defined(__AVX2__)
  static constexpr Count bytes = 32, rows = 6;
#else
  static constexpr Count bytes = 16, rows = 4;
#endif
  static constexpr Count lanes = bytes / static_cast<Count>(sizeof(W)), columns = 2 * lanes;
  typedef W Vector __attribute__((vector_size(bytes)));
  typedef W Loose __attribute__((vector_size(bytes), aligned(alignof(W)), may_alias));  ///< unaligned
};

/// Block sizes: of k, of rows of A, and of the columns of C that one thread works on at a time. Packed A is 96 KiB and
/// packed B 256 KiB in float.
inline constexpr Count block_k = 256, block_rows = 96, square_columns = 256;

/// c (rows, columns) of a tile = a panel of A x a panel of B, added to c if `add`.
template <typename W>
void multiply_tile(Count k, const W* a, const W* b, W* c, Count ldc, bool add) {
  using X = Tile<W>;
  using Loose = typename X::Loose;
  typename X::Vector sum[X::rows][2] = {};
  for (Count i = 0; i < X::rows; ++i) {
    fetch(c + i * ldc, 1);
    fetch(c + i * ldc + X::columns - 1, 1);
  }
  for (Count p = 0; p < k; ++p, a += X::rows, b += X::columns) {
    const typename X::Vector left = *reinterpret_cast<const Loose*>(b);
    const typename X::Vector right = *reinterpret_cast<const Loose*>(b + X::lanes);
#pragma GCC unroll 12
    for (Count i = 0; i < X::rows; ++i) {
      sum[i][0] += a[i] * left;
      sum[i][1] += a[i] * right;
    }
  }
#pragma GCC unroll 12
  for (Count i = 0; i < X::rows; ++i)
    for (Count j = 0; j < 2; ++j) {
      Loose* to = reinterpret_cast<Loose*>(c + i * ldc + j * X::lanes);
      *to = add ? *to + sum[i][j] : sum[i][j];
    }
}

/// to[p * size + i] = from[i * stride + p] for four i and four p.
template <Count size, typename X>
LLMCALC_INLINE void turn_four(const X* from, Count stride, float* to) {
  const Floats<4> a = take<4>(from), b = take<4>(from + stride);
  const Floats<4> c = take<4>(from + 2 * stride), d = take<4>(from + 3 * stride);
  const Floats<4> ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const Floats<4> ef = __builtin_shufflevector(a, b, 2, 6, 3, 7), gh = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const Floats<4> turned[] = {__builtin_shufflevector(ab, cd, 0, 1, 4, 5), __builtin_shufflevector(ab, cd, 2, 3, 6, 7),
                              __builtin_shufflevector(ef, gh, 0, 1, 4, 5), __builtin_shufflevector(ef, gh, 2, 3, 6, 7)};
  for (Count p = 0; p < 4; ++p) std::memcpy(to + p * size, &turned[p], sizeof turned[p]);
}

/// Packs `depth` elements of each row (column) of a panel: element p of row i is at from[i * stride + p] and goes to
/// to[p * size + i].
template <Count size, typename X>
void pack_across(Count depth, const X* from, Count stride, Wide<X>* to) {
  Count p = 0;
  if constexpr (std::is_same_v<Wide<X>, float>)
    for (constexpr Count line = 16; p + line <= depth; p += line)
      for (Count i = 0; i < size; i += 4)
        for (Count q = p, first = std::min(i, size - 4); q < p + line; q += 4)
          turn_four<size>(from + first * stride + q, stride, to + q * size + first);
  for (; p < depth; ++p)
    for (Count i = 0; i < size; ++i) to[p * size + i] = wide(from[i * stride + p]);
}

/// Packs a panel of fewer rows than `size`, padded with zeros.
template <Count size, typename X>
void pack_rest(Count rows, Count depth, const X* from, Count row, Count along, Wide<X>* to) {
  for (Count p = 0; p < depth; ++p)
    for (Count i = 0; i < size; ++i) to[p * size + i] = i < rows ? wide(from[i * row + p * along]) : Wide<X>(0);
}

/// Packs panels of `size` rows (columns) of `depth` elements each, such that elements p of all rows in a panel are
/// adjacent. The last panel is padded with zeros. Element p of row (column) i is at from[i * row + p * along]; row or
/// along is 1.
template <Count size, typename X>
void pack(Count n, Count depth, const X* from, Count row, Count along, Wide<X>* to) {
  const Count whole = n / size;
  if (along == 1)
    for (Count i = 0; i < whole; ++i) pack_across<size>(depth, from + i * size * row, row, to + i * size * depth);
  else
    for (Count p = 0, few = 8; p < depth; p += few)
      for (Count i = 0; i < whole; ++i)
        for (Count q = p; q < std::min(depth, p + few); ++q)
          lanes<X>(0, size, [=, at = from + q * along + i * size, mine = to + (i * depth + q) * size](Count x) {
            mine[x] = wide(at[x]);
          });
  if (whole * size < n)
    pack_rest<size>(n - whole * size, depth, from + whole * size * row, row, along, to + whole * size * depth);
}

/// c (m, n) = packed a x packed b, added to c if `add`.
template <typename W>
void multiply_panels(Count m, Count n, Count k, const W* a, const W* b, W* c, Count ldc, bool add) {
  using X = Tile<W>;
  W edge[X::rows * X::columns];
  for (Count j = 0; j < n; j += X::columns)
    for (Count i = 0; i < m; i += X::rows) {
      const W *left = a + i * k, *right = b + j * k;
      if (i + X::rows <= m && j + X::columns <= n) {
        multiply_tile(k, left, right, c + i * ldc + j, ldc, add);
        continue;
      }
      multiply_tile(k, left, right, edge, X::columns, false);
      for (Count y = 0; y < std::min(X::rows, m - i); ++y)
        for (Count x = 0; x < std::min(X::columns, n - j); ++x) {
          W& to = c[(i + y) * ldc + j + x];
          to = add ? to + edge[y * X::columns + x] : edge[y * X::columns + x];
        }
    }
}

/// sum (rows, columns), with row stride ld, = the block of A B that starts at (row, column), added to `sum` if `add`.
template <typename A>
[[gnu::noinline]] void multiply_square(const MatmulShape& s, Count row, Count column, Count rows, Count columns,
                                       const A* a, const A* b, Wide<A>* sum, Count ld, bool add) {
  using W = Wide<A>;
  thread_local Aligned<W> left(static_cast<std::size_t>((block_rows + Tile<W>::rows) * block_k));
  thread_local Aligned<W> right(static_cast<std::size_t>((square_columns + Tile<W>::columns) * block_k));
  for (Count p = 0; p < s.k; p += block_k) {
    const Count k = std::min(block_k, s.k - p);
    const A* const theirs = s.transpose_b ? b + column * s.ldb + p : b + p * s.ldb + column;
    pack<Tile<W>::columns>(columns, k, theirs, s.transpose_b ? s.ldb : 1, s.transpose_b ? 1 : s.ldb, right.data());
    for (Count i = 0; i < rows; i += block_rows) {
      const Count m = std::min(block_rows, rows - i);
      const A* const mine = s.transpose_a ? a + p * s.lda + row + i : a + (row + i) * s.lda + p;
      pack<Tile<W>::rows>(m, k, mine, s.transpose_a ? 1 : s.lda, s.transpose_a ? s.lda : 1, left.data());
      multiply_panels(m, columns, k, left.data(), right.data(), sum + i * ld, ld, p > 0 || add);
    }
  }
}

}  // namespace llmcalc::model::LLMCALC_ISA
