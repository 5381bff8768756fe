#include "presets/import/config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "presets/import/harmless_keys.hpp"

namespace llmcalc::import {

bool Config::is_null(std::string_view key) const {
  if (has(key)) return false;
  return value().contains(std::string(key));
}

Count Config::assumed(std::string_view key, Count value) const {
  const bool known = std::any_of(assumed_->begin(), assumed_->end(), [&](const Assumption& a) { return a.key == key; });
  if (value > 1 && !known && !is_null(key)) assumed_->push_back({std::string(key), value});
  return value;
}

namespace {
bool is_one_of(KeyNames keys, std::string_view key) { return std::find(keys.begin(), keys.end(), key) != keys.end(); }
}  // namespace

Count Config::required(KeyNames keys, Count otherwise) const {
  if (std::any_of(keys.begin(), keys.end(), [&](std::string_view key) { return has(key); }))
    return size(keys, otherwise);
  for (const std::string_view key : keys)
    if (is_null(key)) refuse(fmt::format("\"{}\": expected a whole number of at least 1, got null", key));
  if (!part_) refuse(fmt::format("\"{}\" is missing; the config of a complete model must specify it", *keys.begin()));
  return assumed(*keys.begin(), otherwise);
}

Count Config::agreed(KeyNames keys, Count (json::Object::*read)(std::string_view) const, Count otherwise) const {
  std::string_view found;
  for (const std::string_view key : keys) {
    if (!has(key)) continue;
    if (found.empty())
      found = key;
    else if ((object_.*read)(found) != (object_.*read)(key))
      refuse(fmt::format("\"{}\" is {} and \"{}\" is {}, but both keys have the same meaning; remove one", found,
                         (object_.*read)(found), key, (object_.*read)(key)));
  }
  if (!found.empty()) forget(keys);
  return found.empty() ? assumed(*keys.begin(), otherwise) : (object_.*read)(found);
}

Count Config::size(KeyNames keys, Count otherwise) const { return agreed(keys, &json::Object::positive, otherwise); }
Count Config::count(KeyNames keys, Count otherwise) const { return agreed(keys, &json::Object::count, otherwise); }

Count Config::first_size(KeyNames keys, Count otherwise) const {
  std::string_view found;
  for (const std::string_view key : keys)
    if (has(key) && found.empty()) found = key;  // checks every key, which marks all of them as read
  if (!found.empty()) forget(keys);
  return found.empty() ? assumed(*keys.begin(), otherwise) : object_.positive(found);
}

void Config::forget(KeyNames keys) const {
  std::erase_if(*assumed_, [&](const Assumption& a) { return is_one_of(keys, a.key); });
}

void Config::ignore(KeyNames keys) const {
  for (const std::string_view key : keys) object_.find(key);
}

void Config::require_equal(std::string_view one, Count n, std::string_view other, Count m) const {
  if (n != m) refuse(fmt::format("{} is {} and {} is {}, but they must be equal; correct one", one, n, other, m));
}

void Config::require_repeated(std::string_view key, std::string_view other, Count size) const {
  if (has(key)) require_equal(fmt::format("\"{}\"", key), object_.count(key), other, size);
}

void Config::refuse(const std::string& sentence) const { throw InputError(where() + ": " + sentence); }

std::string named_class(const Config& c) {
  const std::vector<std::string> named = c.has("architectures") ? c.texts("architectures") : std::vector<std::string>{};
  return named.empty() ? "" : named.front();
}

bool says_nothing(const json::Value& v) {
  return v.is_null() || v == false || (v.is_number() && v == 0) || ((v.is_structured() || v.is_string()) && v.empty());
}

std::vector<Config::Unread> Config::unread_values() const {
  const std::vector<std::string> names = object_.unread();  // in the object's key order
  std::vector<Unread> out;
  auto next = names.begin();
  for (const auto& [key, v] : value().get_ref<const json::Value::object_t&>()) {
    if (next == names.end() || *next != key) continue;
    ++next;
    if (!says_nothing(v)) out.push_back({key, &v});
  }
  return out;
}

std::vector<std::string> Config::unread() const {
  std::vector<std::string> out;
  for (const Unread& u : unread_values()) out.emplace_back(u.key);
  return out;
}

std::vector<Config::Unread> Config::unknown() const {
  std::vector<Unread> out = unread_values();
  std::erase_if(out, [](const Unread& u) { return !harmless_reason(u.key, *u.value).empty(); });
  return out;
}

namespace {

/// Number of layers under one of `keys`. If all are absent, the length of the list of layers, since Nemotron-H's class
/// does not save the number.
Count layers_of(const Config& c, const Defaults& d, KeyNames keys) {
  const bool said = std::any_of(keys.begin(), keys.end(), [&](std::string_view key) { return c.has(key); });
  for (const char* list : {"layers_block_type", "layer_types"})
    if (!said && c.has(list)) return static_cast<Count>(c.texts(list).size());
  return c.required(keys, d.layers);
}

}  // namespace

Arch base_arch(const Config& c, const Defaults& d, KeyNames layer_keys) {
  Arch a;
  a.layers = layers_of(c, d, layer_keys);
  a.hidden = c.required({"hidden_size", "n_embd", "n_embed", "d_model"}, d.hidden);
  a.heads = c.required({"num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads"}, d.heads);
  a.kv_heads =
      c.size({"num_key_value_heads", "num_attention_groups"}, c.is_null("num_key_value_heads") ? 0 : d.kv_heads);
  if (a.kv_heads == 0) a.kv_heads = a.heads;
  const Count head_dim = c.is_null("head_dim") ? 0 : d.head_dim;
  a.head_dim = c.size({"head_dim", "kv_channels", "d_head", "d_kv"}, head_dim);
  if (a.head_dim == 0 && a.hidden % a.heads != 0)
    c.refuse(fmt::format("hidden size {} is not a multiple of {} heads, and head_dim is missing; set head_dim",
                         a.hidden, a.heads));
  if (a.head_dim == 0) a.head_dim = a.hidden / a.heads;
  const json::Value* widths = c.find("intermediate_size");  // a list if layers differ (Gemma 3n)
  if (widths == nullptr || !widths->is_array())
    a.mlp_width = c.size({"intermediate_size", "ffn_hidden_size", "d_ff"}, d.mlp);
  if (!c.has("padded_vocab_size")) a.vocabulary = c.required({"vocab_size"}, d.vocabulary);
  a.context = c.first_size({"max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "n_ctx"}, d.context);
  a.tied_head = c.flag("tie_word_embeddings", d.tied);
  a.embedding_width = a.hidden;
  a.mlp = MlpKind::gated;
  a.activation = activation(c, {"hidden_act"}, "silu");
  a.norm = NormKind::rms_norm;
  a.position = Position::rope;
  require_layers(c, a.layers);
  return a;
}

Arch sized_arch(const Config& c, const Defaults& d) {
  Arch a;
  a.layers = c.required({"num_hidden_layers", "n_layer", "num_blocks"}, d.layers);
  require_layers(c, a.layers);
  a.hidden = a.embedding_width = c.required({"hidden_size", "d_model", "embedding_dim"}, d.hidden);
  a.vocabulary = c.required({"vocab_size"}, d.vocabulary);
  a.context = d.context;
  a.tied_head = c.flag("tie_word_embeddings", d.tied);
  return a;
}

void require_layers(const Config& c, Count layers) {
  if (layers > max_layers) c.refuse(fmt::format("expected 1 to {} layers, got {}", max_layers, layers));
}

Activation activation(const Config& c, KeyNames keys, std::string_view otherwise) {
  std::string name(otherwise);
  for (const std::string_view key : keys)
    if (c.has(key)) {
      name = c.text(key, otherwise);
      break;
    }
  return named_activation(c, name);
}

Activation named_activation(const Config& c, const std::string& name) {
  // transformers/activations.py, ACT2FN. Some activations count as silu because they have the same cost: quick_gelu,
  // x sigmoid(1.702 x); swigluoai (gpt-oss, MiniMax-M3), which also clamps the gate and multiplies by the other half
  // + 1; and situ (Kimi K3), which bounds both factors by tanh.
  static constexpr std::array<std::pair<std::string_view, Activation>, 18> known = {{
      {"relu", Activation::relu},
      {"relu2", Activation::relu_squared},
      {"sqrelu", Activation::relu_squared},
      {"gelu", Activation::gelu},
      {"gelu_python", Activation::gelu},
      {"gelu_10", Activation::gelu},
      {"gelu_new", Activation::gelu_tanh},
      {"gelu_fast", Activation::gelu_tanh},
      {"gelu_accurate", Activation::gelu_tanh},
      {"gelu_pytorch_tanh", Activation::gelu_tanh},
      {"gelu_python_tanh", Activation::gelu_tanh},
      {"gelu_tanh", Activation::gelu_tanh},
      {"silu", Activation::silu},
      {"swish", Activation::silu},
      {"quick_gelu", Activation::silu},
      {"swigluoai", Activation::silu},
      {"situ", Activation::silu},
      {"xielu", Activation::xielu},
  }};
  for (const auto& [known_name, value] : known)
    if (known_name == name) return value;
  c.refuse(fmt::format("unknown activation \"{}\"; expected gelu, gelu_new, relu, relu2, silu or xielu", name));
}

void set_reach(Arch& arch, const Reach& reach, const LayerSet& layers) {
  if (!reach.limited() || reach.tokens >= arch.context || layers.empty()) return;
  arch.local = {.reach = reach, .layers = layers};
}

LayerSet others(const LayerSet& set, Count layers) {
  LayerSet out;
  for (Count i = 0; i < layers; ++i)
    if (!set.contains(i)) out.insert(i);
  return out;
}

void set_mixer(Arch& arch, const LayerMixer& mixer) {
  if (mixer.layers.empty()) return;
  if (mixer.layers.size() < arch.layers) {
    arch.mixers.push(mixer);
    return;
  }
  static_cast<Mixer&>(arch) = mixer;
  arch.mixers = {};
  arch.local = mixer.reach.limited() ? LocalAttention{mixer.reach, mixer.layers} : LocalAttention();
}

Mtp modules_like_last(const Config& c, const Arch& a, std::string_view key, Count otherwise) {
  const Count n = c.count(key, otherwise);
  if (n == 0) return {};
  return {.modules = n, .mixer_of = a.layers - 1, .mlp_of = a.layers - 1, .own_norm = true};
}

void set_experts(Arch& arch, const Moe& moe) {
  if (moe.layers.empty()) return;
  arch.moe = moe;
  if (moe.layers.size() == arch.layers && !moe.with_dense_mlp) arch.mlp_width = 0;
}

}  // namespace llmcalc::import
