#include "evidence/convert/words/adapter_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <vector>

#include "evidence/convert/training/training_row.hpp"
#include "evidence/logs/served_model.hpp"
#include "evidence/names/words.hpp"
#include "text/leading_number.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

bool says_adapters(const std::string& text) {
  return Words(text).affirms_any(
      {"lora", "qlora", "dora", "rslora", "low rank adapter", "low rank adapters", "low rank adaptation"});
}

/// Strings of a row that describe its run, one per key.
std::vector<const std::string*> own_texts(const TrainingRow& row) {
  return {&row.adapters,         &row.precision, &row.scope,      &row.optimizer,
          &row.parallelism.note, &row.notes,     &row.model.name, &row.software};
}

/// Concatenation of the strings from own_texts() that mention adapters.
std::string adapters_said(const TrainingRow& row) {
  std::string all;
  for (const std::string* text : own_texts(row))
    if (says_adapters(*text)) all += *text + "; ";
  for (const std::string* text : {&row.family, &row.source.title})
    if (says_adapters(*text)) all += *text + "; ";
  return lower(all.substr(0, 1000));
}

std::optional<Count> rank_in(const std::string& text) {
  static const std::regex pattern("(?:\\brank|\\br|lora_rank\"?|lora)[ =:\"(-]*([0-9]{1,4})\\b");
  std::smatch found;
  if (!std::regex_search(text, found, pattern)) return std::nullopt;
  const Count rank = leading_whole(found[1]);
  return rank > 0 ? std::optional(rank) : std::nullopt;
}

/// A word for weight matrices, and the LoRA target that it denotes.
struct TargetWord {
  std::string_view word;
  LoraTarget target;
};
constexpr TargetWord target_words[] = {{"q", LoraTarget::q},      {"query", LoraTarget::q},   {"wq", LoraTarget::q},
                                       {"k", LoraTarget::k},      {"wk", LoraTarget::k},      {"v", LoraTarget::v},
                                       {"wv", LoraTarget::v},     {"o", LoraTarget::out},     {"out", LoraTarget::out},
                                       {"wo", LoraTarget::out},   {"gate", LoraTarget::gate}, {"up", LoraTarget::up},
                                       {"down", LoraTarget::down}};

void add_targets(LoraTargets& all, std::initializer_list<LoraTarget> more) {
  for (const LoraTarget t : more) all.add(t);
}

/// LoRA targets named in the text, possibly none.
LoraTargets targets_in(const std::string& said) {
  const std::string text = said.substr(std::min(said.find("ora"), said.size()));
  const Words words(text);
  using T = LoraTarget;
  LoraTargets targets;
  if (words.affirms_any({"all linear", "linear layers", "all layers", "all modules", "all matrices", "every linear",
                         "all projections", "attention and mlp", "attention + mlp"}))
    return LoraTargets::all();
  if (!words.has_any(
          {"proj", "target", "targets", "modules", "on", "attention", "attn", "mlp", "ffn", "qkv", "qv", "qkvo"}))
    return targets;
  for (const TargetWord& t : target_words)
    if (words.affirms(t.word)) targets.add(t.target);
  if (words.affirms("qv")) add_targets(targets, {T::q, T::v});
  if (words.affirms("qkv")) add_targets(targets, {T::q, T::k, T::v});
  if (words.affirms("qkvo")) add_targets(targets, {T::q, T::k, T::v, T::out});
  if (targets.empty() && words.affirms_any({"attention", "attn"})) add_targets(targets, {T::q, T::k, T::v, T::out});
  if (words.affirms_any({"mlp", "ffn", "feed forward"})) add_targets(targets, {T::gate, T::up, T::down});
  return targets;
}

/// Format of frozen weights, if the text states it.
std::optional<DType> base_in(const std::string& text) {
  const Words words(text);
  const bool four = words.affirms_any({"qlora", "nf4", "4 bit", "int4", "bnb 4", "fp4"});
  if (four) return dtype(words.affirms_any({"double quant", "double quantization", "dq"}) ? "nf4-dq" : "nf4");
  const bool of_optimizer = words.has_any({"8 bit adam", "8 bit adamw", "8 bit optimizer", "adamw 8 bit"});
  if (!of_optimizer && words.affirms_any({"8 bit", "int8", "llm int8"})) return dtype("int8-row");
  return std::nullopt;
}

constexpr Count usual_rank = 16;

void use_rank(const std::string& text, const Arch& arch, Plan& plan, Assumptions& assumed, std::string& skip) {
  const std::optional<Count> rank = rank_in(text);
  plan.lora_rank = rank.value_or(usual_rank);
  if (!rank) assumed.weigh(fmt::format("adapters of rank {}: the row does not state the rank", usual_rank));
  const Count narrowest = std::min(arch.hidden, std::max<Count>(1, mul(arch.kv_heads, arch.head_dim)));
  if (plan.lora_rank >= narrowest)
    skip = fmt::format("adapters of rank {}, which is not less than the {} columns of a matrix", plan.lora_rank,
                       narrowest);
}

void use_targets(const std::string& text, Plan& plan, Assumptions& assumed) {
  const LoraTargets targets = targets_in(text);
  plan.lora_targets = targets.empty() ? LoraTargets::all() : targets;
  if (targets.empty()) assumed.weigh("adapters for every matrix of a block: the row does not state their targets");
}

void use_base(const std::string& text, Layout& split, Plan& plan, Assumptions& assumed) {
  const std::optional<DType> base = base_in(text);
  plan.base_precision = base ? served_weights(*base, working_format(plan)) : WeightFormats(working_format(plan));
  if (split.zero != Zero::weights || gathers_weights(plan)) return;
  split.zero = Zero::gradients;
  assumed.note(
      fmt::format("frozen weights in {} are not sharded: only weights of a single format are gathered", base->name()));
}

}  // namespace

bool trains_adapters(const TrainingRow& row) {
  for (const std::string* text : own_texts(row))
    if (says_adapters(*text)) return true;
  for (const std::string* text : own_texts(row))
    if (Words(*text).denies("lora") ||
        Words(*text).affirms_any({"full fine tune", "full fine tuning", "full finetune"}))
      return false;
  for (const std::string* text : {&row.family, &row.source.title})
    if (says_adapters(*text) && !Words(*text).has("full")) return true;
  return false;
}

void use_adapters(const TrainingRow& row, const Arch& arch, Layout& split, Plan& plan, Assumptions& assumed,
                  std::string& skip) {
  if (!trains_adapters(row)) return;
  const std::string text = adapters_said(row);
  if (Words(text).affirms_any({"embedding and head trained", "embeddings and head trained"})) {
    skip = "adapters, with embedding and head trained in full";
    return;
  }
  use_rank(text, arch, plan, assumed, skip);
  use_targets(text, plan, assumed);
  use_base(text, split, plan, assumed);
}

}  // namespace llmcalc
