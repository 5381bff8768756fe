#pragma once
/// The software of a training run.

#include <optional>
#include <string>

#include "calc/layout.hpp"

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
/// The stack where a run names none.
std::string usual_stack(const Layout& layout);

}  // namespace llmcalc
