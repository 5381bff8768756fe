#pragma once
/// What a training run was made with, as its row tells: software and what was computed again.

#include <optional>
#include <string>

#include "evidence/training_row.hpp"

namespace llmcalc {

struct Stack {
  std::string name;                ///< "megatron-lm", "megatron-deepspeed", "torchtitan", ...
  std::string assumed{};           ///< the sentence, where the row names none, or one that is not known
  std::optional<bool> compiled;    ///< torch.compile or eager, where the row says so
  std::optional<bool> tp_overlap;  ///< exchanges of tensor parallelism hidden behind products
  bool waits_for_tensor = false;   ///< Megatron-LM before 2022, which hides no exchange of tensor parallelism
  bool graphs = false;             ///< steps are recorded CUDA graphs
  bool rocm = false;
};
Stack stack_of(const TrainingRow& row);

/// Operators that run again in backward. With `layers`, whole layers do, one of every `layer_step`.
struct Recomputed {
  bool layers = false, core = false, norms = false, activations = false, mlp = false;
  bool alternate_products = false;  ///< every second product, and all element-wise operators
  Count layer_step = 1;
  std::string assumed{};  ///< the sentence, where the row does not state it
  bool stated() const { return assumed.empty(); }
  bool any() const { return layers || core || norms || activations || mlp || alternate_products; }
  bool operator==(const Recomputed&) const = default;
};
Recomputed recomputed_of(const TrainingRow& row);

}  // namespace llmcalc
