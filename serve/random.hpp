#pragma once
/// Random numbers that are identical on every machine: an integer generator, and transforms that use
/// calc/elementary.hpp, because library logarithms may differ between machines in the last bit.

#include <cstdint>

namespace llmcalc {

/// SplitMix64 (Steele, Lea & Flood 2014, "Fast splittable pseudorandom number generators").
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// Uniform in (0, 1).
  double uniform() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

/// Random variates of mean 1: exponential; gamma with shape `shape`; log-normal, whose logarithm has standard deviation
/// `sigma`.
double exponential(Random& random);
double gamma(Random& random, double shape);
double log_normal(Random& random, double sigma);
/// Normal variate of mean 0 and standard deviation 1.
double normal(Random& random);

}  // namespace llmcalc
