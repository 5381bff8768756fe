#pragma once
/// Memory of a training process as its software holds it: the tensors of calc/memory.hpp under what the software
/// stores, and by name what it allocates beside them.

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "calc/choice.hpp"
#include "calc/memory.hpp"
#include "presets/estimators/memory_estimate.hpp"
#include "presets/estimators/stored_plan.hpp"
#include "presets/hardware_file.hpp"

namespace llmcalc {

/// What a figure of memory is about.
enum class MemoryKind {
  allocated,  ///< peak of what the framework's tensors take
  reserved,   ///< peak of what the framework's allocator holds
  process,    ///< all of the process, as nvidia-smi shows it
  peak        ///< a peak, not said of what
};
template <>
inline constexpr auto choices<MemoryKind> =
    std::array{Choice{MemoryKind::allocated, "allocated"}, Choice{MemoryKind::reserved, "reserved"},
               Choice{MemoryKind::process, "process"}, Choice{MemoryKind::peak, "peak"}};

/// Bytes of one rank. What is absent is not known, or not held by that software; nothing is 0 for want of knowledge.
struct ProcessMemory {
  Bytes tensors{};                          ///< states and activations at the worst moment (calc/memory.hpp)
  std::optional<Bytes> products{};          ///< results of products that per-operator recomputation keeps
  std::optional<Bytes> loss{};              ///< of the loss and the head's weight gradient, beyond the logits
  std::optional<Bytes> weight_gradients{};  ///< buffers of weight gradients beside those that are accumulated
  std::optional<Bytes> update{};            ///< copies of gradients while the optimizer steps, where that is the peak
  std::optional<Bytes> buckets{};           ///< of gradients that are reduced
  std::optional<Bytes> workspaces{};        ///< of matrix products
  std::optional<Bytes> process{};           ///< driver, kernels' code, communicators: what no allocator counts
  std::optional<Bytes> slack{};             ///< reserved by the allocator and not in use
  bool operator==(const ProcessMemory&) const = default;
};

/// A term beside the tensors: its name, what it is, and where that is read.
struct ProcessTerm {
  std::string_view name, label, meaning, source;
  std::optional<Bytes> ProcessMemory::*bytes;
};
inline constexpr std::array memory_terms{
    ProcessTerm{"products", "kept products", "that per-operator recomputation keeps",
                "torchtitan/distributed/activation_checkpoint.py", &ProcessMemory::products},
    ProcessTerm{"loss", "loss", "float32 logits, the head's gradient",
                "Megatron-Core core/tensor_parallel/layers.py, core/fusions/fused_cross_entropy.py; PyTorch's "
                "cross_entropy",
                &ProcessMemory::loss},
    ProcessTerm{"weight_gradients", "weight gradients", "beside the accumulated ones",
                "TransformerEngine pytorch/module/base.py; DeepSpeed runtime/bf16_optimizer.py; FSDP2 in "
                "torch/distributed/pipelining/stage.py",
                &ProcessMemory::weight_gradients},
    ProcessTerm{"update", "optimizer's copies", "of gradients, beyond what is alive in backward",
                "Megatron-LM optimizer.py; DeepSpeed runtime/zero/stage_1_and_2.py; InternEvo hybrid_zero_optim.py",
                &ProcessMemory::update},
    ProcessTerm{"buckets", "buckets", "of gradients that are reduced at a time",
                "DeepSpeed's reduce_bucket_size of 5e8; a layer's of FSDP2", &ProcessMemory::buckets},
    ProcessTerm{"workspaces", "workspaces", "of matrix products",
                "PyTorch aten/src/ATen/cuda/CublasHandlePool.cpp; TransformerEngine pytorch/module/base.py",
                &ProcessMemory::workspaces},
    ProcessTerm{"process", "process", "driver, kernels' code, communicators",
                "fitted to readings of nvidia-smi: llmcalc accuracy memory", &ProcessMemory::process},
    ProcessTerm{"slack", "slack", "reserved by the allocator, not in use",
                "fitted to readings of nvidia-smi: llmcalc accuracy memory", &ProcessMemory::slack}};
Bytes total(const ProcessMemory& m);
/// Without the slack, which PyTorch's allocator gives back before memory runs out (c10/cuda/CUDACachingAllocator.cpp:
/// release_cached_blocks).
Bytes needed(const ProcessMemory& m);

/// Kinds of memory that are predicted about as well.
MemoryClass memory_class(MemoryKind kind);

/// A plan, as its software runs and stores it, on a device.
struct TrainedProcess {
  const Arch& arch;
  const HardwareCard& on;
  MemorySoftware software = MemorySoftware::pytorch;
  Plan plan{};
  Layout layout{};
  bool keeps_alternate = false;  ///< results of every second product, though layers run again: torchtitan's "op"
  bool compiles_loss = true;     ///< with the model: torchtitan does so since 2025
};

/// Whether it is known what such a process takes beside its tensors: the terms are of NVIDIA's libraries and tools.
bool has_known_process(const HardwareCard& card);

/// Memory of the first `stages` ranks of its pipeline, as that kind counts it.
std::vector<ProcessMemory> process_memories(const TrainedProcess& p, Count stages, MemoryKind kind,
                                            const MemoryParameters& fitted);
/// The one that holds most; the first of several.
const ProcessMemory& fullest(const std::vector<ProcessMemory>& all);

}  // namespace llmcalc
