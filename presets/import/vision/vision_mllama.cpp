// Llama 3.2's encoder, and the layers of its text model that only read images.

#include <fmt/format.h>

#include <algorithm>

#include "presets/import/vision/vision.hpp"

namespace llmcalc::import {

namespace {

/// Number of rows in a table with one row per arrangement of tiles and one additional row.
Count arrangements(const Config& v) {
  const json::Value* known = v.find("supported_aspect_ratios");
  const Count given = known != nullptr && known->is_array() ? static_cast<Count>(known->size()) : 8;
  return add(given, 1);
}

/// hf mllama/modeling_mllama.py, MllamaVisionModel: patch_embedding (h, c, p, p) without bias; class_embedding h;
/// positions of the patches and the class P h and, for every arrangement of t tiles, t P h, with one gate; tile
/// embeddings before and after the layers, each t h for every arrangement, with a gate; layernorm_pre and
/// layernorm_post 4 h; layers whose attention has no biases, which are vit_blocks minus 4 h; global layers with two
/// more gates.
MediaEncoder mllama(const Config& v) {
  const Count h = v.size("hidden_size", 1280), p = side(v, "patch_size", 14), tiles = v.size("max_num_tiles", 4);
  const Count positions = add(patches(v, 448, 14), 1), each = mul(arrangements(v), tiles);
  const ModuleTally block = ModuleTally(vit_block(h, v.size("intermediate_size", 5120))).numbers(-mul(4, h));
  v.ignore({"attention_heads", "intermediate_layers_indices"});  // outputs concatenated with the last layer's
  return {ModuleTally()
              .linear(mul(colors(v), p, p), h, false)
              .numbers(h)
              .table(positions, h)
              .table(mul(each, positions), h)
              .numbers(1)
              .copies(2, ModuleTally().table(each, h).numbers(1))
              .layer_norms(2, h)
              .copies(v.size("num_hidden_layers", 32), block)
              .copies(v.size("num_global_layers", 8), ModuleTally(block).numbers(2))
              .total(),
          v.size("vision_output_dim", 7680)};
}

/// MllamaModel: multi_modal_projector, with bias.
Count mllama_projector(const Joint& j) { return ModuleTally().linear(j.width, j.hidden).total(); }

/// MllamaCrossAttentionDecoderLayer: q and o 2 h n d, k and v 2 h g d, RMSNorms of queries and keys 2 d, gate, up,
/// down 3 h m, two RMSNorms 2 h, and two scalar gates. Also 8 rows of the token embedding, for images.
Count mllama_cross(const Joint& j) {
  const Config text = j.whole.object("text_config");
  const Count h = j.hidden, n = text.size("num_attention_heads", 32), g = text.size("num_key_value_heads", 8);
  const Count d = h / n;
  const ModuleTally layer = ModuleTally()
                                .table(mul(2, h), mul(n, d))
                                .table(mul(2, h), mul(g, d))
                                .numbers(mul(2, d))
                                .table(mul(3, h), text.size("intermediate_size", 14336))
                                .numbers(mul(2, h))
                                .numbers(2);
  return ModuleTally().copies(static_cast<Count>(image_layers(text).size()), layer).table(8, h).total();
}

}  // namespace

std::vector<Count> image_layers(const Config& text) {
  const std::vector<Count> all = text.has("cross_attention_layers") ? text.counts("cross_attention_layers")
                                                                    : std::vector<Count>{3, 8, 13, 18, 23, 28, 33, 38};
  const Count layers = text.size("num_hidden_layers", 40);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i] >= layers || std::find(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i), all[i]) !=
                                all.begin() + static_cast<std::ptrdiff_t>(i))
      text.refuse(fmt::format("\"cross_attention_layers\": expected distinct layers below {}, got {}", layers, all[i]));
  if (static_cast<Count>(all.size()) >= layers)
    text.refuse("\"cross_attention_layers\" lists every layer; omit at least one");
  return all;
}

std::vector<MediaEncoderFamily> mllama_media_encoders() { return {{"mllama_vision_model", mllama}}; }

std::vector<Composite> mllama_composites() {
  return {{"mllama", "mllama_vision_model", true, mllama_projector, mllama_cross}};
}

}  // namespace llmcalc::import
