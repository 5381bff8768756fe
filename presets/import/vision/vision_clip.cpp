// CLIP, SigLIP and Pixtral, which several models use unchanged, and the projectors of these models.

#include "presets/import/vision/vision.hpp"

namespace llmcalc::import {

namespace {

/// hf clip/modeling_clip.py, CLIPVisionTransformer: class_embedding h; patch_embedding (h, c, p, p) without bias;
/// position_embedding of the patches and the class; pre_layrnorm and post_layernorm 4 h; blocks as vit_block.
/// Excludes CLIP's projection.
MediaEncoder clip(const Config& v) {
  const Count h = v.size("hidden_size", 768), p = side(v, "patch_size", 32);
  return {ModuleTally()
              .numbers(h)
              .linear(mul(colors(v), p, p), h, false)
              .table(add(patches(v, 224, 32), 1), h)
              .layer_norms(2, h)
              .copies(v.size("num_hidden_layers", 12), vit_block(h, v.size("intermediate_size", 3072)))
              .total(),
          h};
}

/// hf siglip/modeling_siglip.py, SiglipVisionTransformer: patch_embedding (h, c, p, p) with bias; position_embedding
/// of the patches; post_layernorm 2 h; blocks as vit_block. Unless vision_use_head is false, a pooling head: probe h,
/// attention 4 (h^2 + h), a LayerNorm and an MLP, which is a block with one LayerNorm.
MediaEncoder siglip(const Config& v) {
  const Count h = v.size("hidden_size", 768), p = side(v, "patch_size", 16), m = v.size("intermediate_size", 3072);
  ModuleTally all;
  all.linear(mul(colors(v), p, p), h)
      .table(patches(v, 224, 16), h)
      .layer_norms(1, h)
      .copies(v.size("num_hidden_layers", 12), vit_block(h, m));
  if (v.flag("vision_use_head", true))
    all.numbers(h).copies(4, ModuleTally().linear(h, h)).layer_norms(1, h).linear(h, m).linear(m, h);
  return {all.total(), h};
}

/// hf pixtral/modeling_pixtral.py, PixtralVisionModel: patch_conv (h, c, p, p); ln_pre, an RMSNorm h; blocks without
/// biases: q, k, v, o 4 h^2, gate, up, down 3 h m, RMSNorms 2 h; RoPE.
MediaEncoder pixtral(const Config& v) {
  const Count h = v.size("hidden_size", 1024), p = side(v, "patch_size", 16), m = v.size("intermediate_size", 4096);
  const ModuleTally block = ModuleTally().table(mul(4, h), h).table(mul(3, h), m).numbers(mul(2, h));
  return {ModuleTally()
              .linear(mul(colors(v), p, p), h, false)
              .numbers(h)
              .copies(v.size("num_hidden_layers", 24), block)
              .total(),
          h};
}

/// Number of encoder layers whose rows are concatenated for the projector.
Count layers_taken(const Config& whole) {
  const json::Value* layers = whole.find("vision_feature_layer");
  return layers != nullptr && layers->is_array() ? static_cast<Count>(layers->size()) : 1;
}

/// Two matrices: one from `in` to the text model's width, and a square matrix.
ModuleTally two_matrices(const Joint& j, Count in, bool bias) {
  return ModuleTally().linear(in, j.hidden, bias).linear(j.hidden, j.hidden, bias);
}

/// hf llava/modeling_llava.py, LlavaMultiModalProjector.
ModuleTally llava_projector(const Joint& j) {
  return two_matrices(j, mul(j.width, layers_taken(j.whole)), j.whole.flag("multimodal_projector_bias", true));
}
Count llava(const Joint& j) { return llava_projector(j).total(); }

/// hf llava_next/, llava_next_video/, llava_onevision/: Llava's projector, and image_newline, a row of the text model.
Count llava_next(const Joint& j) { return llava_projector(j).numbers(j.hidden).total(); }

/// hf paligemma/modeling_paligemma.py, PaliGemmaMultiModalProjector: a matrix with bias.
Count paligemma(const Joint& j) {
  const Count out = j.whole.size("projection_dim", j.media_encoder.size("projection_dim", j.hidden));
  return ModuleTally().linear(j.width, out).total();
}

/// hf gemma3/modeling_gemma3.py, Gemma3MultiModalProjector: mm_soft_emb_norm, an RMSNorm, and a matrix without bias.
Count gemma3(const Joint& j) { return ModuleTally().numbers(j.width).linear(j.width, j.hidden, false).total(); }

/// A gated MLP on the concatenated rows of a square of patches. Its first matrix computes gate and value: (f^2 h, a),
/// (a / 2, hidden), both with biases.
ModuleTally cohere_projector(const Joint& j, Count alignment) {
  const Count factor = j.whole.size("downsample_factor", 2);
  return ModuleTally().linear(mul(j.width, factor, factor), alignment).linear(alignment / 2, j.hidden);
}

/// hf cohere2_vision/modeling_cohere2_vision.py, Cohere2VisionMultiModalProjector.
Count cohere2_vision(const Joint& j) {
  return cohere_projector(j, j.whole.size("alignment_intermediate_size", 36864)).total();
}

/// hf aya_vision/modeling_aya_vision.py, AyaVisionMultiModalProjector: Cohere 2's projector, preceded by a LayerNorm
/// of the concatenated patches.
Count aya_vision(const Joint& j) {
  const Count factor = j.whole.size("downsample_factor", 2);
  return cohere_projector(j, j.whole.size("alignment_intermediate_size", j.hidden))
      .layer_norms(1, mul(j.width, factor, factor))
      .total();
}

/// hf mistral3/modeling_mistral3.py, Mistral3MultiModalProjector: norm, an RMSNorm; merging_layer (h, s^2 h) without
/// bias; two matrices, without biases by default.
Count mistral3(const Joint& j) {
  const Count s = j.whole.size("spatial_merge_size", 2);
  return two_matrices(j, mul(j.width, layers_taken(j.whole)), j.whole.flag("multimodal_projector_bias", false))
      .numbers(j.width)
      .linear(mul(j.width, s, s), j.width, false)
      .total();
}

}  // namespace

std::vector<MediaEncoderFamily> clip_media_encoders() {
  return {{"clip_vision_model", clip}, {"siglip_vision_model", siglip}, {"pixtral", pixtral}};
}

std::vector<Composite> clip_composites() {
  return {{"llava", "clip_vision_model", false, llava},
          {"llava_next llava_next_video", "clip_vision_model", false, llava_next},
          {"llava_onevision", "siglip_vision_model", false, llava_next},
          {"paligemma", "siglip_vision_model", false, paligemma},
          {"gemma3", "siglip_vision_model", false, gemma3},
          {"aya_vision", "siglip_vision_model", false, aya_vision},
          {"cohere2_vision", "siglip_vision_model", false, cohere2_vision},
          {"mistral3", "pixtral", false, mistral3}};
}

}  // namespace llmcalc::import
