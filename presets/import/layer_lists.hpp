#pragma once
/// Which layers of a model differ from the others, as the lists of a config say it: one entry per layer, or the numbers
/// of layers. Older configs and those that hf transformers saves since version 5.6 have other keys and other words for
/// the same; families read both.

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "presets/import/config.hpp"

namespace llmcalc::import {

/// Words for kinds of layers as transformers calls them today.
std::vector<std::string> todays_words(std::vector<std::string> words);

/// The entries of the list `key`, one per layer, as transformers calls them today; nothing if the list is absent.
/// Refuses words that are none of `words`, and a list of another length; `longer`: it may go on to layers beside the
/// model.
std::optional<std::vector<std::string>> layer_words(const Config& config, const Arch& arch, std::string_view key,
                                                    KeyNames words, bool longer = false);

/// The layers whose entry in the list `key` is `type`, and not `other`; nothing if the list is absent.
std::optional<LayerSet> layers_of_type(const Config& config, const Arch& arch, std::string_view type,
                                       std::string_view other = "full_attention", std::string_view key = "layer_types",
                                       bool longer = false);

/// The layers that mlp_layer_types calls sparse, and not dense: those with experts; nothing if the list is absent. It
/// may go on to layers beside the model.
std::optional<LayerSet> sparse_typed(const Config& config, const Arch& arch);

/// Refuses a word in the list `key` that is none of `words`.
void require_words(const Config& config, std::string_view key, KeyNames words);

/// The numbers in the list `key`, one per layer. Refuses a list of another length; `longer`: it may go on to layers
/// beside the model.
std::vector<Count> counts_per_layer(const Config& config, const Arch& arch, std::string_view key, bool longer = false);

/// The layers whose entry in the list of numbers `key` is not 0; nothing if the list is absent.
std::optional<LayerSet> marked_layers(const Config& config, const Arch& arch, std::string_view key);

/// The layers in the list `key`, which may be a text like "3,4,5", the first being layer `first`; nothing if it is
/// absent. Numbers beyond the model are those of layers beside it.
std::optional<LayerSet> listed_layers(const Config& config, const Arch& arch, std::string_view key, Count first = 0);

/// The heads that num_attention_heads_per_layer gives to `layers`; nothing if the list is absent. Refuses two numbers
/// within these layers.
std::optional<Count> heads_per_layer(const Config& config, const Arch& arch, const LayerSet& layers);

/// What one key says.
struct SaidLayers {
  std::string_view key;
  std::optional<LayerSet> layers;  ///< nothing where the config does not have the key
};
/// The layers that the first key present says; nothing where none is. Refuses two keys that say other layers.
std::optional<LayerSet> said_layers(const Config& config, std::initializer_list<SaidLayers> said);

/// The layers that a list says, where the config has it; else `by_rule`, which `keys` state. Refuses a list beside one
/// of these keys that says other layers.
LayerSet listed_or(const Config& config, const SaidLayers& list, const LayerSet& by_rule, KeyNames keys);

/// The same of mlp_layer_types: the layers with experts.
LayerSet sparse_or(const Config& config, const Arch& arch, const LayerSet& by_rule, KeyNames keys);

/// Refuses a list that tells layers apart and that the family did not read: as long as the layers, or called
/// layer_types or mlp_layer_types, with entries that differ. Ask when the family has read all its keys.
void refuse_unread_lists(const Config& config, const Arch& arch);

}  // namespace llmcalc::import
