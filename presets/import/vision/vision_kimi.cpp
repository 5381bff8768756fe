// MoonViT, the encoder of the Kimi models.

#include <fmt/format.h>

#include "presets/import/vision/vision.hpp"

namespace llmcalc::import {

namespace {

/// Shape of a block: wqkv (3 n, h), wo (h, n), up and down, each with or without biases, and two norms.
struct MoonBlock {
  Count h, n, m;
  bool attention_bias, mlp_bias, layer_norms;
};

ModuleTally norms(const MoonBlock& b, Count n) {
  return b.layer_norms ? ModuleTally().layer_norms(n, b.h) : ModuleTally().numbers(mul(n, b.h));
}

/// Patch embedding (h, 3, p, p), a table of 2-D positions, blocks, and a final norm. Temporal positions are
/// sinusoidal.
Count moon_vit(const Config& v, const MoonBlock& b, Count layers, bool patch_bias) {
  const Count p = v.size("patch_size", 14);
  const ModuleTally block = ModuleTally(norms(b, 2))
                                .linear(b.h, mul(3, b.n), b.attention_bias)
                                .linear(b.n, b.h, b.attention_bias)
                                .linear(b.h, b.m, b.mlp_bias)
                                .linear(b.m, b.h, b.mlp_bias);
  return ModuleTally(norms(b, 1))
      .linear(mul(3, p, p), b.h, patch_bias)
      .table(mul(v.size("init_pos_emb_height", 64), v.size("init_pos_emb_width", 64)), b.h)
      .copies(layers, block)
      .total();
}

/// hub moonshotai/Kimi-VL-A3B-Instruct, modeling_kimi_vl.py, MoonVitPretrainedModel: biases everywhere, LayerNorms.
MediaEncoder moonvit(const Config& v) {
  const Count h = v.size("hidden_size", 1152);
  const MoonBlock b{h, h, v.size("intermediate_size", 4304), true, true, true};
  return {moon_vit(v, b, v.size("num_hidden_layers", 27), true), h};
}

/// hub moonshotai/Kimi-K2.5, modeling_kimi_k25.py, MoonViT3dPretrainedModel: as MoonVitPretrainedModel, with keys
/// that may begin with vt_.
MediaEncoder kimi_k25(const Config& v) {
  const Count h = v.size({"vt_hidden_size", "hidden_size"}, 1152);
  const MoonBlock b{h, h, v.size({"vt_intermediate_size", "intermediate_size"}, 4304), true, true, true};
  return {moon_vit(v, b, v.size({"vt_num_hidden_layers", "num_hidden_layers"}, 27), true), h};
}

void require(const Config& v, std::string_view key, std::string_view only) {
  if (const std::string found = v.text(key, only); found != only)
    v.refuse(fmt::format("\"{}\": only \"{}\" is supported, got \"{}\"; omit vision_config to count only the text part",
                         key, only, found));
}

/// hub moonshotai/Kimi-K3, modeling_kimi_k3.py: the total width of heads may exceed h; biases according to the
/// config; RMSNorms.
MediaEncoder kimi_k3(const Config& v) {
  require(v, "mlp_type", "mlp2");
  require(v, "norm_type", "rmsnorm");
  const Count h = v.size("vt_hidden_size", 1024);
  const MoonBlock b{h,
                    v.size("qkv_hidden_size", 1536),
                    v.size("vt_intermediate_size", 4096),
                    v.flag("attn_bias", false),
                    v.flag("linear_bias", false),
                    false};
  return {moon_vit(v, b, v.size("vt_num_hidden_layers", 27), v.flag("patch_embed_proj_bias", false)), h};
}

/// Total width of the rows that are concatenated, whose number is the product of merge_kernel_size.
Count merged(const Config& v, Count width) {
  const std::vector<Count> kernel =
      v.has("merge_kernel_size") ? v.counts("merge_kernel_size") : std::vector<Count>{2, 2};
  if (kernel.size() != 2) v.refuse("\"merge_kernel_size\": expected two numbers");
  return mul(kernel[0], kernel[1], width);
}

/// KimiVLMultiModalProjector: pre_norm, a LayerNorm of a row; two matrices with biases, for merged rows.
Count kimi_vl(const Joint& j) {
  const Count in = merged(j.media_encoder, j.width);
  return ModuleTally().layer_norms(1, j.width).linear(in, in).linear(in, j.hidden).total();
}

/// PatchMergerMLP: like KimiVLMultiModalProjector.
Count kimi_k25_projector(const Joint& j) {
  require(j.media_encoder, "mm_projector_type", "patchmerger");
  const Count row = j.media_encoder.size("mm_hidden_size", j.width), in = merged(j.media_encoder, row);
  const Count out = j.media_encoder.size("text_hidden_size", j.hidden);
  return ModuleTally().layer_norms(1, row).linear(in, in).linear(in, out).total();
}

/// PatchMergerMLPV2: two matrices without biases, and post_norm, an RMSNorm of the result.
Count kimi_k3_projector(const Joint& j) {
  require(j.media_encoder, "mm_projector_type", "patchmergerv2");
  const Count in = merged(j.media_encoder, j.media_encoder.size("mm_hidden_size", j.width));
  const Count out = j.media_encoder.size("text_hidden_size", j.hidden);
  return ModuleTally().linear(in, in, false).linear(in, out, false).numbers(out).total();
}

}  // namespace

std::vector<MediaEncoderFamily> kimi_media_encoders() {
  return {{"moonvit", moonvit}, {"kimi_k25_vision", kimi_k25}, {"kimi_k3_vision", kimi_k3}};
}

std::vector<Composite> kimi_composites() {
  return {{"kimi_vl", "moonvit", true, kimi_vl},
          {"kimi_k25", "kimi_k25_vision", true, kimi_k25_projector},
          {"kimi_k3", "kimi_k3_vision", true, kimi_k3_projector}};
}

}  // namespace llmcalc::import
