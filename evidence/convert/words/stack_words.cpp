#include "evidence/convert/words/stack_words.hpp"

#include <fmt/format.h>

#include <regex>
#include <vector>

#include "evidence/convert/training/training_row.hpp"
#include "evidence/names/words.hpp"
#include "presets/load.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

bool has_word(const std::string& text, std::string_view word) { return text.find(word) != std::string::npos; }

/// A word and the stack that it indicates; more specific words come first.
struct TellingWord {
  std::string_view word, stack;
};
constexpr TellingWord stack_words[] = {
    {"maxtext", "maxtext"},
    {"torchtitan", "torchtitan"},
    {"torchtune", "torchtune"},
    {"megatron-bridge", "megatron-core"},
    {"mlperf", "nemo"},
    {"dgxc", "nemo"},
    {"nemo", "nemo"},
    {"simumax", "megatron-core"},
    {"megatron-deepspeed", "megatron-deepspeed"},
    {"bigscience", "megatron-deepspeed"},
    {"mt-nlg", "megatron-deepspeed"},
    {"deepspeed", "deepspeed"},
    {"gpt-neox", "megatron-deepspeed"},
    {"megatron-lm readme", "megatron-core"},
    {"megatron-core", "megatron-core"},
    {"aleph alpha", "aleph-alpha"},
    {"vtrain", "megatron-lm"},
    {"korthikanti", "megatron-lm"},
    {"narayanan", "megatron-lm"},
    {"zero bubble", "megatron-lm"},
    {"llm-foundry", "llm-foundry"},
    {"mosaicml", "llm-foundry"},
    {"internevo", "internevo"},
    {"internlm", "internevo"},
    {"colossal", "colossal-ai"},
    {"colossalai", "colossal-ai"},
    {"nanotron", "nanotron"},
    {"olmo", "olmo"},
    {"llmq", "llmq"},
    {"llm.c", "llm.c"},
    {"nanogpt", "nanogpt"},
    {"tinyllama", "lit-gpt"},
    {"lit-gpt", "lit-gpt"},
    {"litgpt", "lit-gpt"},
    {"opt-175b", "metaseq"},
    {"metaseq", "metaseq"},
    {"fairscale", "metaseq"},
    {"palm", "jax"},
    {"t5x", "jax"},
    {"jax", "jax"},
    {"llama-65b", "meta-llama"},
    {"flashattention-2", "flash-attention"},
    {"unsloth", "unsloth"},
    {"axolotl", "transformers"},
    {"transformers", "transformers"},
    {"primus", "megatron-core"},
    {"mcore", "megatron-core"},
    {"core r", "megatron-core"},  // branches of Megatron-Core: core_r0.8
    {"transformer engine", "megatron-core"},
    {"transformerengine", "megatron-core"},
    {"megatron", "megatron-lm"},
    {"deepseek", "deepseek"},
    {"fsdp", "torch-fsdp"},
};

/// Stack named in whole words in the text, without a denial or comparison. Empty if no stack is named.
std::string named_stack(const std::string& text) {
  const Words words(text);
  for (const TellingWord& t : stack_words)
    if (words.affirms(t.word)) return std::string(t.stack);
  return "";
}

/// Name of the training profile for `said`. Empty if there is no such profile.
std::string training_profile(std::string_view said) {
  const Builtin* profile = find_builtin(builtin_software(), said);
  return profile != nullptr && load_software(profile->name).training ? std::string(profile->name) : "";
}

/// The text up to the first word that begins with a digit: "NeMo 24.09" becomes NeMo.
std::string without_version(const std::string& text) {
  static const std::regex version("[ -]v?[0-9].*");
  return std::regex_replace(text, version, "");
}

/// Profiles whose stack has a different name: profile megatron-lm is for Megatron-Core.
struct ProfileStack {
  std::string_view profile, stack;
  bool compiled = false;
};
constexpr ProfileStack profile_stacks[] = {{"megatron-lm", "megatron-core"},
                                           {"megatron-lm-legacy", "megatron-lm"},
                                           {"torch-fsdp-compiled", "torch-fsdp", true}};

/// All software names that a row may use, for suggestions.
std::vector<std::string> software_names() {
  std::vector<std::string> all;
  for (const Builtin& b : builtin_software())
    if (!training_profile(b.name).empty()) all.emplace_back(b.name);
  for (const TellingWord& t : stack_words) all.emplace_back(t.stack);
  return all;
}

/// Message for unknown software in a row, with the nearest names.
std::string unknown_software(const std::string& said) {
  std::string meant;
  for (const std::string& near : nearest(said, software_names()))
    meant += fmt::format("{} \"{}\"", meant.empty() ? "" : " or", near);
  return fmt::format("unknown training software {}{}", in_quotes(said),
                     meant.empty() ? "" : fmt::format(", did you mean{}?", meant));
}

/// Sets the stack named in the row's key, by profile or by word; leaves it empty if there is no match.
void use_software(const std::string& said, Stack& s) {
  const std::string profile = training_profile(without_version(said));
  s.name = profile.empty() ? named_stack(lower(said)) : profile;
  for (const ProfileStack& p : profile_stacks)
    if (p.profile == profile) {
      s.name = p.stack;
      if (p.compiled) s.compiled = true;
    }
}

