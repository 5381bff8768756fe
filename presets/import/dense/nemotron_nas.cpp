#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// An entry of block_configs: KV heads of its attention (0: no attention) and width of its MLP (0: no MLP).
struct NasBlock {
  Count kv_heads = 0, mlp_width = 0;
};

/// Throws InputError for variants that the modeling code supports but this importer does not: a linear layer in place
/// of attention or an MLP, sinks, a window, experts.
void refuse_others(const Config& part) {
  if (part.flag("replace_with_linear", false))
    part.refuse("\"replace_with_linear\" is true; a linear layer in place of attention or an MLP is not supported");
  for (const std::string& key : part.unread())
    part.refuse(fmt::format("\"{}\" is not supported; expected null or false", key));
}

Count block_kv_heads(const Config& part, Count heads) {
  const bool none = part.flag("no_op", false);
  const Count group = none ? 1 : part.required({"n_heads_in_group"}, 0);
  part.ignore({"n_heads_in_group"});
  refuse_others(part);
  if (none) return 0;
  if (heads % group != 0)
    part.refuse(
        fmt::format("{} heads cannot form groups of {}; \"n_heads_in_group\" must divide the heads", heads, group));
  return heads / group;
}

/// MLP width of a block: intermediate_size, or 2/3 of ffn_mult x hidden, rounded down and then up to a multiple of 256.
Count block_mlp_width(const Config& part, Count hidden) {
  const bool none = part.flag("no_op", false);
  const double factor = part.number("ffn_mult", 0);
  const Count stated = none ? 0 : part.count("intermediate_size", 0);
  part.ignore({"intermediate_size"});
  refuse_others(part);
  if (none || stated > 0) return stated;
  if (!(factor > 0 && factor <= 1024))
    part.refuse(fmt::format("\"ffn_mult\": expected a number above 0 and at most 1024, got {}", factor));
  return mul(ceil_div(static_cast<Count>(2 * factor * static_cast<double>(hidden) / 3), 256), 256);
}

/// The entries with attention, an MLP or both. Entries with neither have no parameters and perform no computation.
std::vector<NasBlock> blocks(const Config& c, const Arch& a) {
  const json::Value* list = c.find("block_configs");
  if (list == nullptr || !list->is_array() || static_cast<Count>(list->size()) != a.layers)
    c.refuse(fmt::format("\"block_configs\": expected a list with one object per layer ({})", a.layers));
  std::vector<NasBlock> out;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Config block((*list)[i], fmt::format("{}, \"block_configs\", entry {}", c.where(), i));
    for (const char* part : {"attention", "ffn"})
      if (!block.has(part)) block.refuse(fmt::format("\"{}\" is missing", part));
    const NasBlock b{block_kv_heads(block.object("attention"), a.heads),
                     block_mlp_width(block.object("ffn"), a.hidden)};
    refuse_others(block);
    if (b.kv_heads > 0 || b.mlp_width > 0) out.push_back(b);
  }
  return out;
}

/// Layers whose part(block) is `value`.
template <typename Part>
LayerSet layers_with(const std::vector<NasBlock>& all, Count value, const Part& part) {
  LayerSet set;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (part(all[i]) == value) set.insert(static_cast<Count>(i));
  return set;
}

/// Distinct values of part(block). Nonzero values come first, followed by 0 if it occurs.
template <typename Part>
std::vector<Count> values_of(const std::vector<NasBlock>& all, const Part& part) {
  std::vector<Count> values;
  for (const NasBlock& b : all)
    if (part(b) > 0 && std::find(values.begin(), values.end(), part(b)) == values.end()) values.push_back(part(b));
  if (std::any_of(all.begin(), all.end(), [&](const NasBlock& b) { return part(b) == 0; })) values.push_back(0);
  return values;
}

void refuse_more(const Config& c, std::string_view what, std::size_t most, std::size_t given) {
  if (given > most) c.refuse(fmt::format("\"block_configs\" has {} {}; at most {} are supported", given, what, most));
}

void set_block_attention(const Config& c, Arch& a, const std::vector<NasBlock>& all) {
  const auto kv_heads = [](const NasBlock& b) { return b.kv_heads; };
  const std::vector<Count> values = values_of(all, kv_heads);
  refuse_more(c, "kinds of attention", a.mixers.capacity + 1, values.size());
  if (values.front() == 0) c.refuse("\"block_configs\" has no layer with attention; at least one is required");
  a.kv_heads = values.front();
  for (std::size_t i = 1; i < values.size(); ++i) {
    LayerMixer m;
    m.attention = AttentionKind::none;
    if (values[i] > 0) static_cast<Mixer&>(m) = a;
    if (values[i] > 0) m.kv_heads = values[i];
    m.layers = layers_with(all, values[i], kv_heads);
    a.mixers.push(m);
  }
}

void set_block_mlps(const Config& c, Arch& a, const std::vector<NasBlock>& all) {
  const auto width = [](const NasBlock& b) { return b.mlp_width; };
  const std::vector<Count> values = values_of(all, width);
  refuse_more(c, "MLP widths", a.mlps.capacity + 1, values.size());
  a.mlp_width = values.front();
  for (std::size_t i = 1; i < values.size(); ++i) a.mlps.push({values[i], layers_with(all, values[i], width)});
  if (a.mlp_width == 0) a.mlps.push({0, LayerSet::all(a.layers)});
}

/// hub nvidia/Llama-3_3-Nemotron-Super-49B-v1, modeling_decilm.py: Llama whose layers differ (block_configs; Puzzle,
/// arXiv:2411.19146). Each layer has attention, an MLP, both or neither, a separate number of KV heads and MLP width,
/// and a norm before each part that it has. Layers with neither are omitted.
Arch nemotron_nas(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.mlp_bias = c.flag("mlp_bias", false);
  const std::vector<NasBlock> all = blocks(c, a);
  if (all.empty()) c.refuse("\"block_configs\" has no layer with attention or an MLP; at least one is required");
  a.layers = static_cast<Count>(all.size());
  set_block_attention(c, a, all);
  set_block_mlps(c, a, all);
  return a;
}

}  // namespace

std::vector<Family> nemotron_nas_families() {
  return {{"nemotron-nas", nemotron_nas, {80, 8192, 64, 0, 0, 0, 128256, 131072}}};
}

}  // namespace llmcalc::import
