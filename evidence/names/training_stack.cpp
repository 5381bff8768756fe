#include "evidence/names/training_stack.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

#include "ask/request/options/option_values.hpp"
#include "presets/load.hpp"

namespace llmcalc {

namespace {

/// A stack without a profile, and the profile used for it.
struct LikeProfile {
  std::string_view stack, profile;
};
constexpr std::array like_profiles{
    LikeProfile{"megatron-lm", "megatron-lm-legacy"}, LikeProfile{"megatron-core", "megatron-lm"},
    LikeProfile{"deepseek", "megatron-lm"},           LikeProfile{"internevo", "megatron-lm"},
    LikeProfile{"nanotron", "megatron-lm"},           LikeProfile{"unsloth", "megatron-lm"},
    LikeProfile{"flash-attention", "megatron-lm"},    LikeProfile{"lit-gpt", "megatron-lm"},
    LikeProfile{"meta-llama", "megatron-lm"},         LikeProfile{"aleph-alpha", "deepspeed"}};

/// Profile of unknown stacks.
constexpr std::string_view usual_profile = "torch-fsdp";

/// Profile by name. Each profile is loaded once.
const SoftwareCard& profile(std::string name) {
  static std::mutex mutex;
  static std::map<std::string, SoftwareCard> read;
  const std::lock_guard lock(mutex);
  const auto known = read.find(name);
  if (known != read.end()) return known->second;
  const auto* as =
      std::find_if(like_profiles.begin(), like_profiles.end(), [&](const LikeProfile& l) { return l.stack == name; });
  const std::string_view called = as == like_profiles.end() ? name : as->profile;
  SoftwareCard card = load_software(find_builtin(builtin_software(), called) == nullptr ? usual_profile : called);
  if (!card.training) card = load_software(usual_profile);  // the name may be an inference engine's: transformers
  return read.emplace(std::move(name), std::move(card)).first->second;
}

/// Name of a stack's profile. A row's statement about torch.compile overrides the stack's usual profile.
std::string profile_name(const Stack& s) {
  const Fusion usual = profile(s.name).training->fusion;
  if (!s.compiled || (usual != Fusion::eager && usual != Fusion::compiled)) return s.name;
  if (*s.compiled == (usual == Fusion::compiled)) return s.name;
  return *s.compiled ? "torch-fsdp-compiled" : "torch-fsdp";
}

CoreKernel core_of(AttentionKernel k, CoreKernel usual) {
  switch (k) {
    case AttentionKernel::unfused:
      return CoreKernel::unfused;
    case AttentionKernel::fused_softmax:
      return CoreKernel::fused_softmax;
    case AttentionKernel::flash_1:
      return CoreKernel::flash_1;
    case AttentionKernel::flash_2:
      return CoreKernel::flash_2;
    case AttentionKernel::vendor:
      return CoreKernel::vendor;
    case AttentionKernel::flash:
      break;
  }
  return usual;
}

/// Whether the stack itself has a profile, and not only another stack's.
bool has_profile(const Stack& s) { return find_builtin(builtin_software(), s.name) != nullptr; }

}  // namespace

TrainingStack training_stack(const TrainingCase& c) {
  const SoftwareCard& software = profile(profile_name(c.stack));
  TrainingStack s = stack_of(software, c.arch, c.plan);
  s.core = core_of(c.attention.kernel, software.training->core);
  s.writes_norms &= !c.attention.fused_norm;
  s.graphs = c.stack.graphs;
  s.hides_experts = c.stack.ep_overlap;
  if (c.stack.waits_for_tensor) s.tensor_collectives = TensorCollectives::waited_for;
  if (c.stack.tp_overlap && *c.stack.tp_overlap) s.tensor_collectives = TensorCollectives::overlapped;
  if (c.stack.tp_overlap && !*c.stack.tp_overlap)
    s.tensor_collectives = std::min(s.tensor_collectives, TensorCollectives::beside_weights);
  return s;
}

Count vocabulary_multiple(const Stack& s) { return has_profile(s) ? profile(s.name).vocabulary_multiple : 1; }

WeightFormats widened(const WeightFormats& base, const Stack& s) {
  return has_profile(s) ? widened(base, profile(s.name)) : base;
}

LogitStore logit_store(const Stack& s) {
  if (!has_profile(s)) return {};
  for (const auto& [option, value] : profile(s.name).defaults)
    if (option == "logits" && value.is_string()) return read_logits(value.get_ref<const std::string&>(), s.name);
  return {};
}

EstimateClass estimate_class(const TrainingCase& c) { return estimate_class(c.arch, c.on.hardware, c.input_assumed); }

}  // namespace llmcalc
