#pragma once
/// What training software stores by default, as far as memory depends on it.

#include "calc/layout.hpp"
#include "calc/plan.hpp"

namespace llmcalc {

/// Software of training by what it allocates: "memory" of a software profile.
enum class MemorySoftware : std::uint8_t {
  megatron,            ///< Megatron-LM without TransformerEngine
  megatron_deepspeed,  ///< its models under DeepSpeed's optimizers
  transformer_engine,  ///< Megatron-Core with TransformerEngine's modules
  internevo,
  titan,   ///< torchtitan: FSDP2
  pytorch  ///< other software on PyTorch: what its allocator and libraries take, and no more is known
};

/// What nobody decided of a plan, so that the software does.
struct LeftToSoftware {
  bool attention = false;  ///< its kernel
  bool dropout = false, logits = false, glu = false, weights = false, gradients = false;
  bool reshard = false;  ///< whether gathered weights are given back after forward
};

/// The plan as the software runs it.
Plan stored_plan(Plan p, MemorySoftware software, const LeftToSoftware& left);

/// The layout as memory sees it: in a pipeline torchtitan keeps gathered weights until the step ends
/// (torchtitan/distributed/fsdp.py: reshard_after_forward "default").
Layout stored_layout(Layout l, MemorySoftware software, const LeftToSoftware& left);

}  // namespace llmcalc
