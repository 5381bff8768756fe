#pragma once
/// The tiles: inner loops on rows, see tiles.hpp. Functions are not inlined, so that each has only one copy.

#include <array>

#include "model/cpu/philox.hpp"
#include "model/cpu/products/packed.hpp"
#include "model/cpu/products/product.hpp"
#include "model/cpu/products/vectors.hpp"
#include "model/cpu/sum.hpp"
#include "model/cpu/tiles.hpp"
#include "model/math/activation.hpp"

#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace llmcalc::model::LLMCALC_ISA {

/// to[i] = from[i], widened.
inline void widen(Count n, const bf16* from, float* to) {
  lanes<bf16>(0, n, [=](Count i) { to[i] = wide(from[i]); });
}
inline void widen(Count n, const fp16* from, float* to) {
  Count i = 0;
#ifdef __F16C__
  for (; i + register_floats <= n; i += register_floats) {
    const Floats<register_floats> v = take<register_floats>(from + i);
    std::memcpy(to + i, &v, sizeof v);
  }
#endif
  lanes<fp16>(i, n, [=](Count k) { to[k] = wide(from[k]); });
}

/// A row as wide elements: the row itself, or the row converted into `room`.
template <typename T>
const Wide<T>* widened(Count n, const T* row, Wide<T>* room) {
  if constexpr (std::is_same_v<T, Wide<T>>)
    return row;
  else
    return widen(n, row, room), room;
}

/// to[i] = from[i], rounded.
template <typename T>
void narrow_by_software(Count n, const float* from, T* to) {
  lanes<T>(0, n, [=](Count i) { to[i] = T(from[i]); });
}

#ifdef __AVX512F__

/// to[i] = from[i], rounded by a CPU instruction. The instruction flushes values below 2^-126 to 0, so blocks that
/// contain such values are rounded in software.
[[gnu::target("avx512bf16")]] inline void narrow_by_instruction(Count n, const float* from, bf16* to) {
  __mmask16 tiny = 0;
  for (Count i = 0; i < n; i += 16) {
    const __mmask16 there = n - i >= 16 ? __mmask16(0xffff) : static_cast<__mmask16>((1U << (n - i)) - 1);
    const __m512 x = _mm512_maskz_loadu_ps(there, from + i);
    constexpr int denormal = 0x20;
    tiny = static_cast<__mmask16>(tiny | _mm512_fpclass_ps_mask(x, denormal));
    _mm256_mask_storeu_epi16(to + i, there, std::bit_cast<__m256i>(_mm512_cvtneps_pbh(x)));
  }
  if (tiny != 0) narrow_by_software(n, from, to);
}

inline void narrow(Count n, const float* from, bf16* to) {
  static const bool has_instruction = __builtin_cpu_supports("avx512bf16");
  has_instruction ? narrow_by_instruction(n, from, to) : narrow_by_software(n, from, to);
}

/// to[i] = from[i], rounded to half precision, for which every CPU with AVX-512 has an instruction.
inline void narrow(Count n, const float* from, fp16* to) {
  for (Count i = 0; i < n; i += 16) {
    const __mmask16 there = n - i >= 16 ? __mmask16(0xffff) : static_cast<__mmask16>((1U << (n - i)) - 1);
    const __m512 x = _mm512_maskz_loadu_ps(there, from + i);
    _mm256_mask_storeu_epi16(to + i, there, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
}

#else

inline void narrow(Count n, const float* from, bf16* to) { narrow_by_software(n, from, to); }
inline void narrow(Count n, const float* from, fp16* to) {
  Count i = 0;
#ifdef __F16C__
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), 0));
#endif
  narrow_by_software(n - i, from + i, to + i);
}

#endif

/// to[i] = from[i], rounded, or, if `add`, to[i] += from[i], for n elements.
template <typename T>
[[gnu::noinline]] void put_row(Count n, const Wide<T>* from, T* to, bool add) {
  if constexpr (std::is_same_v<T, Wide<T>>) {
    if (add) return lanes<T>(0, n, [=](Count i) { to[i] = to[i] + from[i]; });
    std::copy_n(from, n, to);
  } else {
    if (!add) return narrow(n, from, to);
    std::array<Wide<T>, row_block> sums;
    for (Count at = 0; at < n; at += row_block) {
      const Count some = std::min(row_block, n - at);
      const Wide<T>* const old = widened(some, to + at, sums.data());
      lanes<T>(0, some, [=, sum = sums.data(), more = from + at](Count i) { sum[i] = old[i] + more[i]; });
      narrow(some, sums.data(), to + at);
    }
  }
}

