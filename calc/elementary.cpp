#include "calc/elementary.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

namespace llmcalc::elementary {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// An unevaluated sum with |low| at most half a unit in the last place of `high`.
struct Two {
  double high = 0, low = 0;
};

/// a + b, exactly. of_ordered() requires |a| >= |b|.
Two sum(double a, double b) {
  const double s = a + b, other = s - a;
  return {s, (a - (s - other)) + (b - other)};
}
Two of_ordered(double a, double b) {
  const double s = a + b;
  return {s, b - (s - a)};
}

/// The upper 26 bits of a number's significand. Precondition: |a| < 2^996.
double upper_half(double a) {
  const double shifted = 134217729.0 * a;  // 2^27 + 1
  return shifted - (shifted - a);
}
/// a b, exactly.
Two product(double a, double b) {
  const double p = a * b, a1 = upper_half(a), b1 = upper_half(b), a2 = a - a1, b2 = b - b1;
  return {p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2};
}
Two product(const Two& a, const Two& b) {
  const Two p = product(a.high, b.high);
  return of_ordered(p.high, p.low + (a.high * b.low + a.low * b.high));
}
Two sum(const Two& a, const Two& b) {
  const Two s = sum(a.high, b.high);
  return of_ordered(s.high, s.low + (a.low + b.low));
}

/// ln 2 in two parts. The first has 32 bits, which makes its product with an exponent exact.
constexpr double ln2_first = 0x1.62e42feep-1, ln2_second = 0x1.a39ef35793c76p-33;
constexpr Two ln2{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
constexpr Two log2_e{0x1.71547652b82fep0, 0x1.777d0ffda0d24p-56};
constexpr Two log10_e{0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57};
constexpr Two third{0x1.5555555555555p-2, 0x1.5555555555555p-56};

/// Coefficients of the exponential series: 1/2!, 1/3!, ...
constexpr std::array<double, 13> of_exp = [] {
  std::array<double, 13> all{};
  double factorial = 1;
  for (std::size_t n = 0; n < all.size(); ++n) all[n] = 1 / (factorial *= static_cast<double>(n + 2));
  return all;
}();
/// Coefficients of the artanh series from the fifth power on: 1/5, 1/7, ...
constexpr std::array<double, 12> of_artanh = [] {
  std::array<double, 12> all{};
  for (std::size_t n = 0; n < all.size(); ++n) all[n] = 1 / static_cast<double>(2 * n + 5);
  return all;
}();
/// c[0] + c[1] x + c[2] x^2 + ...
template <std::size_t n>
double polynomial(const std::array<double, n>& c, double x) {
  double p = 0;
  for (std::size_t i = n; i-- > 0;) p = p * x + c[i];
  return p;
}

/// (e^r - 1 - r)/r^2 for |r| <= ln(2)/2.
double exp_rest(double r) { return polynomial(of_exp, r); }

/// e^(x.high + x.low) = value x 2^exponent.
struct Scaled {
  Two value;
  int exponent = 0;
};
/// e^x. Precondition: |x.high| < 750.
Scaled exp_of(const Two& x) {
  const double k = std::floor(x.high * log2_e.high + 0.5);
  const double first = x.high - k * ln2_first, second = k * ln2_second - x.low, r = first - second;
  const double left = (first - r) - second;
  const Two one = of_ordered(1, r);
  return {of_ordered(one.high, r * r * exp_rest(r) + (left + one.low)), static_cast<int>(k)};
}

/// x = value x 2^exponent with `value` in [sqrt(1/2), sqrt(2)).
struct Normal {
  double value = 1;
  int exponent = 0;
};
Normal normal(double x) {
  Normal n;
  n.value = std::frexp(x, &n.exponent);
  if (n.value >= 0x1.6a09e667f3bcdp-1) return n;
  return {2 * n.value, n.exponent - 1};
}

/// log(m) for m in [sqrt(1/2), sqrt(2)): 2 artanh(s) with s = (m - 1)/(m + 1), by its series.
Two log_of_normal(double m) {
  if (m == 1) return {};
  const double f = m - 1, s = f / (m + 1);
  const Two below = sum(m, 1), back = product(s, below.high);
  const Two quotient = of_ordered(s, ((f - back.high) - back.low - s * below.low) / below.high);
  const Two square = product(quotient, quotient);
  const double z = square.high;
  const Two more = sum(product(square, third), Two{z * z * polynomial(of_artanh, z), 0});
  return product({2 * quotient.high, 2 * quotient.low}, sum(Two{1, 0}, more));
}

Two log_of(double x) {
  const Normal n = normal(x);
  const double k = n.exponent;
  return sum(sum(product(k, ln2.high), Two{k * ln2.low, 0}), log_of_normal(n.value));
}

/// Logarithm of x outside the interval (0, infinity).
double log_outside(double x) {
  if (x == 0) return -infinity;
  return x > 0 ? x : not_a_number;
}
bool is_inside(double x) { return x > 0 && x < infinity; }

bool is_odd(double y) { return std::fabs(std::fmod(y, 2)) == 1; }

/// |x|^y for finite, nonzero x.
double pow_of(double x, double y) {
  const Two log = log_of(x);
  const double rough = y * log.high;
  if (rough > 710) return infinity;
  if (rough < -746) return 0;
  const Two p = product(y, log.high);
  const Scaled e = exp_of(of_ordered(p.high, p.low + y * log.low));
  return std::ldexp(e.value.high, e.exponent);
}

/// |x|^y for zero or infinite x.
double pow_of_limit(double x, double y) { return (x == 0) == (y > 0) ? 0 : infinity; }

/// erf(x), by the series e^(-x^2) 2/sqrt(pi) sum of 2^n x^(2n+1)/(1 3 5 ... (2n+1)), whose terms all have the same
/// sign.
double erf_by_series(double x) {
  double term = x, all = x;
  for (int n = 1; std::fabs(term) > 1e-17 * std::fabs(all); ++n) all += term *= 2 * x * x / (2 * n + 1);
  return 0x1.20dd750429b6dp0 * elementary::exp(-x * x) * all;
}
/// erfc(x) for x >= 1.5, by a continued fraction.
double erfc_by_fraction(double x) {
  double below = x;
  for (int n = 120; n >= 1; --n) below = x + 0.5 * n / below;
  return 0x1.20dd750429b6dp-1 * elementary::exp(-x * x) / below;
}

}  // namespace

double exp(double x) {
  if (x != x) return x;
  if (x > 710) return infinity;
  if (x < -746) return 0;
  const Scaled e = exp_of({x, 0});
  return std::ldexp(e.value.high, e.exponent);
}

double expm1(double x) {
  if (x != x || std::fabs(x) < 0x1p-54) return x;
  if (x > 710) return infinity;
  if (x < -40) return -1;
  if (std::fabs(x) < 0.34) return x + x * x * exp_rest(x);
  const Scaled e = exp_of({x, 0});
  if (e.exponent > 60) return std::ldexp(e.value.high, e.exponent);
  const Two less = sum(std::ldexp(e.value.high, e.exponent), -1);
  return less.high + (less.low + std::ldexp(e.value.low, e.exponent));
}

double log(double x) { return is_inside(x) ? log_of(x).high : log_outside(x); }

double log1p(double x) {
  if (std::fabs(x) < 0x1p-54) return x;
  if (!is_inside(1 + x)) return log_outside(1 + x);
  const Two one = sum(1, x);
  return sum(log_of(one.high), Two{one.low / one.high, 0}).high;
}

double log2(double x) {
  if (!is_inside(x)) return log_outside(x);
  const Normal n = normal(x);
  return sum(Two{static_cast<double>(n.exponent), 0}, product(log_of_normal(n.value), log2_e)).high;
}

double log10(double x) { return is_inside(x) ? product(log_of(x), log10_e).high : log_outside(x); }

double pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return not_a_number;
  const double size = std::fabs(x);
  if (std::fabs(y) == infinity) return size == 1 ? 1 : (size < 1) == (y > 0) ? 0 : infinity;
  if (x < 0 && std::floor(y) != y) return size == infinity ? pow_of_limit(size, y) : not_a_number;
  const double result = is_inside(size) ? pow_of(size, y) : pow_of_limit(size, y);
  return std::signbit(x) && is_odd(y) ? -result : result;
}

double erfc(double x) {
  if (x != x) return x;
  if (x < 0) return 2 - erfc(-x);
  if (x > 28) return 0;
  return x < 1.5 ? 1 - erf_by_series(x) : erfc_by_fraction(x);
}

}  // namespace llmcalc::elementary
