// Qwen's encoders and their descendants: patches over space and time, RoPE, and a merger of neighboring patches inside
// the encoder, whose output has the text model's width.

#include "presets/import/vision/vision.hpp"

namespace llmcalc::import {

namespace {

/// Sizes that these encoders have in common. h: width of a row; p x p x t: pixels and frames of a patch of c
/// channels; s x s patches are merged; `out`: width of the result. 0: not in the config.
struct VisionSizes {
  Count depth, h, out, p, t, s, c = 3;
};

VisionSizes sizes(const Config& v, const VisionSizes& d) {
  return {v.size("depth", d.depth),
          v.size("hidden_size", d.h),
          v.size("out_hidden_size", d.out),
          v.size({"patch_size", "spatial_patch_size"}, d.p),
          v.size("temporal_patch_size", d.t),
          v.size("spatial_merge_size", d.s),
          colors(v)};
}

/// A convolution whose stride equals its kernel: (h, c, t, p, p).
ModuleTally patch_embedding(const VisionSizes& s, bool bias) {
  return ModuleTally().linear(mul(s.c, s.t, s.p, s.p), s.h, bias);
}

/// Two matrices with biases, from s^2 merged rows of h to `out`: (s^2 h)^2 + s^2 h, s^2 h out + out.
ModuleTally merger(const VisionSizes& s) {
  const Count merged = mul(s.s, s.s, s.h);
  return ModuleTally().linear(merged, merged).linear(merged, s.out);
}

/// hf qwen2_vl/modeling_qwen2_vl.py, Qwen2VisionTransformerPretrainedModel: patch_embed without bias; blocks as
/// vit_block with an MLP of mlp_ratio h; merger: ln_q, a LayerNorm 2 h, and two matrices. Its width is embed_dim;
/// hidden_size is the text model's.
MediaEncoder qwen2_vl(const Config& v) {
  VisionSizes s = sizes(v, {32, 3584, 0, 14, 2, 2});
  s.out = s.h;
  s.h = v.size("embed_dim", 1280);
  const ModuleTally block = vit_block(s.h, mul(v.size("mlp_ratio", 4), s.h));
  return {
      ModuleTally(patch_embedding(s, false)).copies(s.depth, block).layer_norms(1, s.h).copies(1, merger(s)).total(),
      s.out};
}

/// A block of Qwen2.5-VL's encoders: qkv and out with biases, where keys and values each have `kv` elements; gate,
/// up, down with biases 3 h m + 2 m + h; two RMSNorms 2 h.
ModuleTally gated_block(Count h, Count kv, Count m) {
  return ModuleTally().linear(h, add(h, mul(2, kv))).linear(h, h).linear(h, mul(2, m)).linear(m, h).numbers(mul(2, h));
}

/// An encoder that repeats `block`: patch_embed without bias; merger: ln_q, an RMSNorm h, and two matrices.
MediaEncoder around(const VisionSizes& s, const ModuleTally& block) {
  return {ModuleTally(patch_embedding(s, false)).copies(s.depth, block).numbers(s.h).copies(1, merger(s)).total(),
          s.out};
}

/// hf qwen2_5_vl/modeling_qwen2_5_vl.py, Qwen2_5_VisionTransformerPretrainedModel; qwen2_5_omni/, with separate
/// matrices for queries, keys and values.
MediaEncoder qwen2_5_vl(const Config& v) {
  const VisionSizes s = sizes(v, {32, 3584, 3584, 14, 2, 2});
  v.ignore({"embed_dim"});
  return around(s, gated_block(s.h, s.h, v.size("intermediate_size", 3420)));
}

/// hf exaone4_5/modular_exaone4_5.py, Exaone4_5_VisionModel: Qwen2.5-VL's encoder with fewer KV heads.
MediaEncoder exaone4_5(const Config& v) {
  const VisionSizes s = sizes(v, {32, 3584, 3584, 14, 2, 2});
  const Count heads = v.size("num_heads", 16);
  const Count kv = mul(v.size("num_key_value_heads", 8), s.h / heads);
  return around(s, gated_block(s.h, kv, v.size("intermediate_size", 3420)));
}

/// hf qwen3_vl/modeling_qwen3_vl.py, Qwen3VLVisionModel: patch_embed with bias; pos_embed, a table; blocks as
/// vit_block; merger: a LayerNorm 2 h, and two matrices. Each layer in deepstack_visual_indexes has another merger,
/// whose LayerNorm 2 s^2 h applies to merged rows.
MediaEncoder with_deepstack(const Config& v, Count mergers) {
  const VisionSizes s = sizes(v, {27, 1152, 3584, 16, 2, 2});
  return {ModuleTally(patch_embedding(s, true))
              .table(v.size("num_position_embeddings", 2304), s.h)
              .copies(s.depth, vit_block(s.h, v.size("intermediate_size", 4304)))
              .layer_norms(1, s.h)
              .copies(1, merger(s))
              .copies(mergers, ModuleTally(merger(s)).layer_norms(1, mul(s.s, s.s, s.h)))
              .total(),
          s.out};
}
MediaEncoder qwen3_vl(const Config& v) {
  v.ignore({"apply_vit_abs_pos_embed"});
  constexpr std::string_view key = "deepstack_visual_indexes";  // absent: layers 8, 16 and 24
  return with_deepstack(v, v.has(key) ? static_cast<Count>(v.counts(key).size()) : 3);
}

/// hf qwen3_5/modular_qwen3_5.py, Qwen3_5VisionModel: Qwen3-VL's encoder with only the last merger.
MediaEncoder qwen3_5(const Config& v) {
  constexpr std::string_view key = "deepstack_visual_indexes";
  if (v.has(key) && !v.counts(key).empty())
    v.refuse("\"deepstack_visual_indexes\" lists layers, but the Qwen3.5 encoder has one merger, after the last layer");
  return with_deepstack(v, 0);
}

/// hf glm4v/modular_glm4v.py, glm4v_moe: patch_embed with bias; embeddings, a table of positions of a square image;
/// post_conv_layernorm and post_layernorm, RMSNorms 2 h; blocks: qkv and proj 4 h^2, with biases on qkv if the config
/// has them, gate, up, down 3 h out (the MLP is as wide as the output), RMSNorms 2 h; downsample, a convolution (out,
/// h, s, s) with bias; merger, of width w: proj out^2, LayerNorm 2 out, gate, up, down 3 out w.
MediaEncoder glm4v(const Config& v) {
  const VisionSizes s = sizes(v, {24, 1536, 4096, 14, 2, 2});
  const Count w = v.size("intermediate_size", 13696);
  const ModuleTally block = ModuleTally()
                                .linear(s.h, mul(3, s.h), v.flag("attention_bias", false))
                                .linear(s.h, s.h, false)
                                .table(mul(3, s.h), s.out)
                                .numbers(mul(2, s.h));
  return {ModuleTally(patch_embedding(s, true))
              .table(patches(v, 336, 14), s.h)
              .numbers(mul(2, s.h))
              .copies(s.depth, block)
              .linear(mul(s.s, s.s, s.h), s.out)
              .linear(s.out, s.out, false)
              .layer_norms(1, s.out)
              .table(mul(3, s.out), w)
              .total(),
          s.out};
}

}  // namespace

std::vector<MediaEncoderFamily> qwen_media_encoders() {
  return {{"qwen2_vl", qwen2_vl}, {"qwen2_5_vl", qwen2_5_vl}, {"exaone4_5_vision", exaone4_5},
          {"qwen3_vl", qwen3_vl}, {"qwen3_5", qwen3_5},       {"glm4v", glm4v}};
}

std::vector<Composite> qwen_composites() {
  return {{"qwen2_vl", "qwen2_vl", true},
          {"qwen2_5_vl", "qwen2_5_vl", true},
          {"qwen3_vl qwen3_vl_moe", "qwen3_vl", true},
          {"qwen3_5 qwen3_5_moe", "qwen3_5", true},
          {"qwen2_5_omni qwen2_5_omni_thinker", "qwen2_5_vl", true},
          {"qwen3_omni_moe qwen3_omni_moe_thinker", "qwen3_vl", true},
          {"exaone4_5", "exaone4_5_vision", true},
          {"glm4v glm4v_moe", "glm4v", true}};
}

}  // namespace llmcalc::import
