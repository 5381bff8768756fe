// Prediction and execution agree in operators, their order, bytes and FLOPs.

#include "tests/model/contract.hpp"
#include "model/pass/forward.hpp"
#include "tests/model/emulated.hpp"

using namespace llmcalc;
using test::same;
using test::train_as_predicted;
using namespace llmcalc::validate;

namespace {

/// Calls f(variant, backend) for every variant in every format that the CPU or the GPU supports.
template <typename F>
void each_variant(test::MakeBackend make, F f) {
  std::vector formats{std::pair{model::Number::f32, dtypes::fp32}, {model::Number::bf16, dtypes::bf16}};
  if (make == static_cast<test::MakeBackend>(model::make_cpu)) formats.push_back({model::Number::f16, dtypes::fp16});
  for (const auto& [number, format] : formats)
    for (test::Variant v : test::variants(*make(number, false))) {
      v.plan.kv_precision = v.plan.precision = format;
      v.plan.weight_precision = v.plan.precision;
      const std::unique_ptr<model::Backend> backend = make(number, true);
      INFO(v.name << ", " << backend->name());
      f(v, *backend);
    }
}

void generate_as_predicted(test::Variant v, model::Backend& backend) {
  for (const Mla mla : {Mla::automatic, Mla::absorbed, Mla::expanded})
    for (const bool cache : {true, false}) {
      if (v.arch.attention != AttentionKind::latent && mla != Mla::automatic) continue;
      if (v.plan.mtp > 0 && !cache) continue;  // drafts need a cache
      v.plan.mla = mla;
      v.plan.kv_cache = cache;
      INFO("mla " << static_cast<int>(mla) << ", cache " << cache);
      model::Transformer t(v.arch, backend, {.plan = v.plan}, 7);
      same(predicted_inference(v.arch, v.plan), measured_inference(t, 3));
    }
}

}  // namespace

TEST_CASE("memory, FLOPs and operator order of training match their predictions exactly", "[contract]") {
  each_variant(model::make_cpu, train_as_predicted);
}

TEST_CASE("training matches its prediction if memory peaks at the last residual sum of the forward pass",
          "[contract]") {
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

TEST_CASE("training with logits in the compute format matches its prediction", "[contract]") {
  each_variant(model::make_cpu, [](test::Variant v, model::Backend& backend) {
    v.plan.logits.format = LogitFormat::compute;
    train_as_predicted(v, backend);
  });
}

TEST_CASE("memory, FLOPs and operator order of generation match their predictions exactly", "[contract]") {
  each_variant(model::make_cpu, generate_as_predicted);
}

TEST_CASE("training with recomputation of some layers or of layer groups matches its prediction", "[contract]") {
  for (test::Variant v : test::variants()) {
    const std::unique_ptr<model::Backend> backend = model::make_cpu(model::Number::f32, true);
    v.plan.kv_precision = v.plan.precision = dtypes::fp32;
    v.plan.weight_precision = v.plan.precision;
    v.plan.recompute = Recompute::full;
    for (const RecomputeMethod method : {RecomputeMethod::block, RecomputeMethod::uniform})
      for (const Count layers : {1, 2, 3}) {
        v.plan.recompute_method = method;
        v.plan.recompute_layers = layers;
        if (recomputes_groups(v.plan) && !model::recomputes_in_groups(v.arch)) continue;
        INFO(v.name << ", " << layers << (method == RecomputeMethod::block ? " first" : " in a group"));
        train_as_predicted(v, *backend);
      }
  }
}

TEST_CASE("training matches its prediction for every optimizer with states in every format", "[contract]") {
  for (const Arch& arch : {test::tiny_gpt(), test::tiny_llama(), test::tiny_deepseek()})
    for (const Optimizer optimizer : {Optimizer::adam, Optimizer::momentum, Optimizer::sgd, Optimizer::lion,
                                      Optimizer::adafactor, Optimizer::muon, Optimizer::adam8bit})
      for (const DType state : {dtypes::fp32, dtypes::bf16, dtypes::fp16}) {
        test::Variant v{"", arch, test::tiny_plan()};
        v.plan.kv_precision = v.plan.precision = dtypes::bf16;
        v.plan.weight_precision = v.plan.precision;
        v.plan.optimizer = optimizer;
        v.plan.state_precision = state;
        INFO("optimizer " << static_cast<int>(optimizer) << ", states in " << state.name());
        train_as_predicted(v, *model::make_cpu(model::Number::bf16, true));
      }
}

TEST_CASE("generation with quantized weights and caches matches its prediction", "[contract]") {
  std::size_t turn = 0;
  constexpr std::array formats{"int8", "mxfp4", "nvfp4", "gptq-g32", "fp8", "q5_1", "nf4-dq", "fp8-block"};
  constexpr std::array caches{"int8", "fp8", "q8_0", "mxfp8", "bf16"};
  for (test::Variant v : test::generating_variants()) {
    const std::unique_ptr<model::Backend> backend = model::make_cpu(model::Number::f32, true);
    v.plan.precision = dtypes::fp32;
    v.plan.weight_precision = *dtype(formats[turn % formats.size()]);
    v.plan.kv_precision = *dtype(caches[turn++ % caches.size()]);
    INFO(v.name << ", " << v.plan.kv_precision.keys.name() << ", turn " << turn);
    model::Transformer t(v.arch, *backend, {.plan = v.plan, .coded = true}, 7);
    same(predicted_inference(v.arch, v.plan), measured_inference(t, 3));
  }
}

TEST_CASE("training with CUDA kernels matches its prediction", "[cuda][long]") {
  for (const test::MakeBackend make : test::gpus()) each_variant(make, train_as_predicted);
}

TEST_CASE("training with CUDA kernels and logits in the compute format matches its prediction", "[cuda]") {
  for (const test::MakeBackend make : test::gpus())
    for (const auto& [number, format] :
         {std::pair{model::Number::f32, dtypes::fp32}, {model::Number::bf16, dtypes::bf16}})
      for (const Arch& arch : {test::tiny_gpt(), test::tiny_llama()})  // tied and untied
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

TEST_CASE("generation with CUDA kernels matches its prediction", "[cuda][long]") {
  for (const test::MakeBackend make : test::gpus()) each_variant(make, generate_as_predicted);
}

TEST_CASE("training with several micro-batches per step matches its prediction", "[contract]") {
  each_variant(model::make_cpu, [](test::Variant v, model::Backend& backend) {
    v.plan.global_batch = 3 * v.plan.micro_batch;
    train_as_predicted(v, backend);
  });
}
