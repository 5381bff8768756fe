#pragma once
/// The software of a training run.

#include <optional>
#include <string>

#include "calc/layout.hpp"

namespace llmcalc {

struct Stack {
  std::string name;                ///< "megatron-lm", "megatron-deepspeed", "torchtitan", ...
  std::string assumed{};           ///< the assumption as a sentence, if the row's software is missing or unknown
  std::optional<bool> compiled;    ///< torch.compile or eager, if stated
  std::optional<bool> tp_overlap;  ///< tensor-parallel collectives are overlapped with matmuls
  bool waits_for_tensor = false;   ///< Megatron-LM before 2022, which does not overlap tensor-parallel collectives
  bool graphs = false;             ///< steps run as captured CUDA graphs
  bool rocm = false;
};
/// Default stack of a run that does not name one.
std::string usual_stack(const Layout& layout);

}  // namespace llmcalc
