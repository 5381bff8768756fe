#pragma once
/// Products of matrices: one of four ways, by format and shape.

#include <vector>

#include "model/cpu/onednn.hpp"
#include "model/cpu/packed.hpp"
#include "model/cpu/product.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// Writes the product v, or adds it.
template <typename C, typename W>
void put_product(C* to, W v, bool add) {
  *to = static_cast<C>(add ? static_cast<W>(wide(*to)) + v : v);
}

/// Number by number: what counts its operations.
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

/// A few rows, which read a large B once: products with its rows one by one, or (B not transposed) its rows added up.
template <typename A, typename B, typename C>
void thin_matmul(const MatmulShape& s, const A* a, const B* b, C* c) {
  using W = Wide<A>;
  std::vector<W> rows(static_cast<std::size_t>(s.m * s.k));
  for (Count i = 0; i < s.m; ++i)
    lanes<A>(0, s.k, [=, to = rows.data() + i * s.k, from = a + i * s.lda](Count p) { to[p] = wide(from[p]); });
  const W* const x = rows.data();
  if (s.transpose_b)
    return each<A>(s.n, s.m * s.k, [&](Count j) {
      fetch(b + (j + 4) * s.ldb, j + 4 < s.n ? s.k : 0);
      for (Count i = 0; i < s.m; ++i) put_product(c + i * s.ldc + j, dot(s.k, x + i * s.k, b + j * s.ldb), s.add);
    });
  constexpr Count width = 256;
  each<A>((s.n + width - 1) / width, width * s.k, [&](Count block) {
    const Count first = block * width, n = std::min(width, s.n - first);
    for (Count i = 0; i < s.m; ++i) {
      W sum[width] = {};
      for (Count p = 0; p < s.k; ++p) axpy(n, x[i * s.k + p], b + p * s.ldb + first, sum);
      C* to = c + i * s.ldc + first;
      lanes<A>(0, n, [=, &s, &sum](Count j) { put_product(to + j, sum[j], s.add); });
    }
  });
}

template <typename T>
inline constexpr Number format_of = std::is_same_v<T, float> ? Number::f32 : Number::bf16;

/// oneDNN's matmul compiles a product for each shape, which takes a millisecond or so; in float32 its sgemm needs none.
template <typename T>
bool worth_compiling(const MatmulShape& s) {
  return s.m * s.n * s.k >= (std::is_same_v<T, float> ? 1 << 21 : 1 << 15);
}

template <typename A, typename B, typename C>
void matmul(const MatmulShape& s, const A* a, const B* b, C* c) {
  static_assert(std::is_same_v<A, B> && std::is_same_v<Wide<C>, Wide<A>>);
  if constexpr (!threaded<A>) {
    return plain_matmul(s, a, b, c);
  } else {
    if (s.rows_alike) return packed_matmul(s, a, b, c);
    if (s.m <= 4 && !s.transpose_a) return thin_matmul(s, a, b, c);
    if constexpr (std::is_same_v<A, float> && std::is_same_v<C, float>)
      if ((!s.transpose_b || !worth_compiling<A>(s)) && onednn_sgemm(s, a, b, c)) return;
    if constexpr (std::is_same_v<Wide<A>, float>)
      if (worth_compiling<A>(s) && onednn_matmul(s, format_of<A>, format_of<C>, a, b, c)) return;
    packed_matmul(s, a, b, c);
  }
}

}  // namespace llmcalc::model::LLMCALC_ISA
