// Encoders that exist in only one family of models: Gemma 4, Llama 4, InternVL, MiniMax-M3.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "presets/import/vision/vision.hpp"

namespace llmcalc::import {

namespace {

/// hf gemma4/modular_gemma4.py, Gemma4VisionModel: input_proj 3 p^2 h; position_embedding_table (2, P, h); blocks
/// without biases: q and o 2 h n d, k and v 2 h g d, norms of queries and keys 2 d, gate, up, down 3 h m, four RMSNorms
/// 4 h. Also buffers, which are saved with the weights: four limits for each clipped linear layer, seven per block, and
/// a shift and a scale 2 h in a standardized encoder.
MediaEncoder gemma4(const Config& v) {
  const Count h = v.size("hidden_size", 768), m = v.size("intermediate_size", 3072);
  const Count n = v.size("num_attention_heads", 12), g = v.size("num_key_value_heads", 12);
  const Count d = v.size("head_dim", 64), p = v.size("patch_size", 16);
  const ModuleTally block = ModuleTally()
                                .table(mul(2, h), mul(n, d))
                                .table(mul(2, h), mul(g, d))
                                .numbers(mul(2, d))
                                .table(mul(3, h), m)
                                .numbers(mul(4, h))
                                .numbers(v.flag("use_clipped_linears", false) ? 4 * 7 : 0);
  return {ModuleTally()
              .table(mul(3, p, p), h)
              .table(mul(2, v.size("position_embedding_size", 10240)), h)
              .copies(v.size("num_hidden_layers", 16), block)
              .numbers(v.flag("standardize", false) ? mul(2, h) : 0)
              .total(),
          h};
}
/// Gemma4MultimodalEmbedder: a norm without scale, then a matrix without bias.
Count gemma4_projector(const Joint& j) { return ModuleTally().linear(j.width, j.hidden, false).total(); }

/// hf llama4/modeling_llama4.py, Llama4VisionModel: patch_embedding (h, c p^2) without bias; class_embedding h;
/// positional_embedding_vlm of the patches and the class; layernorm_pre and layernorm_post 4 h; blocks as vit_block;
/// vision_adapter after the pixel shuffle: fc1 (a, m), fc2 (o, o) without biases.
MediaEncoder llama4(const Config& v) {
  const Count h = v.size("hidden_size", 768), p = v.size("patch_size", 14), m = v.size("intermediate_size", 5632);
  const Count o = v.size("projector_output_dim", 4096);
  return {ModuleTally()
              .linear(mul(colors(v), p, p), h, false)
              .numbers(h)
              .table(add(patches(v, 448, 14), 1), h)
              .layer_norms(2, h)
              .copies(v.size("num_hidden_layers", 34), vit_block(h, m))
              .linear(m, v.size("projector_input_dim", 4096), false)
              .linear(o, o, false)
              .total(),
          v.size("vision_output_dim", 7680)};
}
/// Llama4MultiModalProjector: linear_1 without bias.
Count llama4_projector(const Joint& j) { return ModuleTally().linear(j.width, j.hidden, false).total(); }

/// InternVL's vision transformer. `qkv_bias`: biases on queries, keys and values; `qk_norm`: RMSNorms on queries and
/// keys over all heads.
struct InternVit {
  Count h, m, layers;
  bool qkv_bias, qk_norm, layer_norms;
};

/// Patch embedding (h, c, p, p) with bias; class embedding h; position embeddings of the patches and the class;
/// blocks: qkv 3 h^2, out h^2 + h, up and down with biases, two norms, two scales of the branches 2 h. These models
/// have no final norm.
ModuleTally intern_vit(const Config& v, const InternVit& s, Count image, Count patch) {
  const Count p = side(v, "patch_size", patch);
  const ModuleTally block = ModuleTally()
                                .linear(s.h, mul(3, s.h), s.qkv_bias)
                                .linear(s.h, s.h)
                                .numbers(s.qk_norm ? mul(2, s.h) : 0)
                                .linear(s.h, s.m)
                                .linear(s.m, s.h)
                                .numbers(mul(s.layer_norms ? 4 : 2, s.h))
                                .numbers(mul(2, s.h));
  return ModuleTally()
      .linear(mul(colors(v), p, p), s.h)
      .numbers(s.h)
      .table(add(patches(v, image, patch), 1), s.h)
      .copies(s.layers, block);
}

/// Whether norms are LayerNorms rather than RMSNorms.
bool layer_norms(const Config& v, std::string_view otherwise) {
  const std::string kind = v.text("norm_type", otherwise);
  if (kind != "layer_norm" && kind != "rms_norm")
    v.refuse(fmt::format("\"norm_type\": expected \"layer_norm\" or \"rms_norm\", got \"{}\"", kind));
  return kind == "layer_norm";
}

/// hf internvl/modeling_internvl.py, InternVLVisionModel.
MediaEncoder internvl(const Config& v) {
  const InternVit s{.h = v.size("hidden_size", 1024),
                    .m = v.size("intermediate_size", 4096),
                    .layers = v.size("num_hidden_layers", 24),
                    .qkv_bias = v.flag("attention_bias", false),
                    .qk_norm = v.flag("use_qk_norm", false),
                    .layer_norms = layer_norms(v, "layer_norm")};
  if (!v.flag("use_absolute_position_embeddings", true) || !v.flag("use_mean_pooling", true) ||
      v.flag("use_mask_token", false))
    v.refuse(
        "an InternVL encoder without \"use_absolute_position_embeddings\" or \"use_mean_pooling\", or with "
        "\"use_mask_token\", is not supported; omit vision_config to count only the text part");
  return {intern_vit(v, s, 448, 14).total(), s.h};
}

/// hub OpenGVLab/InternVL2_5-8B and others, modeling_intern_vit.py, InternVisionModel: as InternVLVisionModel, with
/// other key names.
MediaEncoder intern_vit_6b(const Config& v) {
  const InternVit s{.h = v.size("hidden_size", 3200),
                    .m = v.size("intermediate_size", 12800),
                    .layers = v.size("num_hidden_layers", 48),
                    .qkv_bias = v.flag("qkv_bias", false),
                    .qk_norm = v.flag("qk_normalization", true),
                    .layer_norms = layer_norms(v, "rms_norm")};
  return {intern_vit(v, s, 224, 14).total(), s.h};
}

/// hf internvl/, InternVLMultiModalProjector; hub mlp1: rows of 1 / r^2 concatenated patches, a LayerNorm and two
/// matrices with biases.
Count internvl_projector(const Joint& j) {
  const double ratio = j.whole.number("downsample_ratio", 0.5);
  const auto factor = static_cast<Count>(std::lround(std::clamp(1 / ratio, 0.0, 1e6)));
  if (factor < 1 || static_cast<double>(factor) * ratio != 1)
    j.whole.refuse(fmt::format("\"downsample_ratio\": expected 1 over a whole number, got {:g}", ratio));
  const Count in = mul(j.width, factor, factor);
  return ModuleTally().layer_norms(1, in).linear(in, j.hidden).linear(j.hidden, j.hidden).total();
}

/// hf minimax_m3_vl/modular_minimax_m3_vl.py, MiniMaxM3VLVisionModel: embedding of patches over space and time, (h,
/// c, t, p, p) without bias; pre_layrnorm 2 h; blocks as vit_block; RoPE, and no final norm.
MediaEncoder minimax_m3_vl(const Config& v) {
  const Count h = v.size("hidden_size", 1280), p = v.size("patch_size", 14);
  const bool nested = v.has("img_token_compression_config");
  const Count t = nested ? v.object("img_token_compression_config").size("temporal_patch_size", 2)
                         : v.size("temporal_patch_size", 2);
  return {ModuleTally()
              .linear(mul(colors(v), t, p, p), h, false)
              .layer_norms(1, h)
              .copies(v.size("num_hidden_layers", 32), vit_block(h, v.size("intermediate_size", 5120)))
              .total(),
          h};
}
/// MiniMaxM3VLMultiModalProjector: linear_1 (w, h), linear_2 (hidden, w) and, on s^2 concatenated rows,
/// merge_linear_1 (w, s^2 hidden), merge_linear_2 (hidden, w), all with biases.
Count minimax_m3_vl_projector(const Joint& j) {
  const bool nested = j.media_encoder.has("img_token_compression_config");
  const Count s = nested ? j.media_encoder.object("img_token_compression_config").size("spatial_merge_size", 2)
                         : j.media_encoder.size("spatial_merge_size", 2);
  j.whole.ignore({"multimodal_projector_bias"});
  const Count w = j.whole.size("projector_hidden_size", 6144);
  return ModuleTally()
      .linear(j.width, w)
      .linear(w, j.hidden)
      .linear(mul(s, s, j.hidden), w)
      .linear(w, j.hidden)
      .total();
}

}  // namespace

std::vector<MediaEncoderFamily> own_media_encoders() {
  return {{"gemma4_vision", gemma4},
          {"llama4_vision_model", llama4},
          {"internvl_vision", internvl},
          {"intern_vit_6b", intern_vit_6b},
          {"minimax_m3_vl_vision", minimax_m3_vl}};
}

std::vector<Composite> own_composites() {
  return {{"gemma4", "gemma4_vision", true, gemma4_projector},
          {"llama4", "llama4_vision_model", true, llama4_projector},
          {"internvl", "internvl_vision", false, internvl_projector},
          {"internvl_chat", "intern_vit_6b", false, internvl_projector},
          {"minimax_m3_vl", "minimax_m3_vl_vision", true, minimax_m3_vl_projector}};
}

}  // namespace llmcalc::import