/// Replaces PyTorch by the Trainer of Transformers, which runs ZeRO with DeepSpeed, if the version names the Trainer.
void use_trainer(const TrainingRow& row, Stack& s) {
  const Words version(lower(row.software_version));
  if (s.name != "torch-fsdp" || !version.affirms("hugging face trainer")) return;
  s.name = version.affirms("deepspeed") && row.parallelism.zero_stage.value_or(0) > 0 ? "deepspeed" : "hf-trainer";
}

/// Stack named in the notes on one run, which overrides the family's stack. Empty if they name none.
std::string stack_of_one_run(const std::string& notes, bool model_parallel) {
  const Words words(notes);
  if (words.affirms("maxtext")) return "maxtext";
  if (words.affirms("deepspeed") && !words.has("deepspeed checkpoint"))
    return model_parallel ? "megatron-deepspeed" : "deepspeed";
  return "";
}

/// Sets the stack of MLPerf submissions on devices of other vendors if the row does not name it: MaxText (JAX) on
/// TPUs, NeMo on the others. Records this as an assumption.
void use_mlperf_of_others(const TrainingRow& row, Stack& s) {
  const std::string gpu = lower(row.hardware.gpu);
  const Words told(row.family + "; " + row.source.title);
  const bool other =
      has_word(gpu, "tpu") || has_word(gpu, "gaudi") || has_word(gpu, "trainium") || gpu.starts_with("mi");
  if (s.name != "nemo" || !other || !told.affirms("mlperf") || told.affirms("nemo")) return;
  if (has_word(gpu, "tpu")) s.name = "maxtext";
  s.assumed = fmt::format("{}: a submission to MLPerf on {}, whose software the row does not name", s.name,
                          in_quotes(row.hardware.gpu));
}

/// Whether a run launched whole steps as graphs and overlapped expert exchanges: Qwen3-30B-A3B in MXFP8 since 26.06
/// (github.com/NVIDIA-NeMo/Megatron-Bridge, v0.5.0: qwen3_workload_base_configs.py, full_iteration, moe_a2a_overlap).
bool overlaps_experts(const TrainingRow& row) {
  const Words model(lower(row.model.name)), precision(lower(row.precision));
  return nemo_container(row) >= "26.06" && model.affirms("qwen3 30b a3b") && precision.affirms("mxfp8");
}

}  // namespace

std::string nemo_container(const TrainingRow& row) {
  static const std::regex stated(
      "([0-9]{2}\\.[0-9]{2})(?:\\.[0-9]+)? NeMo container|NeMo container ([0-9]{2}\\.[0-9]{2})");
  std::smatch found;
  const std::string text = row.source.table + "; " + row.software_version;
  if (!std::regex_search(text, found, stated)) return "";
  return found[1].matched ? found[1] : found[2];
}

Stack stack_of(const TrainingRow& row) {
  Stack s;
  const std::string notes = lower(row.notes);
  const bool model_parallel = row.parallelism.tp.value_or(1) > 1 || row.parallelism.pp.value_or(1) > 1;
  use_software(row.software, s);
  use_trainer(row, s);
  const bool known_software = !s.name.empty();
  if (s.name.empty()) s.name = stack_of_one_run(notes, model_parallel);
  for (const std::string& text :
       {lower(row.family), lower(row.source.title), lower(row.precision), lower(row.source.url), notes})
    if (s.name.empty()) s.name = named_stack(text);
  use_mlperf_of_others(row, s);
  const bool guessed = s.name.empty();
  if (guessed) s.name = model_parallel ? "megatron-lm" : "torch-fsdp";
  if (!row.software.empty() && !known_software)
    s.assumed = fmt::format("{}: {}", s.name, unknown_software(row.software));
  else if (guessed && s.assumed.empty())
    s.assumed = fmt::format("{}, from the layout: the row names no software", s.name);
  const Words said(row.notes);
  if (said.affirms("eager") || said.denies("torch compile") || said.denies("compiled")) s.compiled = false;
  if (said.affirms("torch compile")) s.compiled = true;
  // Megatron-LM's README states that its runs set --tp-comm-overlap.
  if (has_word(lower(row.family), "megatron-lm readme")) s.tp_overlap = true;
  // Megatron-Bridge, scripts/performance: tp_comm_overlap with more than one tensor-parallel rank.
  if (has_word(lower(row.family), "megatron-bridge")) s.tp_overlap = true;
  s.waits_for_tensor = has_word(lower(row.source.title + row.family), "narayanan");
  if (row.parallelism.tp_comm_overlap) s.tp_overlap = row.parallelism.tp_comm_overlap;
  if (row.parallelism.async_tp) s.tp_overlap = row.parallelism.async_tp;
  if (has_word(notes, "no overlap of tp")) s.tp_overlap = false;
  s.ep_overlap = overlaps_experts(row);
  s.graphs = said.affirms("cuda graphs on") || said.affirms("full iteration cuda graph") || s.ep_overlap;
  s.rocm = has_word(lower(row.precision), "rocm") || lower(row.hardware.gpu).starts_with("mi");
  return s;
}

}  // namespace llmcalc
