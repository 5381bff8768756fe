#pragma once
/// Imports of configs given as text.

#include <initializer_list>
#include <string>

#include "presets/import/import.hpp"

namespace llmcalc::test {

inline ModelCard imported(const std::string& config) { return import_config(json::parse(config, "c.json"), "c.json"); }

inline Arch arch(const std::string& config) { return imported(config).arch; }

inline std::string refusal(const std::string& config) {
  try {
    imported(config);
  } catch (const InputError& e) {
    return e.what();
  }
  return "nothing was rejected";
}

/// A composite config with this text part, whose missing keys have the family's defaults.
inline std::string part(const std::string& text) { return R"({"model_type": "whole", "text_config": )" + text + "}"; }

/// A small config of type `type` (8 layers, context 64) with the additional keys `more`.
inline std::string small(const std::string& type, const std::string& more) {
  return R"({"model_type": ")" + type + R"(", "num_hidden_layers": 8, "hidden_size": 96, "num_attention_heads": 6,
    "num_key_value_heads": 2, "intermediate_size": 256, "vocab_size": 1000, "max_position_embeddings": 64)" +
         (more.empty() ? "" : ", " + more) + "}";
}

inline LayerSet layers(std::initializer_list<Count> list) {
  LayerSet set;
  for (const Count i : list) set.insert(i);
  return set;
}

/// The layers among `all` that are not in the list.
inline LayerSet others_of(Count all, std::initializer_list<Count> list) {
  const LayerSet named = layers(list);
  LayerSet set;
  for (Count i = 0; i < all; ++i)
    if (!named.contains(i)) set.insert(i);
  return set;
}

}  // namespace llmcalc::test
