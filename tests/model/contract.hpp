#pragma once
/// Compares prediction with execution: operators in order, bytes and FLOPs.

#include "tests/catch.hpp"
#include "tests/models/tiny.hpp"
#include "validate/measure.hpp"
#include "validate/predict.hpp"

namespace llmcalc::test {

using validate::Ledger;

inline void same(const char* what, const std::map<std::string, Count>& predicted,
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

inline void same(const Ledger& predicted, const Ledger& measured) {
  same("bytes", predicted.bytes, measured.bytes);
  same("kept", predicted.saved, measured.saved);
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

/// Compares one training step, with the plan's adapters and formats.
inline void train_as_predicted(Variant v, model::Backend& backend) {
  model::Transformer t(v.arch, backend, {.plan = v.plan, .coded = trains_adapters(v.plan)}, 7);
  t.weights().make_trainable(v.plan);
  same(validate::predicted_training(v.arch, v.plan), validate::measured_training(t, 3));
}

/// The variant with all values in one format.
inline Variant in_format(Variant v, DType format) {
  v.plan.kv_precision = v.plan.precision = format;
  v.plan.weight_precision = v.plan.precision;
  return v;
}

}  // namespace llmcalc::test
