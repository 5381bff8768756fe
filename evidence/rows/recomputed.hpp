#pragma once
/// Operators that a training run recomputes in backward.

#include <string>

#include "calc/plan.hpp"
#include "calc/units.hpp"

namespace llmcalc {

/// Operators that run again in backward. With `layers`, whole layers do: all of them unless a number is given.
struct Recomputed {
  bool layers = false, core = false, norms = false, activations = false, mlp = false, up = false;
  bool alternate_products = false;  ///< every second product, and all element-wise operators
  Count layer_step = 1;             ///< one of so many layers
  Count first = 0;                  ///< so many layers; 0: not by number
  bool in_chunk = false;            ///< these are counted in each chunk of a rank, as Megatron-LM's "block" is
  double share = 1;                 ///< of all layers
  Count group = 1;                  ///< layers of which only the first one's input is kept: Megatron-LM's "uniform"
  std::string assumed{};            ///< the sentence, where the row does not state it
  bool stated() const { return assumed.empty(); }
  bool any() const { return layers || core || norms || activations || mlp || up || alternate_products; }
  /// Whether every layer runs again.
  bool every_layer() const { return layers && layer_step == 1 && first == 0 && share >= 1; }
  bool operator==(const Recomputed&) const = default;
};

/// What a plan states.
Recomputed recomputed_by(const Plan& plan);

/// How many layers of a chunk with `layers` run again, where whole layers do; `chunks`: of the model.
Count layers_again(const Recomputed& r, Count layers, Count chunks);

}  // namespace llmcalc
