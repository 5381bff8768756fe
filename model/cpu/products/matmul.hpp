#pragma once
/// Matmuls by one of four methods, chosen by format and shape.

#include <bit>
#include <utility>

#include "model/cpu/aligned.hpp"
#include "model/cpu/products/narrow.hpp"
#include "model/cpu/products/onednn.hpp"
#include "model/cpu/products/product.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// Writes or adds the dot product v.
template <typename C, typename W>
void put_product(C* to, W v, bool add) {
  *to = static_cast<C>(add ? static_cast<W>(wide(*to)) + v : v);
}

/// Multiplies in a plain triple loop, for element types that count their operations.
template <typename A, typename B, typename C>
void plain_matmul(const MatmulShape& s, const A* a, const B* b, C* c) {
  using W = Wide<A>;
  const Count row = s.transpose_a ? 1 : s.lda, left = s.transpose_a ? s.lda : 1;
  const Count column = s.transpose_b ? s.ldb : 1, right = s.transpose_b ? 1 : s.ldb;
  for (Count i = 0; i < s.m; ++i)
    for (Count j = 0; j < s.n; ++j) {
      W sum(0);
      {
        [[maybe_unused]] const InProduct<W> scope;
        for (Count p = 0; p < s.k; ++p) sum += wide(a[i * row + p * left]) * wide(b[j * column + p * right]);
      }
      put_product(c + i * s.ldc + j, sum, s.add);
    }
}

/// Rows and columns of C that one thread works on at a time; square_columns of packed.hpp is the maximum for columns.
inline constexpr Count product_rows = 384, product_columns = 256;

/// Computes the block of C that starts at (row, column): in place, or through a wide buffer.
template <typename A, typename C>
void put_square(const MatmulShape& s, Count row, Count column, Count rows, Count columns, const A* a, const A* b,
                C* c) {
  using W = Wide<A>;
  if constexpr (std::is_same_v<C, W>) {
    multiply_square(s, row, column, rows, columns, a, b, c + row * s.ldc + column, s.ldc, s.add);
  } else {
    thread_local Aligned<W> sums(static_cast<std::size_t>(product_rows * product_columns));
    multiply_square(s, row, column, rows, columns, a, b, sums.data(), columns, false);
    for (Count i = 0; i < rows; ++i) put_row(columns, sums.data() + i * columns, c + (row + i) * s.ldc + column, s.add);
  }
}

/// Multiplies with our own kernel, for every format. The result is bitwise independent of thread count and tiling.
template <typename A, typename B, typename C>
void packed_matmul(const MatmulShape& s, const A* a, const B* b, C* c) {
  // Small matmuls use smaller blocks, so that every thread has one.
  Count rows = product_rows, columns = product_columns;
  const auto squares = [&] { return ((s.m + rows - 1) / rows) * ((s.n + columns - 1) / columns); };
  while (squares() < 2 * threads() && columns > 64) {
    rows /= 2;
    columns /= 2;
  }
  const Count across = (s.n + columns - 1) / columns;
  each<A>(squares(), rows * columns + s.k * (rows + columns), [&](Count i) {
    const Count row = i / across * rows, column = i % across * columns;
    put_square(s, row, column, std::min(rows, s.m - row), std::min(columns, s.n - column), a, b, c);
  });
}

/// Multiplies few rows and reads a large B once: computes dot products with the rows of B or, if B is not transposed,
/// weighted sums of its rows.
template <typename A, typename B, typename C>
void thin_matmul(const MatmulShape& s, const A* a, const B* b, C* c) {
  using W = Wide<A>;
  Aligned<W> rows(static_cast<std::size_t>(s.m * s.k));
  for (Count i = 0; i < s.m; ++i) {
    W* const to = rows.data() + i * s.k;
    if (const W* const from = widened(s.k, a + i * s.lda, to); from != to) std::copy_n(from, s.k, to);
  }
  const W* const x = rows.data();
  if (s.transpose_b)
    return each<A>(s.n, s.m * s.k, [&](Count j) {
      fetch(b + (j + 4) * s.ldb, j + 4 < s.n ? s.k : 0);
      for (Count i = 0; i < s.m; ++i) {
        W product;
        dot_rows(1, s.k, x + i * s.k, b + j * s.ldb, 0, &product);
        put_product(c + i * s.ldc + j, product, s.add);
      }
    });
  constexpr Count width = 256;
  each<A>((s.n + width - 1) / width, width * s.k, [&](Count block) {
    const Count first = block * width, n = std::min(width, s.n - first);
    for (Count i = 0; i < s.m; ++i) {
      W sum[width] = {};
      add_rows_times(s.k, n, x + i * s.k, b + first, s.ldb, sum);
      put_row(n, sum, c + i * s.ldc + first, s.add);
    }
  });
}

