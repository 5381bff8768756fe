#pragma once
/// Random numbers that are the same on every machine: a generator of integers, and transforms of its numbers by
/// additions, products and square roots alone, since a machine's logarithm may differ from another's in the last bit.

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
  /// In (0, 1), evenly.
  double uniform() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

/// The natural logarithm of x > 0, and e to the power of x, within a few units of the last place.
double portable_log(double x);
double portable_exp(double x);

/// Drawn numbers of mean 1: exponential; gamma of this shape; log-normal of this standard deviation of the logarithm.
double exponential(Random& random);
double gamma(Random& random, double shape);
double log_normal(Random& random, double sigma);
/// Of mean 0 and deviation 1.
double normal(Random& random);

}  // namespace llmcalc
