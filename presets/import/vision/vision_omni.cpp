// Encoders of models for images and sound, and of small image models: Qwen's omni models, LFM2-VL, Idefics 3, SmolVLM.

#include "presets/import/vision/vision.hpp"

namespace llmcalc::import {

namespace {

/// Sizes of Whisper's layers in Qwen's omni models.
struct Hearing {
  Count d, layers, m, bins, out;
};
Hearing hearing(const Config& c) {
  c.ignore({"max_source_positions", "n_window", "n_window_infer", "conv_chunksize"});
  return {c.size("d_model", 1280), c.size({"encoder_layers", "num_hidden_layers"}, 32), c.size("encoder_ffn_dim", 5120),
          c.size("num_mel_bins", 128), c.size("output_dim", 3584)};
}

/// hf qwen2_5_omni/modeling_qwen2_5_omni.py, Qwen2_5OmniAudioEncoder: conv1 (d, bins, 3) and conv2 (d, d, 3) with
/// biases; positions are sinusoidal and not stored; audio_bos_eos_token (2, out); layers: vit_blocks without a bias on
/// keys; ln_post 2 d; proj (out, d) with bias.
MediaEncoder qwen2_5_omni(const Config& c) {
  const Hearing s = hearing(c);
  return {ModuleTally()
              .linear(mul(s.bins, 3), s.d)
              .linear(mul(s.d, 3), s.d)
              .table(2, s.out)
              .copies(s.layers, ModuleTally(vit_block(s.d, s.m)).numbers(-s.d))
              .layer_norms(1, s.d)
              .linear(s.d, s.out)
              .total(),
          s.out};
}

/// hf qwen3_omni_moe/modeling_qwen3_omni_moe.py, Qwen3OmniMoeAudioEncoder: three convolutions of 3 x 3 with biases and
/// stride 2, from 1 to w and twice from w to w channels; conv_out (d, w bins / 8) without bias, with bins halved three
/// times and rounded up; layers as vit_block; ln_post 2 d; proj1 (d, d) and proj2 (out, d) with biases.
MediaEncoder qwen3_omni(const Config& c) {
  const Hearing s = hearing(c);
  const Count w = c.size("downsample_hidden_size", 480);
  return {ModuleTally()
              .linear(9, w)
              .copies(2, ModuleTally().linear(mul(w, 9), w))
              .linear(mul(w, ceil_div(s.bins, 8)), s.d, false)
              .copies(s.layers, vit_block(s.d, s.m))
              .layer_norms(1, s.d)
              .linear(s.d, s.d)
              .linear(s.d, s.out)
              .total(),
          s.out};
}

/// Common part of SigLIP's successors: patch embedding (h, c p^2) with bias, a table of `positions` rows, vit_blocks,
/// post_layernorm 2 h.
ModuleTally siglip_body(const Config& v, Count h, Count m, Count p, Count positions) {
  return ModuleTally()
      .linear(mul(colors(v), p, p), h)
      .table(positions, h)
      .copies(v.size("num_hidden_layers", 12), vit_block(h, m))
      .layer_norms(1, h);
}

/// hf siglip2/modeling_siglip2.py, Siglip2VisionModel: num_patches rows of positions, which are interpolated to the
/// size of the image. Unless vision_use_head is false, a pooling head: probe h, attention 4 (h^2 + h), a LayerNorm
/// and an MLP.
MediaEncoder siglip2(const Config& v) {
  const Count h = v.size("hidden_size", 768), m = v.size("intermediate_size", 3072);
  ModuleTally all = siglip_body(v, h, m, side(v, "patch_size", 16), v.size("num_patches", 256));
  if (v.flag("vision_use_head", true))
    all.numbers(h).copies(4, ModuleTally().linear(h, h)).layer_norms(1, h).linear(h, m).linear(m, h);
  return {all.total(), h};
}

/// hf lfm2_vl/modeling_lfm2_vl.py, Lfm2VlMultiModalProjector: f^2 concatenated rows, a LayerNorm unless
/// projector_use_layernorm is false, linear_1 (w, f^2 h) and linear_2 (hidden, w).
Count lfm2_vl(const Joint& j) {
  const Count f = j.whole.size("downsample_factor", 2), w = j.whole.size("projector_hidden_size", 2560);
  const bool bias = j.whole.flag("projector_bias", true);
  const Count in = mul(j.width, f, f);
  return ModuleTally()
      .layer_norms(j.whole.flag("projector_use_layernorm", true) ? 1 : 0, in)
      .linear(in, w, bias)
      .linear(w, j.hidden, bias)
      .total();
}

/// hf idefics3/modeling_idefics3.py, Idefics3VisionTransformer, and smolvlm/: position embeddings of a square image,
/// no pooling head.
MediaEncoder idefics3(const Config& v) {
  const Count h = v.size("hidden_size", 1152), m = v.size("intermediate_size", 3072);
  v.ignore({"size", "max_image_size", "use_base_siglip"});
  return {siglip_body(v, h, m, side(v, "patch_size", 32), patches(v, 224, 32)).total(), h};
}
/// Idefics3Connector, SmolVLMConnector: s^2 concatenated rows, a matrix without bias.
Count idefics3_projector(const Joint& j) {
  const Count s = j.whole.size("scale_factor", 2);
  return ModuleTally().linear(mul(j.width, s, s), j.hidden, false).total();
}

}  // namespace

std::vector<MediaEncoderFamily> omni_media_encoders() {
  return {{"qwen2_5_omni_audio_encoder", qwen2_5_omni},
          {"qwen3_omni_moe_audio_encoder", qwen3_omni},
          {"siglip2_vision_model", siglip2},
          {"idefics3 idefics3_vision smolvlm_vision", idefics3}};
}

std::vector<Composite> omni_composites() {
  return {{"lfm2_vl", "siglip2_vision_model", false, lfm2_vl},
          {"idefics3", "idefics3", true, idefics3_projector},
          {"smolvlm", "idefics3", true, idefics3_projector}};
}

std::vector<Composite> omni_audio_composites() {
  return {{"qwen2_5_omni qwen2_5_omni_thinker", "qwen2_5_omni_audio_encoder", true},
          {"qwen3_omni_moe qwen3_omni_moe_thinker", "qwen3_omni_moe_audio_encoder", true}};
}

}  // namespace llmcalc::import
