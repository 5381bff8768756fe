#pragma once
/// exp, tanh, erf for kernels: polynomials in float, which a compiler can vectorise and a GPU runs as they are; the
/// library's own in double. Errors stated are the largest seen over all floats by tests/model/functions_test.cpp.

#include <bit>
#include <cmath>
#include <cstdint>

#include "model/math/host_device.hpp"
#include "model/math/numbers.hpp"

namespace llmcalc::model {

/// e^x. float: x = n ln 2 + r with |r| <= ln 2 / 2, a polynomial of degree 6 in r (Cephes, S. Moshier), scaled by 2^n.
/// Below -87.3 it is 0.
LLMCALC_HD inline float exp_of(float x) {
  const float low = -87.33654f;
  const float c = x < low ? low : x > 88.3762f ? 88.3762f : x;
  const float n = (c * 1.44269504f + 12582912.0f) - 12582912.0f;  // rounds to a whole number
  const float r = (c - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const float scale = std::bit_cast<float>((static_cast<std::int32_t>(n) + 127) << 23);
  return x < low ? 0.0f : p * scale;
}
inline double exp_of(double x) { return std::exp(x); }
inline Counted exp_of(Counted x) { return ++Counted::tally.functions, Counted(std::exp(x.value)); }

/// tanh x. float: an odd polynomial below 0.625 (Cephes), 1 - 2/(e^2x + 1) above.
LLMCALC_HD inline float tanh_of(float x) {
  const float a = x < 0 ? -x : x, z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const float small = p * z * x + x;
  const float large = 1.0f - 2.0f / (exp_of(2.0f * (a > 20.0f ? 20.0f : a)) + 1.0f);
  return a < 0.625f ? small : x < 0 ? -large : large;
}
inline double tanh_of(double x) { return std::tanh(x); }
inline Counted tanh_of(Counted x) { return ++Counted::tally.functions, Counted(std::tanh(x.value)); }

/// erf x. float: Abramowitz and Stegun 7.1.26, absolute error under 3e-7.
LLMCALC_HD inline float erf_of(float x) {
  const float a = x < 0 ? -x : x, t = 1.0f / (1.0f + 0.3275911f * a);
  float p = 1.061405429f;
  p = p * t - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  const float y = 1.0f - p * t * exp_of(-a * a);
  return x < 0 ? -y : y;
}
inline double erf_of(double x) { return std::erf(x); }
inline Counted erf_of(Counted x) { return ++Counted::tally.functions, Counted(std::erf(x.value)); }

LLMCALC_HD inline float sqrt_of(float x) { return std::sqrt(x); }
inline double sqrt_of(double x) { return std::sqrt(x); }
inline Counted sqrt_of(Counted x) { return ++Counted::tally.functions, Counted(std::sqrt(x.value)); }

inline float log_of(float x) { return std::log(x); }
inline double log_of(double x) { return std::log(x); }
inline Counted log_of(Counted x) { return ++Counted::tally.functions, Counted(std::log(x.value)); }

}  // namespace llmcalc::model
