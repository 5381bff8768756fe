#pragma once
/// A software profile: the properties of a training stack or an inference engine that affect estimates.
///
/// { "name", "title"?, "aliases"?, "source", "notes"?, "for": "training",
///   "fusion":           "megatron", "tuned", "compiled", "eager", "unfused" or "native" (Fusion,
///                       presets/estimators/training_estimator.hpp)
///   "attention":        "vendor" or "flash-2"          flash kernel, on devices with both
///   "norms":            "fused" or "written out"       for models with RMSNorm
///   "experts":          "grouped" or "one by one"      expert matmuls
///   "tensor_exchanges": "waited for", "beside weights" or "overlapped" (TensorExchanges)
///   "data_exchanges":   "waited for" or "overlapped"   with layers
///   "memory"?:          "megatron", "megatron with deepspeed", "transformer engine", "internevo", "torchtitan" or
///                       "pytorch" (MemorySoftware, presets/estimators/stored_plan.hpp): memory in addition to tensors
///   "vocabulary_multiple"?: 128                        pads the vocabulary rows of each tensor-parallel rank to a
///                       multiple (calc/parallel/vocabulary.hpp) }
///
/// or "for": "inference",
///   "launching": "recorded", "compiled", "local", "eager" or "persistent" (Launching,
///                presets/estimators/inference_estimator.hpp)
///   "loop":      "none", "vllm", "vllm v0", "tensorrt-llm", "tensorrt-llm c++", "server" or "compiled program":
///                loop around the passes (ServingLoop)
///   "products":  "library" or "own"               kernels of prompt matmuls
///   "exchanges": "library" or "own"               kernels of tensor-parallel collectives
///   "prompts":   "beside decoding" or "first"     in a server's passes
///   "sums":      "fp32" or "fp16"                 accumulation of matmuls on GeForce cards
///
/// The numeric parameters for these words are fitted (presets/estimates/).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calc/arch.hpp"
#include "calc/plan.hpp"
#include "presets/estimators/inference_estimator.hpp"
#include "presets/estimators/stored_plan.hpp"
#include "presets/estimators/training_estimator.hpp"
#include "text/json.hpp"

namespace llmcalc {

struct SoftwareCard {
  std::string name, title, source, notes;
  std::string word;  ///< name in commands: the preset's name, or the path of its file
  std::vector<std::string> aliases;
  std::optional<TrainingStack> training;    ///< for a model with RMSNorm and flash attention
  std::optional<InferenceStack> inference;  ///< exactly one of `training` and `inference` is present
  std::optional<MemorySoftware> memory;     ///< memory model of a training process; absent: unknown
  Count vocabulary_multiple = 1;  ///< multiple for padding a rank's vocabulary rows in training; 1: no padding
};

/// The word in a software file.
std::string_view word(Fusion f);
std::string_view word(Launching l);

SoftwareCard read_software_file(const json::Value& value, const std::string& where);

/// The training stack for this model and plan. Precondition: `software` is for training.
TrainingStack stack_of(const SoftwareCard& software, const Arch& arch, const Plan& plan);

}  // namespace llmcalc
