#pragma once
/// A matrix product of our own for every format: tiles of C in registers, panels of A and B packed so that they are
/// read in order (Goto, van de Geijn 2008, doi:10.1145/1356052.1356053). The sum over k is cut at fixed places and
/// never between threads: neither their number nor the tiling changes a bit of the result.

#include "model/cpu/aligned.hpp"
#include "model/cpu/matmul_shape.hpp"
#include "model/cpu/parallel.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// A tile of C: `rows` rows of `columns` numbers, kept in two registers per row.
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
  typedef W Loose __attribute__((vector_size(bytes), aligned(alignof(W)), may_alias));  ///< anywhere in memory
};

/// Numbers of one block: of k, of rows of A, and of C's rows and columns that one thread works on at a time. Packed A
/// is 96 KiB and packed B 256 KiB in float.
inline constexpr Count block_k = 256, block_rows = 96, square_rows = 384, square_columns = 256;

/// c (rows, columns) of a tile = a panel of A x a panel of B, added to c if `add`.
template <typename W>
void multiply_tile(Count k, const W* a, const W* b, W* c, Count ldc, bool add) {
  using X = Tile<W>;
  using Loose = typename X::Loose;
  typename X::Vector sum[X::rows][2] = {};
  for (Count p = 0; p < k; ++p, a += X::rows, b += X::columns) {
    const typename X::Vector left = *reinterpret_cast<const Loose*>(b);
    const typename X::Vector right = *reinterpret_cast<const Loose*>(b + X::lanes);
#pragma GCC unroll 12
    for (Count i = 0; i < X::rows; ++i) sum[i][0] += a[i] * left, sum[i][1] += a[i] * right;
  }
#pragma GCC unroll 12
  for (Count i = 0; i < X::rows; ++i)
    for (Count j = 0; j < 2; ++j) {
      Loose* to = reinterpret_cast<Loose*>(c + i * ldc + j * X::lanes);
      *to = add ? *to + sum[i][j] : sum[i][j];
    }
}

/// Panels of `size` rows (columns) of `depth` numbers each, the k-th numbers of a panel side by side; what is missing
/// in the last panel is 0. from(i, p): number p of row (column) i.
template <typename W, typename F>
void pack(Count n, Count depth, Count size, W* to, const F& from) {
  for (Count first = 0; first < n; first += size, to += size * depth) {
    const Count there = std::min(size, n - first);
    for (Count p = 0; p < depth; ++p) {
      for (Count i = 0; i < there; ++i) to[p * size + i] = from(first + i, p);
      for (Count i = there; i < size; ++i) to[p * size + i] = W(0);
    }
  }
}

/// c (m, n) += packed a x packed b (written, not added, unless `add`).
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

/// The square of C from (row, column) on, rows x columns numbers.
template <typename A, typename B, typename C>
void multiply_square(const MatmulShape& s, Count row, Count column, Count rows, Count columns, const A* a, const B* b,
                     C* c) {
  using W = Wide<A>;
  thread_local Aligned<W> left(static_cast<std::size_t>((block_rows + Tile<W>::rows) * block_k));
  thread_local Aligned<W> right(static_cast<std::size_t>((square_columns + Tile<W>::columns) * block_k));
  thread_local Aligned<W> sums;
  W* sum = nullptr;
  Count ld = s.ldc;
  if constexpr (std::is_same_v<C, W>) {
    sum = c + row * s.ldc + column;
  } else {
    sums.resize(static_cast<std::size_t>(square_rows * square_columns));
    sum = sums.data(), ld = columns;
  }
  for (Count p = 0; p < s.k; p += block_k) {
    const Count k = std::min(block_k, s.k - p);
    const B* from = s.transpose_b ? b + column * s.ldb + p : b + p * s.ldb + column;
    const Count j = s.transpose_b ? s.ldb : 1, q = s.transpose_b ? 1 : s.ldb;
    pack(columns, k, Tile<W>::columns, right.data(), [=](Count x, Count y) { return wide(from[x * j + y * q]); });
    for (Count i = 0; i < rows; i += block_rows) {
      const Count m = std::min(block_rows, rows - i);
      const A* mine = s.transpose_a ? a + p * s.lda + row + i : a + (row + i) * s.lda + p;
      const Count y = s.transpose_a ? 1 : s.lda, x = s.transpose_a ? s.lda : 1;
      pack(m, k, Tile<W>::rows, left.data(), [=](Count u, Count v) { return wide(mine[u * y + v * x]); });
      multiply_panels(m, columns, k, left.data(), right.data(), sum + i * ld, ld,
                      p > 0 || (s.add && sum != sums.data()));
    }
  }
  if constexpr (!std::is_same_v<C, W>)
    for (Count i = 0; i < rows; ++i) {
      C* to = c + (row + i) * s.ldc + column;
      lanes<A>(0, columns,
               [=, from = sum + i * ld](Count x) { to[x] = static_cast<C>(s.add ? wide(to[x]) + from[x] : from[x]); });
    }
}

template <typename A, typename B, typename C>
void packed_matmul(const MatmulShape& s, const A* a, const B* b, C* c) {
  // Small products in smaller squares, so that every thread has one.
  Count rows = square_rows, columns = square_columns;
  const auto squares = [&] { return ((s.m + rows - 1) / rows) * ((s.n + columns - 1) / columns); };
  while (squares() < 2 * threads() && columns > 64) rows /= 2, columns /= 2;
  const Count across = (s.n + columns - 1) / columns;
  each<A>(squares(), rows * columns + s.k * (rows + columns), [&](Count i) {
    const Count row = i / across * rows, column = i % across * columns;
    multiply_square(s, row, column, std::min(rows, s.m - row), std::min(columns, s.n - column), a, b, c);
  });
}

}  // namespace llmcalc::model::LLMCALC_ISA
