#include "serve/random.hpp"

#include <cmath>

#include "calc/elementary.hpp"

namespace llmcalc {

double exponential(Random& random) { return -elementary::log(random.uniform()); }

/// Marsaglia's polar method (1964).
double normal(Random& random) {
  for (;;) {
    const double u = 2 * random.uniform() - 1, v = 2 * random.uniform() - 1, s = u * u + v * v;
    if (s < 1) return u * std::sqrt(-2 * elementary::log(s) / s);
  }
}

/// Marsaglia & Tsang (2000), "A simple method for generating gamma variables". For a shape below 1, the result is a
/// variate of shape + 1, multiplied by a power of a uniform variate.
double gamma(Random& random, double shape) {
  if (shape < 1) {
    const double u = random.uniform();
    return gamma(random, shape + 1) * (shape + 1) / shape * elementary::exp(elementary::log(u) / shape);
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal(random), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (elementary::log(random.uniform()) < 0.5 * x * x + d - d * v + d * elementary::log(v)) return d * v / shape;
  }
}

double log_normal(Random& random, double sigma) { return elementary::exp(sigma * normal(random) - sigma * sigma / 2); }

}  // namespace llmcalc