/// y += x, y wide
template <typename X>
[[gnu::noinline]] void add_row(Count n, const X* x, Wide<X>* y) {
  lanes<X>(0, n, [=](Count i) { y[i] += wide(x[i]); });
}
/// y += c x, y wide
template <typename X>
[[gnu::noinline]] void add_scaled_row(Count n, Wide<X> c, const X* x, Wide<X>* y) {
  lanes<X>(0, n, [=](Count i) { y[i] += c * wide(x[i]); });
}

template <typename W>
[[gnu::noinline]] void add_rows(Count n, const W* a, const W* b, W* y) {
  lanes<W>(0, n, [=](Count i) { y[i] = a[i] + b[i]; });
}
template <typename W>
[[gnu::noinline]] void multiply_rows(Count n, const W* a, const W* b, W* y) {
  lanes<W>(0, n, [=](Count i) { y[i] = a[i] * b[i]; });
}
template <typename W>
[[gnu::noinline]] void scale_row(Count n, W factor, const W* x, W* y) {
  lanes<W>(0, n, [=](Count i) { y[i] = x[i] * factor; });
}

/// The sum of x z over a row.
template <typename T>
[[gnu::noinline]] Wide<T> row_product(Count n, const T* x, const T* z) {
  return sum_of<Wide<T>>(n, [=](Count i) { return wide(x[i]) * wide(z[i]); });
}

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

template <typename W>
ActivationRows<W> activation_rows(Activation a) {
  ActivationRows<W> rows{};
  with_activation(a, [&](auto f) { rows = rows_of<decltype(f), W>; });
  return rows;
}

template <typename W>
[[gnu::noinline]] RowStatistics<W> row_statistics(const Norm& s, const W* x, double epsilon) {
  const W n = number<W>(static_cast<double>(s.width));
  W mean(0);
  if (s.centered) mean = sum_of<W>(s.width, [=](Count i) { return x[i]; }) / n;
  const W square = sum_of<W>(s.width, [=](Count i) { return (x[i] - mean) * (x[i] - mean); });
  return {mean, W(1) / sqrt_of(square / n + W(epsilon))};
}

template <typename W>
[[gnu::noinline]] void normalize(Count n, const W* x, RowStatistics<W> st, const W* w, const W* b, W* y) {
  const W m = st.mean, f = st.inverse;
  if (w == nullptr)
    lanes<W>(0, n, [=](Count i) { y[i] = (x[i] - m) * f; });
  else if (b == nullptr)
    lanes<W>(0, n, [=](Count i) { y[i] = (x[i] - m) * f * w[i]; });
  else
    lanes<W>(0, n, [=](Count i) { y[i] = (x[i] - m) * f * w[i] + b[i]; });
}

/// Computes dx of one row: inverse (g - mean(g) - n mean(g n)), where g = dy w and n is the normalized row; RMSNorm
/// omits mean(g). Adds dy n to the weight sums and dy to the bias sums. A null w means all ones.
template <typename W>
[[gnu::noinline]] void norm_row_gradient(const Norm& s, const W* x, const W* d, const W* w, RowStatistics<W> st, W* dx,
                                         bool add, WeightSums<W> sums) {
  thread_local Aligned<W> room;
  room.resize(static_cast<std::size_t>(2 * s.width));
  W *const own = room.data(), *const normal = own + s.width;
  const W n = number<W>(static_cast<double>(s.width)), m = st.mean, f = st.inverse;
  lanes<W>(0, s.width, [=](Count i) { normal[i] = (x[i] - m) * f; });
  lanes<W>(0, s.width, [=](Count i) { own[i] = d[i] * (w != nullptr ? w[i] : W(1)); });
  const W* const g = own;
  if (sums.weight != nullptr) lanes<W>(0, s.width, [=](Count i) { sums.weight[i] += d[i] * normal[i]; });
  if (sums.bias != nullptr) lanes<W>(0, s.width, [=](Count i) { sums.bias[i] += d[i]; });
  const W sum = s.centered ? sum_of<W>(s.width, [=](Count i) { return g[i]; }) / n : W(0);
  const W with_n = sum_of<W>(s.width, [=](Count i) { return g[i] * normal[i]; }) / n;
  if (add)
    lanes<W>(0, s.width, [=](Count i) { dx[i] = dx[i] + (g[i] - sum - normal[i] * with_n) * f; });
  else
    lanes<W>(0, s.width, [=](Count i) { dx[i] = (g[i] - sum - normal[i] * with_n) * f; });
}

