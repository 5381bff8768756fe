// Compares every analytic gradient with central differences, in double.

#include "tests/model/differences.hpp"
#include "text/error.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using test::check_gradients;

TEST_CASE("every gradient matches central differences in double precision", "[gradient]") {
  for (const test::Variant& v : test::variants()) check_gradients(v, {});
}

TEST_CASE("gradients with unit-offset norms, scaled embeddings, scores and YaRN equal central differences",
          "[gradient]") {
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

TEST_CASE("gradients with capped scores and logits equal central differences", "[gradient]") {
  for (const LogitFormat format : {LogitFormat::fp32, LogitFormat::compute})
    for (const Arch& arch : {test::tiny_gpt(), test::tiny_llama(), test::tiny_deepseek()}) {
      test::Variant v{"capped", arch, test::tiny_plan()};
      v.plan.logits.format = format;
      check_gradients(v, {.score_cap = 1.5, .logit_cap = 2});
      v.plan.recompute = Recompute::selective;
      check_gradients(v, {.score_cap = 0.7});
    }
}

TEST_CASE("gradients with recomputation of some layers or of layer groups equal those without", "[gradient]") {
  std::size_t models = 0;
  for (const test::Variant& given : test::variants()) {
    test::Variant v = given;
    v.plan.recompute = Recompute::none;
    const std::vector<double> saved = test::loss_and_gradients(v, Number::f64);
    v.plan.recompute = Recompute::full;
    for (const RecomputeMethod method : {RecomputeMethod::block, RecomputeMethod::uniform})
      for (const Count layers : {1, 2}) {
        v.plan.recompute_method = method;
        v.plan.recompute_layers = layers;
        if (recomputes_groups(v.plan) && !recomputes_in_groups(v.arch)) continue;
        INFO(v.name << ", " << layers << (method == RecomputeMethod::block ? " first" : " in a group"));
        CHECK(test::difference(test::loss_and_gradients(v, Number::f64), saved) < 1e-13);
        ++models;
      }
  }
  CHECK(models > 300);
}

TEST_CASE("training with capped scores is rejected with naive attention", "[gradient]") {
  const std::unique_ptr<Backend> cpu = make_cpu(Number::f64, true);
  const Arch arch = test::tiny_llama();
  Plan plan = test::tiny_plan();
  plan.attention = AttentionImpl::naive;
  Transformer t(arch, *cpu, {.plan = plan, .numerics = {.score_cap = 5}}, 7);
  t.weights().make_trainable(plan);
  CHECK_THROWS_AS(t.gradients(test::tiny_batch(arch, plan, 5), 1, nullptr), InputError);
  CHECK(std::isfinite(t.loss(test::tiny_batch(arch, plan, 5))));
}
