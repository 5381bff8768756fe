#pragma once
/// y = x W' + b, with a single dense matrix, one matrix per expert, or one matrix per head.

#include "model/cpu/products/experts.hpp"
#include "model/cpu/products/matmul.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// Adds b to every row.
template <typename T, typename Y>
void add_bias(Count rows, Count width, const T* b, Y* y) {
  Aligned<Wide<T>> room;
  const Wide<T>* const more = widened(width, b, room);
  each<T>(rows, width, [=](Count r) { put_row(width, more, y + r * width, true); });
}

/// db += the sum of the rows of dy, in row order.
template <typename T>
void bias_gradient(Count rows, Count width, const T* dy, Count stride, Wide<T>* db) {
  stripes<T>(width, rows, [=](Count first, Count last) {
    for (Count r = 0; r < rows; ++r) add_row(last - first, dy + r * stride + first, db + first);
  });
}

inline Flops product_flops(Count m, Count n, Count k) { return flops(2, m, n, k); }

inline Count routed_rows(const Linear& s) { return s.top_k > 0 ? s.rows : 0; }

/// Multiplies rows [0, rows) by one matrix. `following`: see MatmulShape.
template <typename T, typename Y>
Flops dense(const Linear& s, Count rows, const T* x, Count x_stride, const T* w, const T* b, Y* y,
            Count following = 0) {
  if (rows == 0) return {};
  matmul(MatmulShape{rows, s.out, s.in, false, true, false, x_stride, s.in, s.out, routed_rows(s), following}, x, w, y);
  if (b != nullptr) add_bias(rows, s.out, b, y);
  return product_flops(rows, s.out, s.in);
}

/// dx = dy W, and dW = dy' x (written or added), if not null; db += sum of dy. Rows of x and dx are x_stride apart.
template <typename T>
Flops dense_gradient(const Linear& s, Count rows, const T* x, Count x_stride, const T* w, const T* dy, Count dy_stride,
                     T* dx, bool add, Wide<T>* dw, bool add_dw, Wide<T>* db, Count following = 0) {
  if (rows == 0) {
    if (dw != nullptr && !add_dw) std::fill_n(dw, s.out * s.in, Wide<T>(0));
    return {};
  }
  if (add) following = 0;
  if (dx != nullptr)
    matmul(MatmulShape{rows, s.in, s.out, false, false, add, dy_stride, s.in, x_stride, routed_rows(s), following}, dy,
           w, dx);
  if (dw != nullptr)
    matmul(MatmulShape{s.out, s.in, rows, true, false, add_dw, dy_stride, x_stride, s.in, routed_rows(s)}, dy, x, dw);
  if (db != nullptr) bias_gradient(rows, s.out, dy, dy_stride, db);
  return ((dx != nullptr ? 1 : 0) + (dw != nullptr ? 1 : 0)) * product_flops(s.out, s.in, rows);
}

/// p + n; null if p is null.
template <typename P>
P* after(P* p, Count n) {
  return p != nullptr ? p + n : nullptr;
}

/// Runs the experts' matmuls in order, because a matmul may write into the next expert's rows.
template <typename T>
Flops routed(const Linear& s, const LinearView& v, const T* x, const T* w, const T* b, T* y) {
  const TokenRouting r = routing(s.rows / s.top_k, s.groups, static_cast<const T*>(v.choice));
  Flops done;
  for (Count e = 0; e < s.groups; ++e) {
    const Count first = r.first[static_cast<std::size_t>(e)], rows = r.first[static_cast<std::size_t>(e) + 1] - first;
    done += dense(s, rows, x + first * s.in, s.in, w + e * s.out * s.in, after(b, e * s.out), y + first * s.out,
                  s.rows - first - rows);
  }
  return done;
}
template <typename T>
Flops routed_gradient(const Linear& s, const LinearView& v, const T* x, const T* w, const T* dy, T* dx, bool add,
                      Wide<T>* dw, Wide<T>* db) {
  const Count tokens = s.rows / s.top_k;
  const TokenRouting r = routing(tokens, s.groups, static_cast<const Wide<T>*>(v.choice) + tokens * s.groups);
  Flops done;
  for (Count e = 0; e < s.groups; ++e) {
    const Count first = r.first[static_cast<std::size_t>(e)], rows = r.first[static_cast<std::size_t>(e) + 1] - first;
    done += dense_gradient(s, rows, after(x, first * s.in), s.in, w + e * s.out * s.in, dy + first * s.out, s.out,
                           after(dx, first * s.in), add, after(dw, e * s.out * s.in), v.add_weight_gradient,
                           after(db, e * s.out), s.rows - first - rows);
  }
  return done;
}

/// Absorbed projections of latent attention (DeepSeek-V2, arXiv:2405.04434, 2.1.2): each head multiplies its part of x
/// by its rows of the up-projection.
template <typename T>
Flops per_head(const Linear& s, const LinearView& v, const T* x, const T* w, T* y) {
  const Count heads = s.groups, tokens = s.rows / heads, width = v.transposed ? s.out : s.in;
  for (Count h = 0; h < heads; ++h) {
    const T* mine = w + (h * v.head_rows + v.weight_offset) * width;
    const MatmulShape m{tokens, s.out, s.in, false, !v.transposed, false, v.x_stride, width, heads * v.y_head};
    matmul(m, x + h * v.x_head, mine, y + h * v.y_head);
  }
  return product_flops(s.rows, s.out, s.in);
}

/// Gradients of y = x W' for groups of heads with one matrix each.
template <typename T>
Flops per_head_gradient(const Linear& s, const LinearView& v, const T* x, const T* w, const T* dy, T* dx, bool add,
                        Wide<T>* dw) {
  Flops done;
  for (Count h = 0; h < s.groups; ++h)
    done += dense_gradient<T>(s, s.rows / s.groups, after(x, h * v.x_head), v.x_stride, w + h * s.out * s.in,
                              dy + h * v.y_head, s.groups * v.y_head, after(dx, h * v.x_head), add,
                              after(dw, h * s.out * s.in), v.add_weight_gradient, nullptr);
  return done;
}

}  // namespace llmcalc::model::LLMCALC_ISA
