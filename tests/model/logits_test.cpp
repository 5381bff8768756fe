// Logits in the compute format: loss and gradient compared with double, and the effect of their rounding on a step.

#include <cmath>

#include "model/math/numbers.hpp"
#include "tests/catch.hpp"
#include "tests/model/compare.hpp"
#include "tests/model/emulated.hpp"
#include "tests/model/lab.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using test::Lab;
using test::Numbers;
using test::Pair;

namespace {

constexpr double bf16_rounding = 0x1p-8;  ///< twice the rounding error of one value

std::vector<test::MakeBackend> backends() {
  std::vector<test::MakeBackend> all = test::gpus();
  all.push_back(make_cpu);
  return all;
}

/// The loss, and each parameter's gradient.
struct Result {
  double loss = 0;
  std::vector<std::string> names;
  std::vector<Numbers> gradients;
};

/// Error of gradient i relative to its norm, or to a thousandth of the whole gradient's norm if that is larger: some
/// gradients (a key's bias) are pure rounding errors.
double off(const Result& tested, const Result& exact, std::size_t i) {
  Numbers d = tested.gradients[i], whole;
  for (std::size_t k = 0; k < d.size(); ++k) d[k] -= exact.gradients[i][k];
  for (const Numbers& g : exact.gradients) whole.push_back(test::norm(g));
  return test::norm(d) / std::max(test::norm(exact.gradients[i]), 1e-3 * test::norm(whole));
}

/// One step with weights that are exact in bf16, on any backend.
Result step(const test::Variant& v, Backend& backend, LogitFormat logits) {
  Plan plan = v.plan;
  plan.logits.format = logits;
  Transformer t(v.arch, backend, {.plan = plan}, 7);
  test::scramble(t, 11);
  for (Parameter& p : t.weights().all()) {
    Numbers values = t.weights().get(p.value, p.elements(), false);
    for (double& x : values) x = static_cast<double>(wide(bf16(static_cast<float>(x))));
    t.weights().set(p, values);
  }
  t.weights().make_trainable(plan);
  Result s;
  s.loss = t.gradients(test::tiny_batch(v.arch, plan, 5), 1, nullptr);
  for (const Parameter& p : t.weights().all()) {
    s.names.push_back(p.shape.name);
    s.gradients.push_back(t.weights().get(p.gradient, p.elements(), true));
  }
  return s;
}

/// Tied and untied models, with and without head bias; vocabularies that fill 16-byte packs exactly, and others.
std::vector<test::Variant> models() {
  std::vector<test::Variant> all;
  for (Arch a : {test::tiny_gpt(), test::tiny_llama(), test::tiny_llama()})
    for (const Count vocabulary : {17, 32}) {
      a.vocabulary = vocabulary;
      a.head_bias = all.size() >= 4;
      all.push_back({"", a, test::tiny_plan()});
    }
  return all;
}

}  // namespace

TEST_CASE("with logits in the compute format, the loss and its in-place gradient match double precision", "[kernels]") {
  for (const test::MakeBackend make : backends())
    for (const Number number : {Number::f32, Number::bf16})
      for (const Count vocabulary : {7, 33, 1000, 2104, 5000}) {
        Lab lab(number, make(number, true));
        INFO(lab.tested().name() << ", vocabulary " << vocabulary);
        const Loss s{.rows = 5, .vocabulary = vocabulary};
        const std::vector<std::int64_t> targets{0, vocabulary - 1, vocabulary / 2, 1, vocabulary - 2};
        const Pair x = lab.input(s.rows * vocabulary, false, 8), sums = lab.output(s.rows, true);
        Numbers losses;
        lab.run([&](Backend& k, auto p) {
          const auto ask = [&](double* mean) { k.loss(s, targets.data(), p(x), p(sums), mean); };
          losses.push_back(test::left_by(k, 1, ask)[0]);
        });
        CHECK(losses[0] == Approx(losses[1]).epsilon(1e-5));
        lab.check("log-sum-exps", sums, number == Number::f32 ? 1 : 1e-3);  // accumulated in wide format
        lab.run([&](Backend& k, auto p) { k.loss_gradient(s, targets.data(), 0.25, p(x), p(sums)); });
        lab.check("gradient", x, number == Number::f32 ? 1 : bf16_rounding / 1e-2);
      }
}

TEST_CASE("if the compute format is float32, its logits give the same loss and gradients as fp32 logits",
          "[gradient]") {
  for (const test::MakeBackend make : backends())
    for (const test::Variant& v : models()) {
      const Result usual = step(v, *make(Number::f32, true), LogitFormat::fp32);
      const Result tested = step(v, *make(Number::f32, true), LogitFormat::compute);
      CHECK(tested.loss == Approx(usual.loss).epsilon(1e-6));
      for (std::size_t i = 0; i < usual.names.size(); ++i) {
        INFO(usual.names[i]);
        CHECK(off(tested, usual, i) <= 1e-5);
      }
    }
}

TEST_CASE("bfloat16 logits keep the loss and all gradients within rounding of double precision", "[gradient]") {
  for (const test::MakeBackend make : backends())
    for (const test::Variant& v : models()) {
      const Result exact = step(v, *make_cpu(Number::f64, true), LogitFormat::fp32);
      const Result usual = step(v, *make(Number::bf16, true), LogitFormat::fp32);
      const Result tested = step(v, *make(Number::bf16, true), LogitFormat::compute);
      INFO("vocabulary " << v.arch.vocabulary << ", tied " << v.arch.tied_head);
      CHECK(std::fabs(tested.loss - exact.loss) <= bf16_rounding * exact.loss);
      REQUIRE(tested.names == exact.names);
      for (std::size_t i = 0; i < exact.names.size(); ++i) {
        const double own = off(tested, exact, i), wide_logits = off(usual, exact, i);
        INFO(exact.names[i] << ": " << own << ", with float32 logits " << wide_logits);
        CHECK(own <= wide_logits + 4 * bf16_rounding);
      }
    }
}
