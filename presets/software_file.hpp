#pragma once
/// A software stack: a training framework, an inference engine, or both.
///
/// { "name", "title"?, "aliases"?, "source", "notes"?, "parent"?, "capabilities"?, "versions"?, "launch"?,
///   "for": "training",
///   "fusion":           "megatron", "tuned", "compiled", "eager", "unfused" or "native" (Fusion,
///                       presets/estimators/training_estimator.hpp)
///   "attention":        "vendor" or "flash-2"          flash kernel, on devices with both
///   "norms":            "fused" or "written out"       for models with RMSNorm
///   "experts":          "grouped" or "one by one"      expert matmuls
///   "tensor_exchanges": "waited for", "beside weights" or "overlapped" (TensorCollectives)
///   "data_exchanges":   "waited for" or "overlapped"   data-parallel collectives
///   "expert_exchanges"?: "overlapped"                  expert-parallel collectives, with another micro-batch
///   "graphs"?:          true                           captured CUDA graphs launch the kernels
///   "memory"?:          "megatron", "megatron with deepspeed", "transformer engine", "internevo", "torchtitan" or
///                       "pytorch" (MemorySoftware, presets/estimators/stored_plan.hpp): memory in addition to tensors
///   "vocabulary_multiple"?: 128                        pads the vocabulary rows of each tensor-parallel rank to a
///                       multiple (calc/parallel/vocabulary.hpp)
///   "defaults"?: { "recompute": "full", ... }          options that the stack sets unless the user does, by their keys
///   "widens"?:   ["embedding", "lm_head", "norm"]      frozen 16-bit weights that the stack converts to float32; if it
///                       lists no matrix of a block, only those of a quantized base }
///
/// or "for": "inference" ("both": all keys),
///   "launching": "recorded", "compiled", "local", "local graphs", "eager" or "persistent" (Launching,
///                presets/estimators/inference_estimator.hpp)
///   "loop":      "none", "vllm", "vllm v0", "tensorrt-llm", "tensorrt-llm c++", "server" or "compiled program":
///                loop around the passes (ServingLoop)
///   "products":  "library" or "own"               kernels of prompt matmuls
///   "exchanges": "library" or "own"               kernels of tensor-parallel collectives
///   "prompts":   "beside decoding" or "first"     in a server's passes
///   "sums":      "fp32" or "fp16"                 accumulation of matmuls on GeForce cards
///   "back_end"?: "vulkan"                         kernels are Vulkan shaders
///   "weights"?:  "gguf"                           weights are GGUF files, without vision and audio encoders
///   "host"?:     "computes"                       decodes on the host with weights in host memory; absent: loads them
///   "server"?:                                    memory and limits of a server (presets/stack/engine_law.hpp)
///
/// "counterpart"?: the stack of the same project for the other of training and inference.
/// "parent": NAME or NAME@VERSION, a stack whose keys apply unless the file states its own (except name, title,
/// aliases, counterpart, notes, launch and versions). "versions": presets/stack/version.hpp. "capabilities":
/// presets/stack/capabilities.hpp. "launch"?: the command or file that starts the stack, presets/stack/launch.hpp. The
/// numeric parameters for these keywords are fitted: presets/estimates/.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calc/arch.hpp"
#include "calc/plan.hpp"
#include "presets/estimators/inference_estimator.hpp"
#include "presets/estimators/stored_plan.hpp"
#include "presets/estimators/training_estimator.hpp"
#include "presets/stack/capabilities.hpp"
#include "presets/stack/engine_law.hpp"
#include "presets/stack/launch.hpp"
#include "presets/stack/version.hpp"
#include "text/json.hpp"

namespace llmcalc {

struct SoftwareCard {
  std::string name, title, source, notes;
  std::string word;    ///< name in commands: the preset's name or its file's path, and "@VERSION" if the user chose one
  std::string parent;  ///< name of the parent stack; empty: none
  SoftwareVersion version;  ///< the requested version, or the newest; its name is empty if the stack has no versions
  std::vector<SoftwareVersion> versions;  ///< all versions, oldest first
  Capabilities capabilities;
  std::vector<std::string> aliases;
  std::string counterpart;  ///< stack of the same project for the other of training and inference; empty: none
  std::optional<TrainingStack> training;    ///< training properties, for a model with RMSNorm and flash attention
  std::optional<InferenceStack> inference;  ///< inference properties; either these or `training` may be absent
  std::optional<MemorySoftware> memory;     ///< memory model of a training process; absent: unknown
  std::vector<std::pair<std::string, json::Value>> defaults;  ///< options that the stack sets unless the user does
  std::vector<Component> widens;  ///< frozen 16-bit weights that the stack converts to float32
  Count vocabulary_multiple = 1;  ///< in training, multiple to which a rank's vocabulary rows are padded; 1: no padding
  std::shared_ptr<const Launch> launch;  ///< words of the launch command or keys of the launch file; absent: unknown
  std::optional<EngineLaw> server;       ///< memory and limits of a server; absent: vLLM's
  bool gguf_weights = false;             ///< whether weights are GGUF files, without vision and audio encoders
  bool computes_on_host = false;         ///< whether decode runs on the host if weights are in host memory

  /// Name and version of the stack: "vllm 0.20"; only the name if the stack has no versions.
  std::string named_version() const { return version.name.empty() ? name : name + " " + version.name; }
};

/// The keyword for this value in a software file.
std::string_view word(Fusion f);
std::string_view word(Launching l);

/// Reads a file at one version, without "versions" and "parent". Throws InputError if it is invalid.
SoftwareCard read_software_file(const json::Value& value, const std::string& where);

/// Formats of frozen weights after the stack's conversion to float32 ("widens").
WeightFormats widened(WeightFormats base, const SoftwareCard& software);

/// The training stack for a model and plan. Precondition: `software` is for training.
TrainingStack stack_of(const SoftwareCard& software, const Arch& arch, const Plan& plan);

}  // namespace llmcalc
