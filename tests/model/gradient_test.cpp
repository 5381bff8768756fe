// Every analytic gradient against central differences, in double.

#include <cmath>
#include <numeric>

#include "model/random.hpp"
#include "tests/catch.hpp"
#include "tests/model/compare.hpp"
#include "tests/model/tiny.hpp"
#include "text/error.hpp"

using namespace llmcalc;
using namespace llmcalc::model;

namespace {

/// The step of a central difference: its error is about h^2 = 1e-10 of the third derivative.
constexpr double h = 1e-5;

struct Differences {
  double gradient = 0, difference = 0;  ///< squared norms
};

/// A parameter's gradient against differences: along at most 40 of its numbers, spread over it, and along three unit
/// vectors of random signs, in which every number has its part.
class Probe {
 public:
  Probe(Transformer& t, Parameter& p, const Batch& batch)
      : t_(t), p_(p), batch_(batch), values_(t.weights().get(p.value, p.elements(), false)) {}

  Differences differences() {
    const std::vector<double> analytic = t_.weights().get(p_.gradient, p_.elements(), true);
    Differences d;
    for (const double g : analytic) d.gradient += g * g;
    const auto compare = [&](const std::vector<double>& direction) {
      const double exact = std::inner_product(analytic.begin(), analytic.end(), direction.begin(), 0.0);
      d.difference += std::pow(slope(direction) - exact, 2);
    };
    for (std::size_t i = 0; i < values_.size(); i += std::max<std::size_t>(1, values_.size() / 40)) {
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
      d[i] = uniform<double>(random_key(7), random_counter(i, stream)) < 0.5 ? length : -length;
    return d;
  }

  Transformer& t_;
  Parameter& p_;
  const Batch& batch_;
  std::vector<double> values_;
};

/// Compares every gradient of a variant with differences.
void check_gradients(const test::Variant& v, const Numerics& numerics) {
  const std::unique_ptr<Backend> cpu = make_cpu(Number::f64, true);
  Transformer t(v.arch, *cpu, {.plan = v.plan, .numerics = numerics}, 7);
  test::scramble(t, 11);
  t.weights().make_trainable(v.plan);
  const Batch batch = test::tiny_batch(v.arch, v.plan, 5);
  t.gradients(batch, 1, nullptr);
  std::vector<double> squares(t.weights().all().size());
  t.backend().square_sums(t.weights().updates(), squares.data());
  const double whole = std::accumulate(squares.begin(), squares.end(), 0.0);
  REQUIRE(whole > 0);
  for (Parameter& p : t.weights().all()) {
    const Differences d = Probe(t, p, batch).differences();
    INFO(v.name << ": " << p.shape.name << ", gradient " << std::sqrt(d.gradient) << " of " << std::sqrt(whole)
                << ", difference " << std::sqrt(d.difference));
    CHECK(std::sqrt(d.difference) < 1e-6 * std::max(std::sqrt(d.gradient), 1e-3 * std::sqrt(whole)));
  }
}

}  // namespace

TEST_CASE("every gradient equals central differences in double", "[gradient]") {
  for (const test::Variant& v : test::variants()) check_gradients(v, {});
}

TEST_CASE("so does every gradient of norms by 1 + w, scaled tables and scores, and stretched rotations", "[gradient]") {
  test::Variant v{"gemma", test::tiny_llama(), test::tiny_plan()};
  v.arch.qk_norm = QkNorm::per_head;
  v.arch.local = {.reach = {3}, .layers = LayerSet::every(0, 2, v.arch.layers)};
  const Rope yarn{.base = 500, .scaling = RopeScaling::yarn, .factor = 4, .trained = 8, .attention_factor = 1.2};
  const Numerics numerics{.norm_epsilon = 0.1,
                          .unit_offset = true,
                          .embedding_scale = 3,
                          .score_scale = 0.4,
                          .rope = yarn,
                          .local_rope = {.base = 100}};
  check_gradients(v, numerics);
  v.arch.tied_head = true;
  v.plan.attention = AttentionImpl::naive;
  v.plan.recompute = Recompute::full;
  check_gradients(v, numerics);
}

TEST_CASE("so does every gradient of capped scores and logits", "[gradient]") {
  for (const LogitFormat format : {LogitFormat::fp32, LogitFormat::compute})
    for (const Arch& arch : {test::tiny_gpt(), test::tiny_llama(), test::tiny_deepseek()}) {
      test::Variant v{"capped", arch, test::tiny_plan()};
      v.plan.logits.format = format;
      check_gradients(v, {.score_cap = 1.5, .logit_cap = 2});
      v.plan.recompute = Recompute::selective;
      check_gradients(v, {.score_cap = 0.7});
    }
}

TEST_CASE("gradients of layers that run again, the first ones or in groups, are those of a run that keeps all",
          "[gradient]") {
  std::size_t models = 0;
  for (const test::Variant& given : test::variants()) {
    test::Variant v = given;
    v.plan.recompute = Recompute::none;
    const std::vector<double> kept = test::loss_and_gradients(v, Number::f64);
    v.plan.recompute = Recompute::full;
    for (const RecomputeMethod method : {RecomputeMethod::block, RecomputeMethod::uniform})
      for (const Count layers : {1, 2}) {
        v.plan.recompute_method = method;
        v.plan.recompute_layers = layers;
        if (recomputes_groups(v.plan) && !runs_again_in_groups(v.arch)) continue;
        INFO(v.name << ", " << layers << (method == RecomputeMethod::block ? " first" : " in a group"));
        CHECK(test::difference(test::loss_and_gradients(v, Number::f64), kept) < 1e-13);
        ++models;
      }
  }
  CHECK(models > 300);
}

TEST_CASE("a model that caps its scores is not trained with naive attention", "[gradient]") {
  const std::unique_ptr<Backend> cpu = make_cpu(Number::f64, true);
  const Arch arch = test::tiny_llama();
  Plan plan = test::tiny_plan();
  plan.attention = AttentionImpl::naive;
  Transformer t(arch, *cpu, {.plan = plan, .numerics = {.score_cap = 5}}, 7);
  t.weights().make_trainable(plan);
  CHECK_THROWS_AS(t.gradients(test::tiny_batch(arch, plan, 5), 1, nullptr), InputError);
  CHECK(std::isfinite(t.loss(test::tiny_batch(arch, plan, 5))));
}
