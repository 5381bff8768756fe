#include "evidence/stack.hpp"

#include <fmt/format.h>

#include <regex>
#include <vector>

#include "presets/load.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

bool has_word(const std::string& text, std::string_view word) { return text.find(word) != std::string::npos; }

/// A stack by a word that tells it, the more telling first.
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
    {"megatron", "megatron-lm"},
    {"deepseek", "deepseek"},
    {"fsdp", "torch-fsdp"},
};

/// The stack that a text names; empty: none.
std::string named_stack(const std::string& text) {
  for (const TellingWord& t : stack_words)
    if (has_word(text, t.word)) return std::string(t.stack);
  return "";
}

/// The name of a profile that trains; empty: `said` is none.
std::string training_profile(std::string_view said) {
  const Builtin* profile = find_builtin(builtin_software(), said);
  return profile != nullptr && load_software(profile->name).training ? std::string(profile->name) : "";
}

/// A text less the words from the first that begins with a digit: "NeMo 24.09" is NeMo.
std::string without_version(const std::string& text) {
  static const std::regex version("[ -]v?[0-9].*");
  return std::regex_replace(text, version, "");
}

/// Profiles and stacks by other names than their own: the profile megatron-lm is Megatron-Core's.
struct ProfileStack {
  std::string_view profile, stack;
  bool compiled = false;
};
constexpr ProfileStack profile_stacks[] = {{"megatron-lm", "megatron-core"},
                                           {"megatron-lm-legacy", "megatron-lm"},
                                           {"torch-fsdp-compiled", "torch-fsdp", true}};

/// Every name of software that a row may use, for suggestions.
std::vector<std::string> software_names() {
  std::vector<std::string> all;
  for (const Builtin& b : builtin_software())
    if (!training_profile(b.name).empty()) all.emplace_back(b.name);
  for (const TellingWord& t : stack_words) all.emplace_back(t.stack);
  return all;
}

/// That a row's software is not known, with the nearest names.
std::string unknown_software(const std::string& said) {
  std::string meant;
  for (const std::string& near : nearest(said, software_names()))
    meant += fmt::format("{} \"{}\"", meant.empty() ? "" : " or", near);
  return fmt::format("no training software is called {}{}", in_quotes(said),
                     meant.empty() ? "" : fmt::format(", did you mean{}?", meant));
}

/// The stack that the row's key names, a profile as commands call it or a telling word. Nothing: it names none.
void use_software(const std::string& said, Stack& s) {
  const std::string profile = training_profile(without_version(said));
  s.name = profile.empty() ? named_stack(lower(said)) : profile;
  for (const ProfileStack& p : profile_stacks)
    if (p.profile == profile) {
      s.name = p.stack;
      if (p.compiled) s.compiled = true;
    }
}

/// What a note says of one run outweighs what its family is known for.
std::string stack_of_one_run(const std::string& notes, bool model_parallel) {
  if (has_word(notes, "maxtext")) return "maxtext";
  if (has_word(notes, "deepspeed")) return model_parallel ? "megatron-deepspeed" : "deepspeed";
  return "";
}

bool is_selective(const std::string& text) { return has_word(text, "selective") || has_word(text, "saves"); }

/// "selective" alone and with the core named is Megatron-LM's; others name what they recompute.
void read_selection(const std::string& text, Recomputed& r) {
  r.core = has_word(text, "attention core") || has_word(text, "core_attn") || has_word(text, "linear-layer outputs") ||
           has_word(text, "core attention");
  r.norms = has_word(text, "norm") || has_word(text, "linear-layer outputs");
  r.activations = has_word(text, "moe_act") || has_word(text, "swiglu") || has_word(text, "gelu") ||
                  has_word(text, "linear-layer outputs");
  r.mlp = has_word(text, "ffn") || has_word(text, "mlp");
  r.alternate_products = has_word(text, "per-op") || has_word(text, "second matmul");
  if (has_word(text, "alternate") || has_word(text, "second layer")) {
    r.layers = true;
    r.layer_step = 2;
  }
  if (!r.any()) r.core = true;
}

}  // namespace

Stack stack_of(const TrainingRow& row) {
  Stack s;
  const std::string notes = lower(row.notes);
  const bool model_parallel = row.parallelism.tp.value_or(1) > 1 || row.parallelism.pp.value_or(1) > 1;
  use_software(row.software, s);
  const bool known_software = !s.name.empty();
  if (s.name.empty()) s.name = stack_of_one_run(notes, model_parallel);
  for (const std::string& text :
       {lower(row.family), lower(row.source.title), lower(row.precision), lower(row.source.url), notes})
    if (s.name.empty()) s.name = named_stack(text);
  const bool guessed = s.name.empty();
  if (guessed) s.name = model_parallel ? "megatron-lm" : "torch-fsdp";
  if (!row.software.empty() && !known_software)
    s.assumed = fmt::format("{}: {}", s.name, unknown_software(row.software));
  else if (guessed)
    s.assumed = fmt::format("{}, from the layout: the row names no software", s.name);
  if (has_word(notes, "eager")) s.compiled = false;
  if (has_word(notes, "torch.compile")) s.compiled = true;
  // Megatron-LM's README says of its runs that they set --tp-comm-overlap.
  if (has_word(lower(row.family), "megatron-lm readme")) s.tp_overlap = true;
  s.waits_for_tensor = has_word(lower(row.source.title + row.family), "narayanan");
  if (row.parallelism.tp_comm_overlap) s.tp_overlap = row.parallelism.tp_comm_overlap;
  if (row.parallelism.async_tp) s.tp_overlap = row.parallelism.async_tp;
  if (has_word(notes, "no overlap of tp")) s.tp_overlap = false;
  s.graphs = has_word(notes, "cuda graphs on") || has_word(notes, "full-iteration cuda graph");
  s.rocm = has_word(lower(row.precision), "rocm") || lower(row.hardware.gpu).starts_with("mi");
  return s;
}

Recomputed recomputed_of(const TrainingRow& row) {
  const std::string text = lower(row.recompute);
  Recomputed r;
  if (text.empty() || text.starts_with("not stated")) {
    r.assumed = "nothing is recomputed, which the row does not state";
  } else if (has_word(text, "not read") || has_word(text, "selective/full")) {
    r.layers = true;
    r.assumed = "every layer is recomputed: the row says \"" + row.recompute + "\"";
  } else if (is_selective(text)) {
    read_selection(text, r);
    if (has_word(text, "microbatch level")) r.assumed = "the attention core is recomputed in every micro-batch";
  } else if (text.starts_with("full")) {
    r.layers = true;
  } else if (!text.starts_with("none")) {
    r.assumed = "nothing is recomputed: what the row says of it is not understood (\"" + row.recompute + "\")";
  }
  return r;
}

}  // namespace llmcalc
