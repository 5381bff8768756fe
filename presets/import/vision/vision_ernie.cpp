// ERNIE 4.5 VL's encoder, and the experts of its text model that only read images.

#include "presets/import/vision/vision.hpp"

namespace llmcalc::import {

namespace {

constexpr Count usual_merge = 2;  ///< default number of patches per side, and of frames, that are merged

/// hf ernie4_5_vl_moe/modeling_ernie4_5_vl_moe.py, Ernie4_5_VLMoeVisionTransformerPretrainedModel (in hub
/// baidu/ERNIE-4.5-VL-28B-A3B-PT, DFNRopeVisionTransformer): patch_embed without bias, vit_blocks, a LayerNorm 2 h.
MediaEncoder ernie(const Config& v) {
  const Count h = v.size("hidden_size", 1280), p = side(v, "patch_size", 14);
  const Count m = v.has("intermediate_size") ? v.size("intermediate_size", 0) : mul(h, v.size("mlp_ratio", 4));
  v.ignore({"embed_dim", "in_chans", "spatial_patch_size", "vit_first_fwd_bsz", "attn_sep"});
  return {ModuleTally()
              .linear(mul(colors(v), p, p), h, false)
              .copies(v.size("depth", 32), vit_block(h, m))
              .layer_norms(1, h)
              .total(),
          h};
}

/// Two matrices with biases and a LayerNorm.
ModuleTally resampled(Count in, Count out) {
  return ModuleTally().linear(in, out).linear(out, out).layer_norms(1, out);
}

/// Ernie4_5_VLMoeVariableResolutionResamplerModel: s x s patches are concatenated, then t frames, each time reduced
/// to a width of s^2 h; then a matrix with bias to the text model's width, and an RMSNorm.
Count ernie_projector(const Joint& j) {
  const Count s = j.media_encoder.size("spatial_merge_size", usual_merge);
  const Count t = j.media_encoder.has("temporal_merge_size") ? j.media_encoder.size("temporal_merge_size", usual_merge)
                                                             : j.whole.size("temporal_conv_size", usual_merge);
  const Count merged = mul(j.width, s, s);
  return ModuleTally()
      .copies(1, resampled(merged, merged))
      .copies(1, resampled(mul(merged, t), merged))
      .linear(merged, j.hidden)
      .numbers(j.hidden)
      .total();
}

Count ernie_images(const Joint& j) {
  return image_experts(j.whole.has("text_config") ? j.whole.object("text_config") : j.whole, j.hidden);
}

}  // namespace

std::vector<MediaEncoderFamily> ernie_media_encoders() { return {{"ernie4_5_vl_moe_vision", ernie}}; }

std::vector<Composite> ernie_composites() {
  return {{"ernie4_5_vl_moe ernie4_5_moe_vl", "ernie4_5_vl_moe_vision", true, ernie_projector, ernie_images}};
}

}  // namespace llmcalc::import
