#pragma once
/// exp and related functions for kernels. float: polynomials that a compiler can vectorize and a GPU runs unchanged;
/// double: the standard library. Stated errors are the largest that tests/model/functions_test.cpp finds in a sweep of
/// all floats.

#include <bit>
#include <cmath>
#include <cstdint>

#include "model/math/host_device.hpp"
#include "model/math/numbers.hpp"

namespace llmcalc::model {

/// 2^x. GPU: a hardware instruction with error under 2^-22 (PTX ISA, ex2.approx); denormal results are 0.
LLMCALC_HD inline float exp2_of(float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return std::exp2(x);
#endif
}

/// e^x. float on a GPU: 2^(x log2 e) by a hardware instruction, error under 2 + 1.2 |x| ulp (CUDA C++ Programming
/// Guide, __expf). Otherwise x = n ln 2 + r with |r| <= ln 2 / 2, and a polynomial of degree 7 in r (Cephes, S.
/// Moshier) scaled by 2^n: error under 1.2 ulp. Below -87.68, where n is -127, the result is 0. Above 88.38, n stays
/// 127 and r grows: error under 6 ulp up to the largest float, then infinity.
LLMCALC_HD inline float exp_of(float x) {
#ifdef __CUDA_ARCH__
  return exp2_of(x * 1.44269504f);
#else
  constexpr float middle = 12582912.0f;  // 1.5 x 2^23: adding it rounds a value into the last bits
  constexpr std::int32_t most = std::bit_cast<std::int32_t>(middle) + 127;
  const float rounded = x * 1.44269504f + middle;
  const std::int32_t bits = std::bit_cast<std::int32_t>(rounded), capped = bits < most ? bits : most;
  const float n = std::bit_cast<float>(capped) - middle;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const float scale = std::bit_cast<float>((static_cast<std::uint32_t>(capped) + 127U) << 23U);
  return rounded < middle - 126.0f ? 0.0f : p * scale;
#endif
}
inline double exp_of(double x) { return std::exp(x); }
inline Counted exp_of(Counted x) { return ++Counted::tally.functions, Counted(std::exp(x.value)); }

/// 1/x for x >= 1. float on a GPU: a hardware instruction, error under 1 ulp (PTX ISA, rcp.approx). Otherwise a guess
/// from the exponent, within 13 %, and three Newton iterations, each of which squares the error. The iterations take
/// six multiply-adds; a division takes as long as twenty. Above 1e37 the result stays 1e-37.
LLMCALC_HD inline float reciprocal_of(float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  const float c = x > 1e37f ? 1e37f : x;
  float r = std::bit_cast<float>(0x7ef311c7U - std::bit_cast<std::uint32_t>(c));
  r = r * (2.0f - c * r);
  r = r * (2.0f - c * r);
  return r + r * (1.0f - c * r);
#endif
}
inline double reciprocal_of(double x) { return 1 / x; }
inline Counted reciprocal_of(Counted x) { return Counted(1) / x; }

/// Standard normal distribution at x: the CDF Phi(x) (`below`) and e^(-x^2/2). float: Phi by Abramowitz and
/// Stegun 7.1.26, which has the exponential as a factor; absolute error 5e-7, of which the formula accounts for 0.8e-7.
template <typename W>
struct Normal {
  W below, exponential;
};
LLMCALC_HD inline Normal<float> normal_of(float x) {
  const float e = exp_of(-0.5f * x * x), t = reciprocal_of(1.0f + 0.3275911f * 0.70710678f * std::fabs(x));
  float p = 0.5f * 1.061405429f;
  p = p * t - 0.5f * 1.453152027f;
  p = p * t + 0.5f * 1.421413741f;
  p = p * t - 0.5f * 0.284496736f;
  p = p * t + 0.5f * 0.254829592f;
  const float tail = p * t * e;
  return {x < 0.0f ? tail : 1.0f - tail, e};
}
inline Normal<double> normal_of(double x) {
  return {0.5 * std::erfc(-0.70710678118654752440 * x), std::exp(-0.5 * x * x)};
}
inline Normal<Counted> normal_of(Counted x) {
  const Normal<double> n = normal_of(x.value);
  Counted::tally.functions += 2;
  return {Counted(n.below), Counted(n.exponential)};
}

/// cos x and sin x in double, for position angles: |x| < 1e6, error under 1e-15. x = n pi/2 + r with |r| <= pi/4, pi/2
/// in three parts (Cody, Waite 1980), and polynomials with the coefficients of fdlibm's kernels (Sun Microsystems
/// 1993).
struct CosSin {
  double cosine, sine;
};
LLMCALC_HD inline CosSin cos_sin(double x) {
  const double rounded = x * 0.63661977236758134308 + 6755399441055744.0;  // 1.5 x 2^52: n is in the last bits
  const double n = rounded - 6755399441055744.0;
  const double r = ((x - n * 1.57079632673412561417) - n * 6.07710050630396597660e-11) - n * 2.02226624879595063154e-21;
  const double z = r * r;
  double s = 1.58969099521155010221e-10;
  s = s * z - 2.50507602534068634195e-08;
  s = s * z + 2.75573137070700676789e-06;
  s = s * z - 1.98412698298579493134e-04;
  s = s * z + 8.33333333332248946124e-03;
  s = s * z - 1.66666666666666324348e-01;
  s = s * z * r + r;
  double c = -1.13596475577881948265e-11;
  c = c * z + 2.08757232129817482790e-09;
  c = c * z - 2.75573143513906633035e-07;
  c = c * z + 2.48015872894767294178e-05;
  c = c * z - 1.38888888888741095749e-03;
  c = c * z + 4.16666666666666019037e-02;
  c = c * z * z - 0.5 * z + 1.0;
  const std::uint64_t quarter = std::bit_cast<std::uint64_t>(rounded);
  const double cosine = (quarter & 1U) != 0 ? s : c, sine = (quarter & 1U) != 0 ? c : s;
  return {((quarter + 1) & 2U) != 0 ? -cosine : cosine, (quarter & 2U) != 0 ? -sine : sine};
}

LLMCALC_HD inline float sqrt_of(float x) { return std::sqrt(x); }
inline double sqrt_of(double x) { return std::sqrt(x); }
inline Counted sqrt_of(Counted x) { return ++Counted::tally.functions, Counted(std::sqrt(x.value)); }

LLMCALC_HD inline float tanh_of(float x) { return std::tanh(x); }
inline double tanh_of(double x) { return std::tanh(x); }
inline Counted tanh_of(Counted x) { return ++Counted::tally.functions, Counted(std::tanh(x.value)); }

LLMCALC_HD inline float log1p_of(float x) { return std::log1p(x); }
inline double log1p_of(double x) { return std::log1p(x); }
inline Counted log1p_of(Counted x) { return ++Counted::tally.functions, Counted(std::log1p(x.value)); }

LLMCALC_HD inline float log_of(float x) { return std::log(x); }
inline double log_of(double x) { return std::log(x); }
inline Counted log_of(Counted x) { return ++Counted::tally.functions, Counted(std::log(x.value)); }

}  // namespace llmcalc::model
