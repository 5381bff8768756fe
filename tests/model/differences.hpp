#pragma once
/// Compares analytic gradients with central differences, in double.

#include <cmath>
#include <numeric>

#include "model/random.hpp"
#include "tests/catch.hpp"
#include "tests/model/compare.hpp"

namespace llmcalc::test {

using model::Backend;
using model::Batch;
using model::Number;
using model::Parameter;
using model::Transformer;

/// Step of a central difference: the error is about h^2 = 1e-10 times the third derivative.
inline constexpr double h = 1e-5;

struct Differences {
  double gradient = 0, difference = 0;  ///< squared norms
};

/// Compares a parameter's gradient with differences: along about 8 evenly spaced elements, and along three unit vectors
/// with random signs, to which all elements contribute.
class Probe {
 public:
  Probe(Transformer& t, Parameter& p, const Batch& batch)
      : t_(t), p_(p), batch_(batch), values_(t.weights().get(p.value, p.elements(), false)) {}

  Differences differences() {
    const std::vector<double> analytic = t_.weights().gradient(p_);
    Differences d;
    for (const double g : analytic) d.gradient += g * g;
    const auto compare = [&](const std::vector<double>& direction) {
      const double exact = std::inner_product(analytic.begin(), analytic.end(), direction.begin(), 0.0);
      d.difference += std::pow(slope(direction) - exact, 2);
    };
    for (std::size_t i = 0; i < values_.size(); i += std::max<std::size_t>(1, values_.size() / 8)) {
      std::vector<double> one(values_.size());
      one[i] = 1;
      compare(one);
    }
    for (std::uint64_t stream = 1; stream <= 3; ++stream) compare(signs(stream));
    return d;
  }

 private:
  double slope(const std::vector<double>& direction) { return (loss(direction, h) - loss(direction, -h)) / (2 * h); }
  double loss(const std::vector<double>& direction, double step) {
    std::vector<double> moved = values_;
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += step * direction[i];
    t_.weights().set(p_, moved);
    const double l = t_.loss(batch_);
    t_.weights().set(p_, values_);
    return l;
  }
  std::vector<double> signs(std::uint64_t stream) const {
    std::vector<double> d(values_.size());
    const double length = 1 / std::sqrt(static_cast<double>(d.size()));
    for (std::size_t i = 0; i < d.size(); ++i)
      d[i] = model::uniform<double>(model::random_key(7), model::random_counter(i, stream)) < 0.5 ? length : -length;
    return d;
  }

  Transformer& t_;
  Parameter& p_;
  const Batch& batch_;
  std::vector<double> values_;
};

/// Compares every gradient of a variant with differences.
inline void check_gradients(const Variant& v, const Numerics& numerics) {
  const std::unique_ptr<Backend> cpu = model::make_cpu(Number::f64, true);
  Transformer t(v.arch, *cpu, {.plan = v.plan, .numerics = numerics}, 7);
  scramble(t, 11);
  t.weights().make_trainable(v.plan);
  const Batch batch = tiny_batch(v.arch, v.plan, 5);
  t.gradients(batch, 1, nullptr);
  std::vector<double> squares(t.weights().trained().size());
  t.backend().square_sums(t.weights().updates(), squares.data());
  const double whole = std::accumulate(squares.begin(), squares.end(), 0.0);
  REQUIRE(whole > 0);
  for (Parameter& p : t.weights().all()) {
    if (!p.gradient) continue;
    const Differences d = Probe(t, p, batch).differences();
    INFO(v.name << ": " << p.shape.name << ", gradient " << std::sqrt(d.gradient) << " of " << std::sqrt(whole)
                << ", difference " << std::sqrt(d.difference));
    CHECK(std::sqrt(d.difference) < 1e-6 * std::max(std::sqrt(d.gradient), 1e-3 * std::sqrt(whole)));
  }
}

}  // namespace llmcalc::test
