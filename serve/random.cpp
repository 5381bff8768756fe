#include "serve/random.hpp"

#include <bit>
#include <cmath>

namespace llmcalc {

namespace {
constexpr double ln2 = 0.6931471805599453;
constexpr double root_half = 0.7071067811865476;
}  // namespace

/// With x = m 2^e and m in [1/sqrt 2, sqrt 2): e ln 2 + 2 atanh((m - 1) / (m + 1)), by the series of atanh.
double portable_log(double x) {
  int e = 0;
  double m = std::frexp(x, &e);
  if (m < root_half) {
    m *= 2;
    --e;
  }
  const double t = (m - 1) / (m + 1), square = t * t;
  double sum = 0;
  for (int k = 23; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return e * ln2 + 2 * t * sum;
}

/// 2^n e^r with |r| <= ln 2 / 2, by the series of e^r.
double portable_exp(double x) {
  const double n = std::floor(x / ln2 + 0.5), r = x - n * ln2;
  double sum = 1;
  for (int k = 20; k >= 1; --k) sum = 1 + sum * r / k;
  return std::ldexp(sum, static_cast<int>(n));
}

double exponential(Random& random) { return -portable_log(random.uniform()); }

/// Marsaglia's polar method (1964).
double normal(Random& random) {
  for (;;) {
    const double u = 2 * random.uniform() - 1, v = 2 * random.uniform() - 1, s = u * u + v * v;
    if (s < 1) return u * std::sqrt(-2 * portable_log(s) / s);
  }
}

/// Marsaglia & Tsang (2000), "A simple method for generating gamma variables". For a shape below 1, a variate of shape
/// + 1 times a power of a uniform variate.
double gamma(Random& random, double shape) {
  if (shape < 1) {
    const double u = random.uniform();
    return gamma(random, shape + 1) * (shape + 1) / shape * portable_exp(portable_log(u) / shape);
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal(random), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (portable_log(random.uniform()) < 0.5 * x * x + d - d * v + d * portable_log(v)) return d * v / shape;
  }
}

double log_normal(Random& random, double sigma) { return portable_exp(sigma * normal(random) - sigma * sigma / 2); }

}  // namespace llmcalc
