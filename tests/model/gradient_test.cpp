// Every analytic gradient against central differences, in double.

#include <cmath>

#include "tests/catch.hpp"
#include "tests/model/tiny.hpp"

using namespace llmcalc;
using namespace llmcalc::model;

namespace {

/// The step of a central difference: its error is about h^2 = 1e-10 of the third derivative.
constexpr double h = 1e-5;

struct Differences {
  double gradient = 0, difference = 0;  ///< squared norms
};

/// All of a parameter's gradient against differences.
Differences differences(Transformer& t, Parameter& p, const Batch& batch) {
  const std::vector<double> analytic = t.weights().get(p.gradient, p.elements(), true);
  const std::vector<double> values = t.weights().get(p.value, p.elements(), false);
  Differences d;
  const auto loss = [&](std::size_t i, double delta) {
    std::vector<double> moved = values;
    moved[i] += delta;
    t.weights().set(p, moved);
    const double l = t.loss(batch);
    t.weights().set(p, values);
    return l;
  };
  // At most 40 numbers of each parameter, spread over it.
  const std::size_t stride = std::max<std::size_t>(1, values.size() / 40);
  for (std::size_t i = 0; i < values.size(); i += stride) {
    const double numeric = (loss(i, h) - loss(i, -h)) / (2 * h);
    d.gradient += analytic[i] * analytic[i];
    d.difference += (numeric - analytic[i]) * (numeric - analytic[i]);
  }
  return d;
}

}  // namespace

TEST_CASE("every gradient equals central differences in double", "[gradient]") {
  for (const test::Variant& v : test::variants()) {
    const std::unique_ptr<Backend> cpu = make_cpu(Number::f64, true);
    Transformer t(v.arch, *cpu, {.plan = v.plan}, 7);
    test::scramble(t, 11);
    t.weights().make_trainable(v.plan);
    const Batch batch = test::tiny_batch(v.arch, v.plan, 5);
    t.gradients(batch, 1, nullptr);
    double whole = 0;
    for (const Parameter& p : t.weights().all()) whole += t.backend().square_sum(p.elements(), p.gradient->data());
    REQUIRE(whole > 0);
    for (Parameter& p : t.weights().all()) {
      const Differences d = differences(t, p, batch);
      INFO(v.name << ": " << p.shape.name << ", gradient " << std::sqrt(d.gradient) << " of " << std::sqrt(whole)
                  << ", difference " << std::sqrt(d.difference));
      CHECK(std::sqrt(d.difference) < 1e-6 * std::max(std::sqrt(d.gradient), 1e-3 * std::sqrt(whole)));
    }
  }
}
