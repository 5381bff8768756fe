#pragma once
/// A software profile: what a training stack or an inference engine does, as far as an estimate depends on it.
///
/// { "name", "title"?, "aliases"?, "source", "notes"?, "for": "training",
///   "fusion":           "megatron", "tuned", "compiled", "eager", "unfused" or "native"   (Fusion,
///                       presets/training_estimator.hpp)
///   "attention":        "vendor" or "flash-2"          its flash kernel on devices that have both
///   "norms":            "fused" or "written out"       of models with RMSNorm
///   "experts":          "grouped" or "one by one"      products of experts
///   "tensor_exchanges": "waited for", "beside weights" or "overlapped"   (TensorExchanges)
///   "data_exchanges":   "waited for" or "overlapped"    beside layers
///   "memory"?:          "megatron", "megatron with deepspeed", "transformer engine", "internevo", "torchtitan" or
///                       "pytorch" (MemorySoftware, presets/stored_plan.hpp)   what a process holds beside its tensors
///   "vocabulary_multiple"?: 128                       to which the rows of a vocabulary are padded, for each
///                       tensor-parallel rank (calc/parallel/vocabulary.hpp) }
///
/// or "for": "inference",
///   "launching": "recorded", "compiled", "local", "eager" or "persistent"   (Launching,
///   presets/inference_estimator.hpp) "loop":      "none", "vllm", "vllm v0", "tensorrt-llm", "tensorrt-llm c++",
///   "server" or "compiled program"   around
///                the passes (ServingLoop)
///   "products":  "library" or "own"               kernels of a prompt's products
///   "exchanges": "library" or "own"               kernels of exchanges between tensor-parallel ranks
///   "prompts":   "beside decoding" or "first"     in passes of a server
///   "sums":      "fp32" or "fp16"                 of products on GeForce cards
///
/// The numbers that belong to these words are fitted: presets/estimates/.

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
  std::string word;  ///< what a command names it by: the preset's name, or the path of its file
  std::vector<std::string> aliases;
  std::optional<TrainingStack> training;    ///< of a model with RMSNorm and flash attention
  std::optional<InferenceStack> inference;  ///< either of the two
  std::optional<MemorySoftware> memory;     ///< what a process that trains holds; absent: not known
  Count vocabulary_multiple = 1;            ///< of a tensor-parallel rank's rows, in training; 1: they are not padded
};

/// The word of a software file.
std::string_view word(Fusion f);
std::string_view word(Launching l);

SoftwareCard read_software_file(const json::Value& value, const std::string& where);

/// The training stack as it runs a model under a plan. Precondition: the software trains.
TrainingStack stack_of(const SoftwareCard& software, const Arch& arch, const Plan& plan);

}  // namespace llmcalc