/// Rotates n pairs (a, b) by angles with these cosines and sines.
template <typename W>
[[gnu::noinline]] void turn_rows(Count n, const W* a, const W* b, const W* cosine, const W* sine, W direction, W* to_a,
                                 W* to_b) {
  lanes<W>(0, n, [=](Count i) {
    const W x = a[i], y = b[i];
    to_a[i] = x * cosine[i] - y * (direction * sine[i]);
    to_b[i] = y * cosine[i] + x * (direction * sine[i]);
  });
}

/// Adds the exponentials of a block. Rescales the previous sums if the block has a new maximum.
template <typename W>
[[gnu::noinline]] void add_exponentials(Count n, const W* x, OnlineSum<W>& sum) {
  W* const sums = sum.sums;
  if (const W next = greatest_of<W>(n, x); next > sum.most) {
    const W shrink = exp_of(sum.most - next);
    lanes<W>(0, row_block, [=](Count i) { sums[i] *= shrink; });
    sum.most = next;
  }
  lanes<W>(0, n, [=, most = sum.most](Count i) { sums[i] += exp_of(x[i] - most); });
}
/// The logarithm of a sum of exponentials over n elements.
template <typename W>
[[gnu::noinline]] W logarithm(Count n, const OnlineSum<W>& sum) {
  const W* const sums = sum.sums;
  return sum.most + log_of(sum_of<W>(std::min(row_block, n), [=](Count i) { return sums[i]; }));
}

/// y = e^(x - most) f
template <typename W>
[[gnu::noinline]] void exponential_row(Count n, const W* x, W most, W f, W* y) {
  lanes<W>(0, n, [=](Count i) { y[i] = exp_of(x[i] - most) * f; });
}

/// Softmax of a row of n scores in place. Returns the log-sum-exp, including a sink's logit.
template <typename W>
[[gnu::noinline]] W softmax(Count n, W* x, const W* sink) {
  W most = greatest_of<W>(n, x);
  if (sink != nullptr && *sink > most) most = *sink;
  W total = exponentials(n, most, x);
  if (sink != nullptr) total += exp_of(*sink - most);
  const W inverse = W(1) / total;
  lanes<W>(0, n, [=](Count i) { x[i] = x[i] * inverse; });
  return most + log_of(total);
}

/// Replaces dp by ds = p (dp keep - mean). Also computes the probabilities after dropout.
template <typename W>
[[gnu::noinline]] void score_gradients(Count n, const W* p, const W* keep, W mean, W* ds, W* dropped) {
  lanes<W>(0, n, [=](Count j) { ds[j] = p[j] * (ds[j] * keep[j] - mean), dropped[j] = p[j] * keep[j]; });
}

/// Applies one AdamW step to n weights and their moments.
template <typename W>
[[gnu::noinline]] void adam_row(const AdamNumbers<W>& o, Count n, const W* g, W* weight, W* m, W* v) {
  lanes<W>(0, n, [=](Count i) {
    m[i] = o.b1 * m[i] + o.c1 * g[i];
    v[i] = o.b2 * v[i] + o.c2 * g[i] * g[i];
    weight[i] = weight[i] * o.shrink - o.rate * (m[i] * o.bias1) / (sqrt_of(v[i] * o.bias2) + o.epsilon);
  });
}
/// velocity = momentum velocity + g; w -= rate velocity. Without a velocity: plain gradient descent.
template <typename W>
[[gnu::noinline]] void descent_row(const DescentNumbers<W>& o, Count n, const W* g, W* weight, W* velocity) {
  if (velocity == nullptr) return lanes<W>(0, n, [=](Count i) { weight[i] = weight[i] * o.shrink - o.rate * g[i]; });
  lanes<W>(0, n, [=](Count i) {
    velocity[i] = o.keep * velocity[i] + g[i];
    weight[i] = weight[i] * o.shrink - o.rate * velocity[i];
  });
}
template <typename W>
[[gnu::noinline]] double sum_of_squares(Count n, const W* x) {
  return sum_of<double>(n, [=](Count i) {
    const double v = static_cast<double>(x[i]);
    return v * v;
  });
}

