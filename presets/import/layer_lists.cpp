#include "presets/import/layer_lists.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "text/leading_number.hpp"
#include "text/names.hpp"

namespace llmcalc::import {

namespace {

/// Old and new names of layer types (hf configuration_utils.py, _LEGACY_LAYER_TYPE_REMAP). Transformers 5.6 and later
/// use and save the new names.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> renamed = {
    {{"mamba", "linear_attention"},
     {"attention", "full_attention"},
     {"deepseek_sparse_attention", "indexed_attention"},
     {"qwen_sparse_attention", "indexed_attention"}}};

std::string_view todays(std::string_view word) {
  for (const auto& [old, now] : renamed)
    if (old == word) return now;
  return word;
}

bool is_known_word(KeyNames words, std::string_view word) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view one) { return todays(one) == todays(word); });
}

/// Throws InputError unless `given`, the number of entries, equals the number of layers. `longer`: more entries are
/// also accepted.
void require_length(const Config& c, const Arch& a, std::string_view key, std::size_t given, bool longer) {
  const auto n = static_cast<Count>(given);
  if (n < a.layers || (n > a.layers && !longer))
    c.refuse(fmt::format("\"{}\": expected one entry per layer ({}), got {}", key, a.layers, n));
}

/// The numbers in a string such as "3,4,5".
std::vector<Count> numbers_in(const Config& c, std::string_view key, const std::string& text) {
  std::vector<Count> all;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find(',', from), text.size());
    const std::string word = text.substr(from, end - from);
    if (word.empty() || word.size() > 6 || word.find_first_not_of("0123456789 ") != std::string::npos ||
        word.find_first_not_of(' ') == std::string::npos)
      c.refuse(fmt::format("\"{}\": expected layer numbers separated by commas, got {}", key, in_quotes(word)));
    all.push_back(leading_whole(word));
    from = end + 1;
  }
  return all;
}

}  // namespace

std::vector<std::string> todays_words(std::vector<std::string> words) {
  for (std::string& word : words) word = todays(word);
  return words;
}

std::optional<std::vector<std::string>> layer_words(const Config& c, const Arch& a, std::string_view key,
                                                    KeyNames words, bool longer) {
  if (!c.has(key)) return std::nullopt;
  require_words(c, key, words);
  std::vector<std::string> all = c.texts(key);
  require_length(c, a, key, all.size(), longer);
  all.resize(static_cast<std::size_t>(a.layers));
  return todays_words(std::move(all));
}

std::optional<LayerSet> layers_of_type(const Config& c, const Arch& a, std::string_view type, std::string_view other,
                                       std::string_view key, bool longer) {
  const auto words = layer_words(c, a, key, {other, type}, longer);
  if (!words) return std::nullopt;
  LayerSet set;
  for (Count i = 0; i < a.layers; ++i)
    if ((*words)[static_cast<std::size_t>(i)] == todays(type)) set.insert(i);
  return set;
}

std::optional<LayerSet> sparse_typed(const Config& c, const Arch& a) {
  return layers_of_type(c, a, "sparse", "dense", "mlp_layer_types", true);
}

void require_words(const Config& c, std::string_view key, KeyNames words) {
  if (!c.has(key)) return;
  for (const std::string& word : c.texts(key))
    if (!is_known_word(words, word))
      c.refuse(fmt::format("\"{}\": expected {}, got {}", key, fmt::join(words, " or "), in_quotes(word)));
}

std::vector<Count> counts_per_layer(const Config& c, const Arch& a, std::string_view key, bool longer) {
  std::vector<Count> all = c.counts(key);
  require_length(c, a, key, all.size(), longer);
  all.resize(static_cast<std::size_t>(a.layers));
  return all;
}

std::optional<LayerSet> marked_layers(const Config& c, const Arch& a, std::string_view key) {
  if (!c.has(key)) return std::nullopt;
  const std::vector<Count> marks = counts_per_layer(c, a, key);
  LayerSet set;
  for (Count i = 0; i < a.layers; ++i)
    if (marks[static_cast<std::size_t>(i)] != 0) set.insert(i);
  return set;
}

std::optional<LayerSet> listed_layers(const Config& c, const Arch& a, std::string_view key, Count first) {
  const json::Value* list = c.find(key);
  if (list == nullptr) return std::nullopt;
  LayerSet set;
  for (const Count layer : list->is_array() ? c.counts(key) : numbers_in(c, key, c.text(key, "")))
    if (layer >= first && layer - first < a.layers) set.insert(layer - first);
  return set;
}

