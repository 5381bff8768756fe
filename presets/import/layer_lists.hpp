#pragma once
/// Differences between a model's layers that a config lists, with one entry per layer or by layer indices.
/// Transformers 5.6 and later save different keys and values than older versions; families read both.

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "presets/import/config.hpp"

namespace llmcalc::import {

/// Replaces old names of layer types with their current names in transformers.
std::vector<std::string> todays_words(std::vector<std::string> words);

/// Entries of the list `key`, one per layer, under their current names in transformers; absent if the list is absent.
/// Throws InputError for an entry that is not in `words`, and for a wrong length. `longer`: the list may continue
/// with entries for layers outside the model.
std::optional<std::vector<std::string>> layer_words(const Config& config, const Arch& arch, std::string_view key,
                                                    KeyNames words, bool longer = false);

/// Layers whose entry in the list `key` is `type` rather than `other`; absent if the list is absent.
std::optional<LayerSet> layers_of_type(const Config& config, const Arch& arch, std::string_view type,
                                       std::string_view other = "full_attention", std::string_view key = "layer_types",
                                       bool longer = false);

/// Layers with experts, which mlp_layer_types marks as sparse rather than dense; absent if the list is absent. The
/// list may continue with entries for layers outside the model.
std::optional<LayerSet> sparse_typed(const Config& config, const Arch& arch);

/// Throws InputError for an entry of the list `key` that is not in `words`.
void require_words(const Config& config, std::string_view key, KeyNames words);

/// The numbers in the list `key`, one per layer. Throws InputError for a wrong length. `longer`: the list may
/// continue with entries for layers outside the model.
std::vector<Count> counts_per_layer(const Config& config, const Arch& arch, std::string_view key, bool longer = false);

/// Layers with a nonzero entry in the list of numbers `key`; absent if the list is absent.
std::optional<LayerSet> marked_layers(const Config& config, const Arch& arch, std::string_view key);

/// Layers in the list `key`, which may be a string such as "3,4,5"; indices count from `first`. Absent if the list is
/// absent. Indices beyond the last layer denote layers outside the model and are ignored.
std::optional<LayerSet> listed_layers(const Config& config, const Arch& arch, std::string_view key, Count first = 0);

/// Number of heads that num_attention_heads_per_layer states for `layers`; absent if the list is absent. Throws
/// InputError if the number differs among these layers.
std::optional<Count> heads_per_layer(const Config& config, const Arch& arch, const LayerSet& layers);

/// A set of layers and the config key that specifies it.
struct SaidLayers {
  std::string_view key;
  std::optional<LayerSet> layers;  ///< absent if the config does not have the key
};
/// Layers of the first key that is present; absent if all are absent. Throws InputError if two keys disagree.
std::optional<LayerSet> said_layers(const Config& config, std::initializer_list<SaidLayers> said);

/// The layers in the list if the config has it, otherwise `by_rule`, which `keys` imply. Throws InputError if the
/// list differs from `by_rule` and one of `keys` is present.
LayerSet listed_or(const Config& config, const SaidLayers& list, const LayerSet& by_rule, KeyNames keys);

/// Like listed_or(), for the layers with experts in the list mlp_layer_types.
LayerSet sparse_or(const Config& config, const Arch& arch, const LayerSet& by_rule, KeyNames keys);

/// Throws InputError for an unread list that distinguishes layers, that is, a list with different entries that has
/// one entry per layer or is named layer_types or mlp_layer_types. Must be called after the family has read all its
/// keys.
void refuse_unread_lists(const Config& config, const Arch& arch);

}  // namespace llmcalc::import
