// Whisper's encoder, as used by text models with audio input.

#include "presets/import/vision/vision.hpp"

namespace llmcalc::import {

namespace {

/// hf qwen2_audio/modeling_qwen2_audio.py, Qwen2AudioEncoder; voxtral/: conv1 (d, bins, 3) and conv2 (d, d, 3) with
/// biases; embed_positions (a table that is not trained, but stored in the checkpoint); layers: q, v, out with biases
/// and k without, 4 d^2 + 3 d, fc1 and fc2 with biases, two LayerNorms 4 d, which is a vit_block minus one bias; a
/// final LayerNorm.
MediaEncoder whisper(const Config& c) {
  const Count d = c.size({"d_model", "hidden_size"}, 1280);
  const Count m = c.size({"encoder_ffn_dim", "intermediate_size"}, 5120);
  const Count layers = c.size({"encoder_layers", "num_hidden_layers"}, 32);
  return {ModuleTally()
              .linear(mul(c.size("num_mel_bins", 128), 3), d)
              .linear(mul(d, 3), d)
              .table(c.size("max_source_positions", 1500), d)
              .copies(layers, ModuleTally(vit_block(d, m)).numbers(-d))
              .layer_norms(1, d)
              .total(),
          d};
}

/// Qwen2AudioMultiModalProjector: a matrix with bias.
Count qwen2_audio(const Joint& j) { return ModuleTally().linear(j.width, j.hidden).total(); }

/// hf voxtral/modeling_voxtral.py, VoxtralMultiModalProjector: two matrices without biases. The first reads groups of
/// rows that are concatenated to the encoder's intermediate size.
Count voxtral(const Joint& j) {
  const Count in = j.media_encoder.size({"intermediate_size", "encoder_ffn_dim"}, 5120);
  return ModuleTally().linear(in, j.hidden, false).linear(j.hidden, j.hidden, false).total();
}

}  // namespace

std::vector<MediaEncoderFamily> audio_media_encoders() { return {{"qwen2_audio_encoder voxtral_encoder", whisper}}; }

std::vector<Composite> audio_composites() {
  return {{"qwen2_audio", "qwen2_audio_encoder", true, qwen2_audio}, {"voxtral", "voxtral_encoder", true, voxtral}};
}

}  // namespace llmcalc::import
