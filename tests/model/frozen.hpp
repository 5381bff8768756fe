#pragma once
/// Models with frozen parts.

#include <vector>

#include "model/pass/forward.hpp"
#include "tests/models/tiny.hpp"

namespace llmcalc::test {

struct FrozenChoice {
  const char* name;
  Frozen frozen;
};

inline Frozen frozen_parts(std::initializer_list<FreezePart> some) {
  Frozen f;
  for (const FreezePart p : some) f.parts.add(p);
  return f;
}

/// Frozen parts at the beginning, in the middle and at the end of a model.
inline std::vector<FrozenChoice> frozen_choices() {
  using P = FreezePart;
  return {{"embedding", frozen_parts({P::embedding})},
          {"embedding and norms", frozen_parts({P::embedding, P::norm})},
          {"attention", frozen_parts({P::attention})},
          {"MLPs and experts", frozen_parts({P::mlp, P::experts})},
          {"router", frozen_parts({P::router})},
          {"all but MLPs and experts", frozen_parts({P::embedding, P::norm, P::attention, P::router, P::head})},
          {"all but routers and head", frozen_parts({P::embedding, P::norm, P::attention, P::mlp, P::experts})},
          {"first layer", {.layers = LayerSet::all(1)}},
          {"embedding and first layer", {.parts = P::embedding, .layers = LayerSet::all(1)}},
          {"last layer", {.layers = LayerSet::every(1, 1, 2)}}};
}

/// The choices for a model. Excludes layers if some repeat the weights of others.
inline std::vector<FrozenChoice> frozen_choices(const Arch& a) {
  std::vector<FrozenChoice> all = frozen_choices();
  if (a.has_repeats()) std::erase_if(all, [](const FrozenChoice& c) { return !c.frozen.layers.empty(); });
  return all;
}

/// Variants that support partial training.
inline std::vector<Variant> trained_in_part() {
  std::vector<Variant> all = variants();
  std::erase_if(all, [](const Variant& v) { return !model::trains_in_part(v.arch) || v.plan.mtp > 0; });
  return all;
}

}  // namespace llmcalc::test
