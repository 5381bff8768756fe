#pragma once
/// Defaults of training software that affect memory.

#include "calc/layout.hpp"
#include "calc/plan.hpp"

namespace llmcalc {

/// Training software, grouped by the allocations that it makes; "memory" in a software profile.
enum class MemorySoftware : std::uint8_t {
  megatron,            ///< Megatron-LM without TransformerEngine
  megatron_deepspeed,  ///< Megatron-LM with DeepSpeed's optimizers
  transformer_engine,  ///< Megatron-Core with TransformerEngine's modules
  internevo,
  titan,   ///< torchtitan: FSDP2
  pytorch  ///< other PyTorch software: only the allocator and libraries are known
};

/// Plan options that the user did not set, so the software determines them.
struct LeftToSoftware {
  bool attention = false;  ///< whether the attention kernel is unset
  bool dropout = false, logits = false, glu = false, weights = false, gradients = false;
  bool reshard = false;  ///< whether resharding, which frees gathered weights after use, is unset
};

/// The plan with unset options replaced by the software's choices.
Plan stored_plan(Plan p, MemorySoftware software, const LeftToSoftware& left);

/// The layout as the software runs it: in a pipeline, torchtitan keeps gathered weights until the step ends
/// (torchtitan/distributed/fsdp.py: reshard_after_forward "default").
Layout stored_layout(Layout l, MemorySoftware software, const LeftToSoftware& left);

}  // namespace llmcalc
