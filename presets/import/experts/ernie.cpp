// ERNIE 4.5, with experts for text and, in ERNIE 4.5 VL, for images.

#include <fmt/format.h>

#include "presets/import/families.hpp"
#include "presets/import/vision/vision.hpp"

namespace llmcalc::import {

namespace {

/// Input that a group of experts reads; also the index into lists with two entries.
enum class Reader : std::size_t { text, images };

/// Number under `key`. If `key` is a list with entries for text and for images, the entry for `reader`.
Count number_for(const Config& c, std::string_view key, Reader reader, Count otherwise) {
  const json::Value* v = c.find(key);
  if (v == nullptr || !v->is_array()) return c.count(key, otherwise);
  const std::vector<Count> both = c.counts(key);
  const auto at = static_cast<std::size_t>(reader);
  if (both.size() <= at)
    c.refuse(fmt::format("\"{}\": expected a number for text and one for images, got {}", key,
                         both.empty() ? "none" : "only one"));
  return both[at];
}

Count experts_for(const Config& c, Reader reader) {
  const bool listed = c.has("moe_num_experts") && c.find("moe_num_experts")->is_array();
  return listed ? number_for(c, "moe_num_experts", reader, 64) : c.size({"moe_num_experts", "num_experts"}, 64);
}

/// Layers with experts: every moe_layer_interval-th layer from moe_layer_start_index to moe_layer_end_index
/// (negative: the last layer), or those marked "sparse" in mlp_layer_types.
LayerSet sparse_layers_for(const Config& c, const Arch& a, Reader reader) {
  const Count first = number_for(c, "moe_layer_start_index", reader, 1), step = c.size("moe_layer_interval", 1);
  const json::Value* last = c.find("moe_layer_end_index");
  const bool open = last == nullptr || (last->is_number() && *last < 0);
  const Count end = open ? a.layers : number_for(c, "moe_layer_end_index", reader, a.layers);
  LayerSet layers;
  for (Count i = first; i < a.layers; ++i)
    if ((i + 1) % step == 0 && i <= end) layers.insert(i);
  return sparse_or(c, a, layers, {"moe_layer_start_index", "moe_layer_interval", "moe_layer_end_index"});
}

/// hf ernie4_5_moe/modeling_ernie4_5_moe.py: experts in some layers, with the shared experts fused into one MLP; the
/// load-balancing bias is a buffer; tied by default. MTP modules have the dense MLP and share the model's norm. hf
/// ernie4_5_vl_moe/modeling_ernie4_5_vl_moe.py and hub baidu/ERNIE-4.5-VL-28B-A3B-PT: as above, for text.
Arch ernie4_5_moe(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  if (c.flag("use_bias", false))
    c.refuse("\"use_bias\" is true; experts with biases are not supported with shared experts");
  c.ignore({"moe_gate", "moe_capacity", "moe_use_aux_free", "moe_group"});
  const Count shared = c.count("moe_num_shared_experts", 2);
  const Count width = number_for(c, "moe_intermediate_size", Reader::text, 1536);
  const LayerSet layers = sparse_layers_for(c, a, Reader::text);
  set_experts(a, {.experts = experts_for(c, Reader::text),
                  .top_k = c.size({"moe_k", "num_experts_per_tok"}, 6),
                  .width = width,
                  .shared_experts = shared,
                  .shared_width = shared > 0 ? width : 0,
                  .router_correction = true,
                  .layers = layers});
  const LayerSet dense = others(layers, a.layers);
  if (dense.empty()) return a;
  a.mtp = modules_like_last(c, a);
  if (a.mtp.modules > 0) a.mtp.mlp_of = dense.first();
  a.mtp.own_norm = false;
  return a;
}

}  // namespace

bool has_image_experts(const Config& text) {
  const json::Value* widths = text.find("moe_intermediate_size");
  return widths != nullptr && widths->is_array() && text.text("model_type", "").starts_with("ernie4_5_");
}

/// Parameters of the vision_moe, which every layer with experts has parallel to its text_moe
/// (Ernie4_5_VLMoeMoeBlock): a router n h, and n experts of gate, up, down 3 h m. The shared experts process both
/// text and images.
Count image_experts(const Config& text, Count hidden) {
  Arch a;
  a.layers = text.size("num_hidden_layers", 28);
  const Count n = experts_for(text, Reader::images);
  const Count width = number_for(text, "moe_intermediate_size", Reader::images, 512);
  const ModuleTally layer = ModuleTally().table(n, hidden).copies(n, ModuleTally().table(mul(3, hidden), width));
  return ModuleTally().copies(sparse_layers_for(text, a, Reader::images).size(), layer).total();
}

std::vector<Family> ernie_families() {
  return {{"ernie4_5_moe ernie4_5_moe_vl ernie4_5_vl_moe_text",
           ernie4_5_moe,
           {28, 2560, 20, 4, 0, 12288, 103424, 131072, true}}};
}

}  // namespace llmcalc::import
