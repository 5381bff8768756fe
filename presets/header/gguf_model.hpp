#pragma once
/// View of a GGUF file for the tables in gguf_*.cpp.

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "presets/header/checkpoint.hpp"
#include "text/error.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// A GGUF file's keys without the architecture's prefix, and its tensors by name. If the names of several tensors
/// differ only in numbers after the first number, as for a layer's experts, only the first of these tensors is found.
class GgufModel {
 public:
  GgufModel(const Checkpoint& c, std::string prefix)
      : keys_(c.keys, fmt::format("'{}'", c.where)), prefix_(std::move(prefix)) {
    for (const TensorsOfType& k : c.tensors.by_type()) tensors_.emplace(k.first->name, k.first);
  }

  bool has(std::string_view key) const { return keys_.has(full(key)); }
  Count count(std::string_view key) const {
    const json::Value* v = keys_.find(full(key));
    return v != nullptr && v->is_array() ? same_in_all_layers(key) : keys_.count(full(key));
  }
  Count count_or(std::string_view key, Count otherwise) const { return has(key) ? count(key) : otherwise; }
  double number_or(std::string_view key, double otherwise) const { return keys_.number_or(full(key), otherwise); }
  bool flag_or(std::string_view key, bool otherwise) const { return keys_.flag_or(full(key), otherwise); }
  /// One number for each of `layers` layers; a single number in the file applies to all.
  std::vector<Count> counts(std::string_view key, Count layers) const {
    if (!is_list(key)) return std::vector<Count>(static_cast<std::size_t>(layers), count(key));
    const std::vector<Count> all = keys_.counts(full(key));
    if (static_cast<Count>(all.size()) < layers)
      refuse(fmt::format("\"{}\" has {} numbers for {} layers; the file is damaged", full(key), all.size(), layers));
    return all;
  }
  /// Whether the key exists and its value is a list.
  bool is_list(std::string_view key) const {
    const json::Value* v = keys_.find(full(key));
    return v != nullptr && v->is_array();
  }
  /// Reads a list of flags, one per layer: true or a nonzero number.
  std::vector<bool> marks(std::string_view key, Count layers) const {
    const json::Value* v = keys_.find(full(key));
    if (v == nullptr || !v->is_array() || static_cast<Count>(v->size()) < layers)
      refuse(fmt::format("\"{}\": expected a list of one flag per layer ({}); the file is damaged", full(key), layers));
    std::vector<bool> all;
    for (Count i = 0; i < layers; ++i) {
      const json::Value& one = (*v)[static_cast<std::size_t>(i)];
      all.push_back(one != false && one != 0);
    }
    return all;
  }
  std::string text_or(const std::string& key, std::string_view otherwise) const {
    return keys_.text_or(key, otherwise);
  }

  const CheckpointTensor* tensor(const std::string& name) const {
    const auto at = tensors_.find(name);
    return at == tensors_.end() ? nullptr : at->second;
  }
  /// Whether any layer has a tensor with this name, such as "attn_q.bias".
  bool in_a_layer(const std::string& name) const {
    return std::any_of(tensors_.begin(), tensors_.end(), [end = "." + name](const auto& t) {
      return t.first.starts_with("blk.") && t.first.ends_with(end);
    });
  }
  /// Whether the layer has a tensor of this name.
  bool in_layer(Count layer, const std::string& name) const {
    return tensor(fmt::format("blk.{}.{}", layer, name)) != nullptr;
  }
  /// Size of a tensor along an axis. Throws InputError if the tensor is missing.
  Count side(const std::string& name, std::size_t axis) const {
    const CheckpointTensor* t = tensor(name);
    if (t == nullptr || t->type->shape.size() <= axis)
      refuse(fmt::format("tensor \"{}\" is missing or has an unexpected shape; the file is damaged", name));
    return t->type->shape[axis];
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw InputError(fmt::format("{}: {}", keys_.where(), what));
  }

 private:
  std::string full(std::string_view key) const { return fmt::format("{}.{}", prefix_, key); }
  Count same_in_all_layers(std::string_view key) const {
    const std::vector<Count> all = keys_.counts(full(key));
    if (all.empty() || std::any_of(all.begin(), all.end(), [&](Count n) { return n != all[0]; }))
      refuse(
          fmt::format("\"{}\" differs between layers, which is not supported for GGUF files; pass the model's "
                      "config.json",
                      full(key)));
    return all[0];
  }

  json::Object keys_;
  std::string prefix_;
  std::unordered_map<std::string_view, const CheckpointTensor*> tensors_;
};

/// Sets `to` to the value of the key `from` if the file has it.
inline void copy(const GgufModel& m, json::Value& config, const char* from, const char* to) {
  if (m.has(from)) config[to] = m.count(from);
}

/// Number of layers in the model. largest_of(): the maximum of a per-layer list, whose entries are 0 for layers
/// without the part.
inline Count layers_of(const json::Value& config) { return config["num_hidden_layers"].get<Count>(); }
inline Count largest_of(const std::vector<Count>& all) {
  return all.empty() ? 0 : *std::max_element(all.begin(), all.end());
}

inline void experts(const GgufModel& m, json::Value& c, const char* number = "num_experts") {
  copy(m, c, "expert_count", number);
  copy(m, c, "expert_used_count", "num_experts_per_tok");
  copy(m, c, "expert_feed_forward_length", "moe_intermediate_size");
}

/// Sets the widths of latent attention. In newer files, key_length_mla is the width of a head and key_length the width
/// of the cached row. `value_width`: width of a head's values, used if no key states it.
void latent_attention(const GgufModel& m, json::Value& c, Count value_width = 0);

/// An architecture's name, and the function for its keys (github.com/ggml-org/llama.cpp, src/llama-arch.cpp).
struct GgufFamily {
  std::string_view name, model_type;
  void (*more)(const GgufModel&, json::Value&);
  bool by_layer = false;  ///< whether KV heads and MLP widths are per-layer lists, which `more` reads
};
/// Tables of families, one per source file: recurrences or convolutions; windows that are listed or follow a rule;
/// experts; no experts; encoders.
std::span<const GgufFamily> gguf_hybrids();
std::span<const GgufFamily> gguf_windowed();
std::span<const GgufFamily> gguf_mixtures();
std::span<const GgufFamily> gguf_dense();
std::span<const GgufFamily> gguf_encoders();

}  // namespace llmcalc
