#pragma once
/// Memory of a training process under a particular training software: tensors (calc/memory.hpp) in the formats that the
/// software stores, and other allocations by name.

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

/// Which memory a figure measures.
enum class MemoryKind {
  allocated,  ///< peak of the framework's tensors
  reserved,   ///< peak of the framework's allocator
  process,    ///< the whole process, as nvidia-smi shows it
  peak        ///< a peak of unspecified kind
};
template <>
inline constexpr auto choices<MemoryKind> =
    std::array{Choice{MemoryKind::allocated, "allocated"}, Choice{MemoryKind::reserved, "reserved"},
               Choice{MemoryKind::process, "process"}, Choice{MemoryKind::peak, "peak"}};

/// Memory of one rank in bytes. A value is absent if it is unknown or if the software makes no such allocation. 0
/// never means unknown.
struct ProcessMemory {
  Bytes tensors{};                  ///< states and activations at the peak (calc/memory.hpp)
  std::optional<Bytes> products{};  ///< matmul results saved under per-operator recomputation
  std::optional<Bytes> loss{};      ///< bytes of the loss and the head's weight gradient, in excess of the logits
  std::optional<Bytes> weight_gradients{};  ///< weight-gradient buffers, in addition to the accumulated gradients
  std::optional<Bytes> update{};            ///< copies of gradients in the optimizer step, if the peak occurs there
  std::optional<Bytes> buckets{};           ///< gradient buckets being reduced
  std::optional<Bytes> workspaces{};        ///< workspaces of matmul kernels
  std::optional<Bytes> process{};           ///< bytes outside any allocator: driver, kernel code, communicators
  std::optional<Bytes> slack{};             ///< bytes reserved by the allocator, but unused
  bool operator==(const ProcessMemory&) const = default;
};

/// A term in addition to the tensors, with its name, meaning and source.
struct ProcessTerm {
  std::string_view name, label, meaning, source;
  std::optional<Bytes> ProcessMemory::*bytes;
};
inline constexpr std::array memory_terms{
    ProcessTerm{"products", "saved products", "results that per-operator recomputation saves",
                "torchtitan/distributed/activation_checkpoint.py", &ProcessMemory::products},
    ProcessTerm{"loss", "loss", "float32 logits, gradient of the head",
                "Megatron-Core core/tensor_parallel/layers.py, core/fusions/fused_cross_entropy.py; PyTorch's "
                "cross_entropy",
                &ProcessMemory::loss},
    ProcessTerm{"weight_gradients", "weight gradients", "in addition to the accumulated gradients",
                "TransformerEngine pytorch/module/base.py; DeepSpeed runtime/bf16_optimizer.py; FSDP2 in "
                "torch/distributed/pipelining/stage.py",
                &ProcessMemory::weight_gradients},
    ProcessTerm{"update", "optimizer copies", "copies of gradients, in excess of the live memory in backward",
                "Megatron-LM optimizer.py; DeepSpeed runtime/zero/stage_1_and_2.py; InternEvo hybrid_zero_optim.py",
                &ProcessMemory::update},
    ProcessTerm{"buckets", "buckets", "gradients in one reduction bucket",
                "DeepSpeed's reduce_bucket_size of 5e8; one layer in FSDP2", &ProcessMemory::buckets},
    ProcessTerm{"workspaces", "workspaces", "workspaces of matmuls",
                "PyTorch aten/src/ATen/cuda/CublasHandlePool.cpp; TransformerEngine pytorch/module/base.py",
                &ProcessMemory::workspaces},
    ProcessTerm{"process", "process", "driver, kernel code, communicators",
                "fitted to readings of nvidia-smi: llmcalc accuracy memory", &ProcessMemory::process},
    ProcessTerm{"slack", "slack", "reserved by the allocator, but unused",
                "fitted to readings of nvidia-smi: llmcalc accuracy memory", &ProcessMemory::slack}};
Bytes total(const ProcessMemory& m);
/// Total without the slack, which PyTorch's allocator frees before memory runs out (c10/cuda/CUDACachingAllocator.cpp:
/// release_cached_blocks).
Bytes needed(const ProcessMemory& m);

/// Accuracy class of a kind of memory.
MemoryClass memory_class(MemoryKind kind);

/// A plan on a device, as the training software runs it and stores its tensors.
struct TrainedProcess {
  const Arch& arch;
  const HardwareCard& on;
  MemorySoftware software = MemorySoftware::pytorch;
  Plan plan{};
  Layout layout{};
  bool keeps_alternate = false;  ///< whether full recompute saves every second matmul's result (torchtitan's "op")
  bool compiles_loss = true;     ///< whether the loss is compiled with the model, as in torchtitan since 2025
};

/// Whether terms other than tensors are known for the device. They are known only for NVIDIA's libraries and tools.
bool has_known_process(const HardwareCard& card);

/// Memory of the first `stages` ranks of the pipeline, measured as `kind`.
std::vector<ProcessMemory> process_memories(const TrainedProcess& p, Count stages, MemoryKind kind,
                                            const MemoryParameters& fitted);
/// The rank with the most memory; among ties, the first.
const ProcessMemory& fullest(const std::vector<ProcessMemory>& all);

}  // namespace llmcalc