/// Number of mask elements drawn together: 32 blocks of four words.
inline constexpr Count dice = 4 * philox_blocks;

/// The smallest word w with unit_float(w) >= p; unit_float drops the low 8 bits of a word.
inline std::uint32_t first_that_stays(double p) {
  return static_cast<std::uint32_t>(std::ceil(static_cast<double>(static_cast<float>(p)) * (1 << 24))) << 8U;
}

/// Draws the dropout factors of elements [first, first + dice): 1/(1 - p), or 0 if dropped; first: a multiple of dice.
template <typename W>
[[gnu::noinline]] void throw_dice(const Dropout& d, Count first, W* factor) {
  const std::uint32_t least = first_that_stays(d.p);
  const W keep = number<W>(1 / (1 - d.p));
  std::uint32_t words[dice];
  philox_words(random_key(d.key), static_cast<std::uint64_t>(first) / 4, words);
  lanes<W>(0, dice, [&](Count i) { factor[i] = words[i] >= least ? keep : W(0); });
}

// ---- operations on n rows of a matrix with row stride `stride`, in elements

/// to_j = x' row j; `rows` points to the first element of the first row.
template <typename X>
[[gnu::noinline]] void dot_rows(Count n, const SplitRow<Wide<X>>& x, const X* rows, Count stride, const X* rest,
                                Count rest_stride, Wide<X>* to) {
  for (Count j = 0; j < n; ++j) {
    Dot<Wide<X>> sum;
    sum.add(x.width, x.first, rows + j * stride);
    if (x.rest > 0) sum.add(x.rest, x.second, rest + j * rest_stride);
    to[j] = sum.total();
  }
}
template <typename X>
void dot_rows(Count n, Count width, const Wide<X>* x, const X* rows, Count stride, Wide<X>* to) {
  dot_rows<X>(n, {x, width}, rows, stride, nullptr, 0, to);
}

/// y += the sum of c_j times row j, in order. y has `registers` registers' worth of elements, which stay in registers.
template <Count registers, typename X>
LLMCALC_INLINE void add_columns_times(Count n, const float* c, const X* rows, Count stride, float* y) {
  Floats<register_floats> sums[registers];
  std::memcpy(&sums, y, sizeof sums);
  for (Count j = 0; j < n; ++j, rows += stride)
    for (Count r = 0; r < registers; ++r) sums[r] += c[j] * take<register_floats>(rows + r * register_floats);
  std::memcpy(y, &sums, sizeof sums);
}

/// y += the sum of c_j times row j, in order. Long rows are read one by one, in memory order.
template <typename X>
[[gnu::noinline]] void add_rows_times(Count n, Count width, const Wide<X>* c, const X* rows, Count stride, Wide<X>* y) {
  Count done = 0;
  if constexpr (std::is_same_v<Wide<X>, float>) {
    constexpr Count some = 4, few = some * register_floats;
    if (width <= 2 * few) {
      for (; done + few <= width; done += few) add_columns_times<some>(n, c, rows + done, stride, y + done);
      for (; done + register_floats <= width; done += register_floats)
        add_columns_times<1>(n, c, rows + done, stride, y + done);
    }
  }
  if (done < width)
    for (Count j = 0; j < n; ++j) axpy(width - done, c[j], rows + j * stride + done, y + done);
}

/// row j += c_j x
template <typename W>
[[gnu::noinline]] void add_to_rows(Count n, Count width, const W* c, const W* x, W* rows) {
  for (Count j = 0; j < n; ++j) axpy(width, c[j], x, rows + j * width);
}

/// c (m, n) += a b with b (k, n): element (i, p) of a is a[i * row + p * column].
template <typename W>
[[gnu::noinline]] void add_product(Count m, Count n, Count k, const W* a, Count row, Count column, const W* b, W* c) {
  for (Count i = 0; i < m; ++i)
    for (Count p = 0; p < k; ++p) axpy(n, a[i * row + p * column], b + p * n, c + i * n);
}
/// c (m, n) = a b', with a (m, k), b (n, k)
template <typename W>
[[gnu::noinline]] void product_with_rows(Count m, Count n, Count k, const W* a, const W* b, W* c) {
  for (Count i = 0; i < m; ++i) dot_rows(n, k, a + i * k, b, k, c + i * n);
}

}  // namespace llmcalc::model::LLMCALC_ISA