std::optional<Count> heads_per_layer(const Config& c, const Arch& a, const LayerSet& layers) {
  constexpr std::string_view key = "num_attention_heads_per_layer";
  if (!c.has(key)) return std::nullopt;
  const std::vector<Count> all = counts_per_layer(c, a, key, true);
  std::optional<Count> heads;
  for (Count i = 0; i < a.layers; ++i) {
    if (!layers.contains(i)) continue;
    const Count own = all[static_cast<std::size_t>(i)];
    if (own < 1) c.refuse(fmt::format("\"{}\": expected at least 1 head, got 0 in layer {}", key, i));
    if (own != heads.value_or(own))
      c.refuse(fmt::format("\"{}\": layer {} has {} heads, but other layers of its type have {}; make them equal", key,
                           i, own, heads.value_or(own)));
    heads = own;
  }
  return heads;
}

std::optional<LayerSet> said_layers(const Config& c, std::initializer_list<SaidLayers> said) {
  const SaidLayers* first = nullptr;
  for (const SaidLayers& one : said) {
    if (!one.layers) continue;
    if (first == nullptr) first = &one;
    if (*first->layers != *one.layers)
      c.refuse(fmt::format("\"{}\" and \"{}\" name different layers; make them agree", first->key, one.key));
  }
  return first == nullptr ? std::nullopt : first->layers;
}

LayerSet listed_or(const Config& c, const SaidLayers& list, const LayerSet& by_rule, KeyNames keys) {
  if (!list.layers) return by_rule;
  for (const std::string_view key : keys)
    if (c.has(key)) said_layers(c, {list, {key, by_rule}});
  c.forget(keys);
  return *list.layers;
}

LayerSet sparse_or(const Config& c, const Arch& a, const LayerSet& by_rule, KeyNames keys) {
  return listed_or(c, {"mlp_layer_types", sparse_typed(c, a)}, by_rule, keys);
}

namespace {

/// Words in the names of per-layer lists that do not affect any size: activation limits, rotation, tokens, factors,
/// learning rates, outputs of some layers.
constexpr std::array sizeless = {std::string_view{"rope"},    std::string_view{"rotary"},
                                 std::string_view{"limit"},   std::string_view{"token_id"},
                                 std::string_view{"scale"},   std::string_view{"multiplier"},
                                 std::string_view{"_lr"},     std::string_view{"_ids"},
                                 std::string_view{"output_"}, std::string_view{"architectures"}};

/// Words in the names of lists whose entries may differ between layers.
constexpr std::array of_layers = {std::string_view{"layer"},   std::string_view{"type"},  std::string_view{"pattern"},
                                  std::string_view{"heads"},   std::string_view{"width"}, std::string_view{"size"},
                                  std::string_view{"experts"}, std::string_view{"attn"},  std::string_view{"attention"},
                                  std::string_view{"mlp"},     std::string_view{"block"}, std::string_view{"window"}};

bool has_word(const std::string& key, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return key.find(word) != std::string::npos; });
}

bool differs(const json::Value& list) {
  return std::any_of(list.begin(), list.end(), [&](const json::Value& one) { return one != list.front(); });
}

bool tells_layers_apart(const Arch& a, const std::string& key, const json::Value& v) {
  if (!v.is_array() || v.empty() || !differs(v)) return false;
  if (key == "layer_types" || key == "mlp_layer_types") return true;
  const auto size = static_cast<Count>(v.size());
  const bool one_each =
      size == a.layers || size == a.layers + a.mtp.modules || size == a.layers - a.repeats.layers.size();
  return a.layers > 2 && one_each && has_word(key, of_layers) && !has_word(key, sizeless);
}

}  // namespace

void refuse_unread_lists(const Config& c, const Arch& a) {
  for (const auto& [key, value] : c.unread_values())
    if (tells_layers_apart(a, std::string(key), *value))
      c.refuse(fmt::format(
          "{} distinguishes layers, but model_type {} is supported only without it; use the config.json that the "
          "model was published with, or write an llmcalc model file",
          in_quotes(key), in_quotes(c.text("model_type", ""))));
}

}  // namespace llmcalc::import
