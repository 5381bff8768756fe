// Prediction and execution agree: the same operators in the same order, the same bytes, the same FLOPs.

#include "tests/catch.hpp"
#include "tests/model/emulated.hpp"
#include "tests/model/tiny.hpp"
#include "validate/measure.hpp"
#include "validate/predict.hpp"

using namespace llmcalc;
using namespace llmcalc::validate;

namespace {

void same(const char* what, const std::map<std::string, Count>& predicted,
          const std::map<std::string, Count>& measured) {
  INFO(what);
  for (const auto& [name, n] : predicted) {
    INFO(name);
    CHECK(n == (measured.contains(name) ? measured.at(name) : 0));
  }
  for (const auto& [name, n] : measured) {
    INFO(name << " was measured, " << n << ", and not predicted");
    CHECK(predicted.contains(name));
  }
}

void same(const Ledger& predicted, const Ledger& measured) {
  same("bytes", predicted.bytes, measured.bytes);
  same("kept", predicted.kept, measured.kept);
  same("forward", predicted.forward, measured.forward);
  same("backward", predicted.backward, measured.backward);
  same("recompute", predicted.recompute, measured.recompute);
  const std::size_t n = std::min(predicted.order.size(), measured.order.size());
  for (std::size_t i = 0; i < n; ++i) {
    INFO("operator " << i << ": " << predicted.order[i].name << " and " << measured.order[i].name);
    REQUIRE(predicted.order[i] == measured.order[i]);
  }
  CHECK(predicted.order.size() == measured.order.size());
}

/// f(variant, backend) for every variant in both formats.
template <typename F>
void each_variant(test::MakeBackend make, F f) {
  for (const auto& [number, format] :
       {std::pair{model::Number::f32, dtypes::fp32}, {model::Number::bf16, dtypes::bf16}})
    for (test::Variant v : test::variants(*make(number, false))) {
      v.plan.kv_precision = v.plan.precision = format;
      v.plan.weight_precision = v.plan.precision;
      const std::unique_ptr<model::Backend> backend = make(number, true);
      INFO(v.name << ", " << backend->name());
      f(v, *backend);
    }
}

void train_as_predicted(test::Variant v, model::Backend& backend) {
  model::Transformer t(v.arch, backend, {.plan = v.plan}, 7);
  t.weights().make_trainable(v.plan);
  same(predicted_training(v.arch, v.plan), measured_training(t, 3));
}

void generate_as_predicted(test::Variant v, model::Backend& backend) {
  for (const Mla mla : {Mla::automatic, Mla::absorbed, Mla::expanded})
    for (const bool cache : {true, false}) {
      if (v.arch.attention != AttentionKind::latent && mla != Mla::automatic) continue;
      if (v.plan.mtp > 0 && !cache) continue;  // drafts are tokens that a cache keeps
      v.plan.mla = mla;
      v.plan.kv_cache = cache;
      INFO("mla " << static_cast<int>(mla) << ", cache " << cache);
      model::Transformer t(v.arch, backend, {.plan = v.plan}, 7);
      same(predicted_inference(v.arch, v.plan), measured_inference(t, 3));
    }
}

}  // namespace

TEST_CASE("training holds, does and orders exactly what is predicted", "[contract]") {
  each_variant(model::make_cpu, train_as_predicted);
}

TEST_CASE("the worst moment may be a layer's forward run: its last sum beside a narrow MLP", "[contract]") {
  for (const BlockKind block : {BlockKind::serial, BlockKind::parallel})
    for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
      test::Variant v{"narrow", test::tiny_llama(), test::tiny_plan()};
      v.arch.layers = 1;
      v.arch.hidden = v.arch.embedding_width = 64;
      v.arch.vocabulary = 3;
      v.arch.mlp_width = 1;
      v.arch.heads = v.arch.kv_heads = 1;
      v.arch.head_dim = 2;
      v.arch.block = block;
      v.arch.norms_per_layer = block == BlockKind::parallel ? 1 : 2;
      v.arch.final_norm = false;
      v.plan.seq = 32;
      v.plan.recompute = recompute;
      v.plan.kv_precision = v.plan.precision = dtypes::fp32;
      v.plan.weight_precision = v.plan.precision;
      INFO(static_cast<int>(block) << ", recompute " << static_cast<int>(recompute));
      train_as_predicted(v, *model::make_cpu(model::Number::f32, true));
    }
}

TEST_CASE("training holds, does and orders what is predicted with logits in the compute format", "[contract]") {
  each_variant(model::make_cpu, [](test::Variant v, model::Backend& backend) {
    v.plan.logits.format = LogitFormat::compute;
    train_as_predicted(v, backend);
  });
}

TEST_CASE("generation holds, does and orders exactly what is predicted", "[contract]") {
  each_variant(model::make_cpu, generate_as_predicted);
}

TEST_CASE("training by CUDA's kernels holds, does and orders exactly what is predicted", "[cuda][long]") {
  for (const test::MakeBackend make : test::gpus()) each_variant(make, train_as_predicted);
}

TEST_CASE("training by CUDA's kernels holds, does and orders what is predicted with logits in the compute format",
          "[cuda]") {
  for (const test::MakeBackend make : test::gpus())
    for (const auto& [number, format] :
         {std::pair{model::Number::f32, dtypes::fp32}, {model::Number::bf16, dtypes::bf16}})
      for (const Arch& arch : {test::tiny_gpt(), test::tiny_llama()})  // tied and not
        for (const Count vocabulary : {17, 32}) {
          test::Variant v{"", arch, test::tiny_plan()};
          v.arch.vocabulary = vocabulary;
          v.plan.logits.format = LogitFormat::compute;
          v.plan.kv_precision = v.plan.precision = format;
          v.plan.weight_precision = v.plan.precision;
          const std::unique_ptr<model::Backend> backend = make(number, true);
          INFO(backend->name() << ", tied " << arch.tied_head << ", vocabulary " << vocabulary);
          train_as_predicted(v, *backend);
        }
}

TEST_CASE("generation by CUDA's kernels holds, does and orders exactly what is predicted", "[cuda][long]") {
  for (const test::MakeBackend make : test::gpus()) each_variant(make, generate_as_predicted);
}

TEST_CASE("every micro-batch of a step holds and does what the first one does", "[contract]") {
  each_variant(model::make_cpu, [](test::Variant v, model::Backend& backend) {
    v.plan.global_batch = 3 * v.plan.micro_batch;
    train_as_predicted(v, backend);
  });
}
