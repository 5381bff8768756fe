#pragma once
/// The software of a training run.

#include <optional>
#include <string>

#include "calc/layout.hpp"

namespace llmcalc {

struct Stack {
  std::string name;                ///< name of the stack: "megatron-lm", "megatron-deepspeed", "torchtitan", ...
  std::string assumed{};           ///< the assumption as a sentence, if the row's software is missing or unknown
  std::optional<bool> compiled;    ///< whether torch.compile is used, if stated
  std::optional<bool> tp_overlap;  ///< whether tensor-parallel collectives are overlapped with matmuls
  bool waits_for_tensor = false;   ///< whether tensor-parallel collectives never overlap: Megatron-LM before 2022
  bool graphs = false;             ///< whether steps run as captured CUDA graphs
  bool ep_overlap = false;         ///< whether expert-parallel collectives are overlapped with another micro-batch
  bool rocm = false;
};
/// Default stack of a run that does not name one.
std::string usual_stack(const Layout& layout);

}  // namespace llmcalc
