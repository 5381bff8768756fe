#pragma once
/// Models of which a part is trained.

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

/// Parts of a model at its beginning, in its middle and at its end.
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

/// Those of a model; where layers repeat others, layers are no parts.
inline std::vector<FrozenChoice> frozen_choices(const Arch& a) {
  std::vector<FrozenChoice> all = frozen_choices();
  if (a.has_repeats()) std::erase_if(all, [](const FrozenChoice& c) { return !c.frozen.layers.empty(); });
  return all;
}

/// Models that can be trained in part.
inline std::vector<Variant> trained_in_part() {
  std::vector<Variant> all = variants();
  std::erase_if(all, [](const Variant& v) { return !model::trains_in_part(v.arch) || v.plan.mtp > 0; });
  return all;
}

}  // namespace llmcalc::test
