#pragma once
/// The tiles of the instruction set in use, under the names that they have in rows.hpp.

#include "model/cpu/parallel.hpp"
#include "model/cpu/philox.hpp"
#include "model/cpu/sum.hpp"
#include "model/cpu/tiles.hpp"
#include "model/math/activation.hpp"

namespace llmcalc::model::LLMCALC_ISA {

template <typename T>
const Tiles<T>& tiles_of() {
  const AllTiles& all = *tiles_in_use.load(std::memory_order_relaxed);
  if constexpr (std::is_same_v<T, float>)
    return all.f32;
  else if constexpr (std::is_same_v<T, bf16>)
    return all.bf;
  else
    return all.half;
}
inline const WideTiles<float>& wide_tiles() { return tiles_in_use.load(std::memory_order_relaxed)->wide; }

template <typename W>
void add_rows(Count n, const W* a, const W* b, W* y) {
  return wide_tiles().add_rows(n, a, b, y);
}

template <typename W>
void multiply_rows(Count n, const W* a, const W* b, W* y) {
  return wide_tiles().multiply_rows(n, a, b, y);
}

template <typename W>
void scale_row(Count n, W factor, const W* x, W* y) {
  return wide_tiles().scale_row(n, factor, x, y);
}

template <typename W>
ActivationRows<W> activation_rows(Activation a) {
  return wide_tiles().activation_rows(a);
}

template <typename W>
RowStatistics<W> row_statistics(const Norm& s, const W* x, double epsilon) {
  return wide_tiles().row_statistics(s, x, epsilon);
}

template <typename W>
void normalize(Count n, const W* x, RowStatistics<W> st, const W* weight, const W* bias, W* y) {
  return wide_tiles().normalize(n, x, st, weight, bias, y);
}

template <typename W>
void norm_row_gradient(const Norm& s, const W* x, const W* d, const W* weight, RowStatistics<W> st, W* dx, bool add,
                       WeightSums<W> sums) {
  return wide_tiles().norm_row_gradient(s, x, d, weight, st, dx, add, sums);
}

template <typename W>
void turn_rows(Count n, const W* a, const W* b, const W* cosine, const W* sine, W direction, W* to_a, W* to_b) {
  return wide_tiles().turn_rows(n, a, b, cosine, sine, direction, to_a, to_b);
}

template <typename W>
void add_exponentials(Count n, const W* x, OnlineSum<W>& sum) {
  return wide_tiles().add_exponentials(n, x, sum);
}

template <typename W>
W logarithm(Count n, const OnlineSum<W>& sum) {
  return wide_tiles().logarithm(n, sum);
}

template <typename W>
void exponential_row(Count n, const W* x, W most, W f, W* y) {
  return wide_tiles().exponential_row(n, x, most, f, y);
}

template <typename W>
W softmax(Count n, W* x, const W* sink) {
  return wide_tiles().softmax(n, x, sink);
}

template <typename W>
void score_gradients(Count n, const W* p, const W* keep, W mean, W* ds, W* dropped) {
  return wide_tiles().score_gradients(n, p, keep, mean, ds, dropped);
}

template <typename W>
void adam_row(const AdamNumbers<W>& o, Count n, const W* g, W* weight, W* m, W* v) {
  return wide_tiles().adam_row(o, n, g, weight, m, v);
}

template <typename W>
void descent_row(const DescentNumbers<W>& o, Count n, const W* g, W* weight, W* velocity) {
  return wide_tiles().descent_row(o, n, g, weight, velocity);
}

template <typename W>
double sum_of_squares(Count n, const W* x) {
  return wide_tiles().sum_of_squares(n, x);
}

/// Number of mask elements drawn together: 32 blocks of four words.
inline constexpr Count dice = 4 * philox_blocks;

template <typename W>
void throw_dice(const Dropout& d, Count first, W* factor) {
  return wide_tiles().throw_dice(d, first, factor);
}

template <typename W>
void add_to_rows(Count n, Count width, const W* c, const W* x, W* rows) {
  return wide_tiles().add_to_rows(n, width, c, x, rows);
}

template <typename W>
void add_product(Count m, Count n, Count k, const W* a, Count row, Count column, const W* b, W* c) {
  return wide_tiles().add_product(m, n, k, a, row, column, b, c);
}

template <typename W>
void product_with_rows(Count m, Count n, Count k, const W* a, const W* b, W* c) {
  return wide_tiles().product_with_rows(m, n, k, a, b, c);
}

template <typename T>
void widen(Count n, const T* from, Wide<T>* to) {
  return tiles_of<T>().widen(n, from, to);
}

template <typename T>
void put_row(Count n, const Wide<T>* from, T* to, bool add) {
  return tiles_of<T>().put_row(n, from, to, add);
}

template <typename T>
void add_row(Count n, const T* x, Wide<T>* y) {
  return tiles_of<T>().add_row(n, x, y);
}

template <typename T>
void add_scaled_row(Count n, Wide<T> c, const T* x, Wide<T>* y) {
  return tiles_of<T>().add_scaled_row(n, c, x, y);
}

template <typename T>
Wide<T> row_product(Count n, const T* x, const T* z) {
  return tiles_of<T>().row_product(n, x, z);
}

template <typename T>
void dot_rows(Count n, const SplitRow<Wide<T>>& x, const T* rows, Count stride, const T* rest, Count rest_stride,
              Wide<T>* to) {
  return tiles_of<T>().dot_rows(n, x, rows, stride, rest, rest_stride, to);
}

template <typename T>
void dot_rows(Count n, Count width, const Wide<T>* x, const T* rows, Count stride, Wide<T>* to) {
  dot_rows<T>(n, {x, width}, rows, stride, nullptr, 0, to);
}

template <typename T>
void add_rows_times(Count n, Count width, const Wide<T>* c, const T* rows, Count stride, Wide<T>* y) {
  return tiles_of<T>().add_rows_times(n, width, c, rows, stride, y);
}

template <typename T>
void multiply_square(const MatmulShape& s, Count row, Count column, Count rows, Count columns, const T* a, const T* b,
                     Wide<T>* sum, Count ld, bool add) {
  return tiles_of<T>().multiply_square(s, row, column, rows, columns, a, b, sum, ld, add);
}

/// Rarely used activations, compiled with the operators rather than once per instruction set.
template <typename F, typename W>
[[gnu::noinline]] void value_row(Count n, const W* x, W* y) {
  lanes<W>(0, n, [=](Count i) { y[i] = F::value(x[i]); });
}
template <typename F, typename W>
[[gnu::noinline]] void slope_row(Count n, const W* x, const W* dy, W* dx) {
  lanes<W>(0, n, [=](Count i) { dx[i] = dy[i] * F::slope(x[i]); });
}
template <typename F, typename W>
[[gnu::noinline]] void gate_row(Count n, const W* a, const W* b, W* y) {
  lanes<W>(0, n, [=](Count i) { y[i] = F::value(a[i]) * b[i]; });
}
template <typename F, typename W>
[[gnu::noinline]] void gate_slope_row(Count n, const W* a, const W* b, const W* dy, W* da) {
  lanes<W>(0, n, [=](Count i) { da[i] = dy[i] * b[i] * F::slope(a[i]); });
}
template <typename F, typename W>
inline constexpr ActivationRows<W> rows_of{value_row<F, W>, slope_row<F, W>, gate_row<F, W>, gate_slope_row<F, W>};

/// A row as wide elements: the row itself, or the row converted into `room`.
template <typename T>
const Wide<T>* widened(Count n, const T* row, Wide<T>* room) {
  if constexpr (std::is_same_v<T, Wide<T>>)
    return row;
  else
    return widen(n, row, room), room;
}

}  // namespace llmcalc::model::LLMCALC_ISA
