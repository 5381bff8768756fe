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

}  // namespace

TEST_CASE("training holds, does and orders exactly what is predicted", "[contract]") {
  for (const auto& [number, format] :
       {std::pair{model::Number::f32, dtypes::fp32}, {model::Number::bf16, dtypes::bf16}})
    for (test::Variant v : test::variants()) {
      v.plan.precision = v.plan.weight_precision = v.plan.kv_precision = format;
      INFO(v.name << ", " << format.name());
      for (const auto make : {model::make_cpu, test::make_emulated}) {
        const std::unique_ptr<model::Backend> backend = make(number, true);
        INFO(backend->name());
        model::Transformer t(v.arch, *backend, {.plan = v.plan}, 7);
        t.weights().make_trainable(v.plan);
        same(predicted_training(v.arch, v.plan), measured_training(t, 3));
      }
    }
}

TEST_CASE("generation holds, does and orders exactly what is predicted", "[contract]") {
  for (const auto& [number, format] :
       {std::pair{model::Number::f32, dtypes::fp32}, {model::Number::bf16, dtypes::bf16}})
    for (test::Variant v : test::variants())
      for (const Mla mla : {Mla::automatic, Mla::absorbed, Mla::expanded})
        for (const bool cache : {true, false}) {
          if (v.arch.attention != AttentionKind::latent && mla != Mla::automatic) continue;
          v.plan.precision = v.plan.weight_precision = v.plan.kv_precision = format;
          v.plan.mla = mla, v.plan.kv_cache = cache;
          INFO(v.name << ", " << format.name() << ", mla " << static_cast<int>(mla) << ", cache " << cache);
          for (const auto make : {model::make_cpu, test::make_emulated}) {
            const std::unique_ptr<model::Backend> backend = make(number, true);
            INFO(backend->name());
            model::Transformer t(v.arch, *backend, {.plan = v.plan}, 7);
            same(predicted_inference(v.arch, v.plan), measured_inference(t, 3));
          }
        }
}
