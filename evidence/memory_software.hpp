#pragma once
/// Software of training by what it allocates.

#include "evidence/training_case.hpp"

namespace llmcalc {

enum class MemorySoftware : std::uint8_t {
  megatron,            ///< Megatron-LM without TransformerEngine
  megatron_deepspeed,  ///< its models under DeepSpeed's optimizers
  transformer_engine,  ///< Megatron-Core with TransformerEngine's modules
  internevo,
  titan,  ///< torchtitan: FSDP2
  other
};
MemorySoftware memory_software(const TrainingCase& c);

/// Whether every second product's result is kept and the rest of a layer runs again: torchtitan's "selective" with
/// "op", which its training configurations set where a row says nothing.
bool keeps_alternate_products(const TrainingCase& c);

/// The layout as memory sees it: in a pipeline torchtitan keeps gathered weights until the step ends
/// (torchtitan/distributed/fsdp.py: reshard_after_forward "default").
Layout memory_layout(const TrainingCase& c);

}  // namespace llmcalc
