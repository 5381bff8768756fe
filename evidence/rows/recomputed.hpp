#pragma once

#include <string>

#include "calc/plan.hpp"
#include "calc/units.hpp"

namespace llmcalc {

/// Operators recomputed in the backward pass. With `layers`, whole layers are recomputed: all of them unless a number
/// is stated.
struct Recomputed {
  bool layers = false, core = false, norms = false, activations = false, mlp = false, up = false;
  bool alternate_products = false;  ///< whether every second matmul, and all element-wise operators, are recomputed
  Count layer_step = 1;             ///< one of every `layer_step` layers is recomputed
  Count first = 0;                  ///< number of recomputed layers; 0: not stated as a number
  bool in_chunk = false;  ///< whether `first` counts layers in each chunk of a rank, like Megatron-LM's "block"
  double share = 1;       ///< fraction of all layers that is recomputed
  Count group = 1;        ///< layers per group; only the input of the first one is saved, as in Megatron-LM's "uniform"
  std::string assumed{};  ///< the assumption as a sentence, if the row does not state recomputation
  bool stated() const { return assumed.empty(); }
  bool any() const { return layers || core || norms || activations || mlp || up || alternate_products; }
  /// Whether every layer is recomputed.
  bool every_layer() const { return layers && layer_step == 1 && first == 0 && share >= 1; }
  bool operator==(const Recomputed&) const = default;
};

/// Recomputation that a plan specifies.
Recomputed recomputed_by(const Plan& plan);

/// Number of recomputed layers in a chunk of `layers` layers, if whole layers are recomputed. `chunks`: number of
/// chunks in the model.
Count recomputed_layers(const Recomputed& r, Count layers, Count chunks);

}  // namespace llmcalc
