#include "evidence/names/stack.hpp"

namespace llmcalc {

std::string usual_stack(const Layout& layout) {
  const bool model_parallel = ranks(layout, Group::tensor) > 1 || ranks(layout, Group::pipeline) > 1;
  return model_parallel ? "megatron-lm" : "torch-fsdp";
}

}  // namespace llmcalc