template <typename T>
inline constexpr Number format_of = std::is_same_v<T, float>  ? Number::f32
                                    : std::is_same_v<T, bf16> ? Number::bf16
                                                              : Number::f16;

/// Whether a compiled matmul pays off. oneDNN compiles its matmul for each shape, in about a millisecond; its float32
/// sgemm is not compiled.
template <typename T>
bool worth_compiling(const MatmulShape& s) {
  const Count m = s.routed_rows > 0 && !s.transpose_a ? s.routed_rows : s.m;
  return m * s.n * s.k >= (std::is_same_v<T, float> ? 1 << 21 : 1 << 15);
}

/// Multiplies many rows.
template <typename A, typename B, typename C>
void large_matmul(const MatmulShape& s, const A* a, const B* b, C* c) {
  const bool compiled = worth_compiling<A>(s), alike = s.routed_rows > 0 && s.transpose_b;
  if constexpr (std::is_same_v<A, float> && std::is_same_v<C, float>)
    if ((!s.transpose_b || !compiled) && !alike && onednn_sgemm(s, a, b, c)) return;
  if constexpr (std::is_same_v<Wide<A>, float>)
    if (compiled && onednn_matmul(s, format_of<A>, format_of<C>, a, b, c)) return;
  packed_matmul(s, a, b, c);
}

/// Granule to which row counts are rounded up: 8 or, if greater, at most a quarter of the rows, so that an expert's
/// varying row counts need few compiled shapes.
inline Count granule(Count rows) {
  return std::max<Count>(8, static_cast<Count>(std::bit_floor(static_cast<std::uint64_t>(rows))) / 4);
}

/// A copy of some rows, padded with zero rows; valid until the next copy in `room`.
template <typename X>
X* filled_up(Aligned<X>& room, Count rows, Count all, Count width, Count stride, const X* from) {
  room.resize(static_cast<std::size_t>(all * stride));
  X* const to = room.data();
  each<X>(all, width, [=](Count i) {
    i < rows ? std::copy_n(from + i * stride, width, to + i * stride) : std::fill_n(to + i * stride, width, X(0));
  });
  return to;
}

/// Multiplies fewer rows than s.m, padded with zero rows.
template <typename A, typename B, typename C>
void filled_matmul(const MatmulShape& s, Count rows, const A* a, const B* b, C* c) {
  thread_local Aligned<A> left;
  thread_local Aligned<C> product;
  C* const to = filled_up(product, s.add ? rows : 0, s.m, s.n, s.ldc, c);
  large_matmul(s, filled_up(left, rows, s.m, s.k, s.lda, a), b, to);
  for (Count i = 0; i < rows; ++i) std::copy_n(to + i * s.ldc, s.n, c + i * s.ldc);
}

/// Multiplies one expert's rows. Rounds their number up by including the rows that follow or, if too few follow, by
/// padding the last rows with zero rows.
template <typename A, typename B, typename C>
void routed_matmul(MatmulShape s, const A* a, const B* b, C* c) {
  const Count rows = s.m, step = granule(rows), up = (rows + step - 1) / step * step, whole = rows - rows % step;
  const bool room = up - rows <= std::exchange(s.following, 0);
  s.m = room ? up : whole;
  if (s.m > 0) large_matmul(s, a, b, c);
  if (s.m >= rows) return;
  s.m = step;
  filled_matmul(s, rows - whole, a + whole * s.lda, b, c + whole * s.ldc);
}

/// Computes the gradient of an expert's matrix, a sum over the expert's rows, which are padded with zero rows.
template <typename A, typename B, typename C>
void routed_sum(MatmulShape s, const A* a, const B* b, C* c) {
  const Count rows = s.k, step = granule(rows);
  s.k = (rows + step - 1) / step * step;
  if (std::is_same_v<A, float> || !worth_compiling<A>(s)) return s.k = rows, large_matmul(s, a, b, c);
  thread_local Aligned<A> left;
  thread_local Aligned<B> right;
  large_matmul(s, filled_up(left, rows, s.k, s.m, s.lda, a), filled_up(right, rows, s.k, s.n, s.ldb, b), c);
}

template <typename A, typename B, typename C>
void matmul(const MatmulShape& s, const A* a, const B* b, C* c) {
  static_assert(std::is_same_v<A, B> && std::is_same_v<Wide<C>, Wide<A>>);
  if constexpr (!threaded<A>) {
    return plain_matmul(s, a, b, c);
  } else {
    constexpr Count few = 4, few_routed = 16;
    if (s.routed_rows > few_routed && onednn_there())
      return s.transpose_a ? routed_sum(s, a, b, c) : routed_matmul(s, a, b, c);
    if ((s.routed_rows > 0 ? s.routed_rows <= few_routed : s.m <= few) && !s.transpose_a)
      return thin_matmul(s, a, b, c);
    large_matmul(s, a, b, c);
  }
}

}  // namespace llmcalc::model::LLMCALC_ISA
