#include "presets/header/tensor_words.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace llmcalc {

namespace {

constexpr std::array<std::pair<std::string_view, TensorPlace>, 158> known_words{{
    {"inv_freq", TensorPlace::buffer},
    {"masked_bias", TensorPlace::buffer},
    {"position_ids", TensorPlace::buffer},
    {"tid2eid", TensorPlace::buffer},
    {"ffn_gate_tid2eid", TensorPlace::buffer},
    {"rope_freqs", TensorPlace::rotary},
    {"rope_factors_long", TensorPlace::rotary},
    {"rope_factors_short", TensorPlace::rotary},
    {"vision_tower", TensorPlace::vision},
    {"vision_model", TensorPlace::vision},
    {"vision_backbone", TensorPlace::vision},
    {"visual", TensorPlace::vision},
    {"multi_modal_projector", TensorPlace::vision},
    {"mm_projector", TensorPlace::vision},
    {"embed_vision", TensorPlace::vision},
    {"embed_audio", TensorPlace::vision},
    {"audio_tower", TensorPlace::vision},
    {"vision_embed_tokens", TensorPlace::vision},
    {"vision_encoder", TensorPlace::vision},
    {"aligner", TensorPlace::vision},
    {"audio_encoder", TensorPlace::vision},
    {"speech_encoder", TensorPlace::vision},
    {"image_newline", TensorPlace::vision},
    {"sam_model", TensorPlace::vision},
    {"patch_merger", TensorPlace::vision},
    {"merger", TensorPlace::vision},
    {"img_projection", TensorPlace::vision},
    {"vit", TensorPlace::vision},
    {"vpm", TensorPlace::vision},
    {"resampler", TensorPlace::vision},
    {"mtp", TensorPlace::prediction},
    {"nextn", TensorPlace::prediction},
    {"mtp_layers", TensorPlace::prediction},
    {"mtp_block", TensorPlace::prediction},
    {"mtp_linear_proj", TensorPlace::prediction},
    {"mtp_emb_norm", TensorPlace::prediction},
    {"mtp_hidden_norm", TensorPlace::prediction},
    {"ln_1", TensorPlace::norm},
    {"ln_2", TensorPlace::norm},
    {"ln_f", TensorPlace::norm},
    {"ln_attn", TensorPlace::norm},
    {"ln_mlp", TensorPlace::norm},
    {"attn_ln", TensorPlace::norm},
    {"mlp_ln", TensorPlace::norm},
    {"layer_scalar", TensorPlace::norm},
    {"layer_output_scale", TensorPlace::norm},
    {"altup", TensorPlace::norm},
    {"ln1", TensorPlace::norm},
    {"ln2", TensorPlace::norm},
    {"ln_x", TensorPlace::norm},
    {"ln_out", TensorPlace::norm},
    {"pre_ln", TensorPlace::norm},
    {"q_weight", TensorPlace::norm},  // norms of PLaMo 2's queries and keys
    {"k_weight", TensorPlace::norm},
    {"k_k", TensorPlace::norm},  // RWKV-7's scale of the removed keys, counted as a norm
    {"time_mix_k_k", TensorPlace::norm},
    {"router", TensorPlace::router},
    {"gate", TensorPlace::router},
    {"shared_expert_gate", TensorPlace::router},
    {"e_score_correction_bias", TensorPlace::router},
    {"ffn_gate_inp", TensorPlace::router},
    {"ffn_gate_inp_shexp", TensorPlace::router},
    {"exp_probs_b", TensorPlace::router},
    {"router_bias", TensorPlace::router},
    {"expert_bias", TensorPlace::router},
    {"shared_expert", TensorPlace::shared_experts},
    {"shared_experts", TensorPlace::shared_experts},
    {"shared_mlp", TensorPlace::shared_experts},
    {"share_expert", TensorPlace::shared_experts},
    {"experts", TensorPlace::experts},
    {"block_sparse_moe", TensorPlace::experts},
    {"moe", TensorPlace::experts},
    {"wpe", TensorPlace::position},
    {"embed_positions", TensorPlace::position},
    {"position_embeddings", TensorPlace::position},
    {"position_embd", TensorPlace::position},
    {"relative_attention_bias", TensorPlace::position},
    {"attn_rel_b", TensorPlace::position},
    {"embed_tokens", TensorPlace::embedding},
    {"wte", TensorPlace::embedding},
    {"word_embeddings", TensorPlace::embedding},
    {"tok_embeddings", TensorPlace::embedding},
    {"embed_in", TensorPlace::embedding},
    {"token_embd", TensorPlace::embedding},
    {"token_types", TensorPlace::embedding},
    {"project_in", TensorPlace::embedding},
    {"project_out", TensorPlace::embedding},
    {"embed", TensorPlace::embedding},
    {"embeddings", TensorPlace::embedding},
    {"embed_tokens_per_layer", TensorPlace::embedding},
    {"per_layer_model_projection", TensorPlace::embedding},
    {"per_layer_token_embd", TensorPlace::embedding},
    {"per_layer_model_proj", TensorPlace::embedding},
    {"altup_projections", TensorPlace::embedding},
    {"embedding_hidden_mapping_in", TensorPlace::embedding},
    {"embeddings_project", TensorPlace::embedding},
    {"altup_proj", TensorPlace::embedding},
    {"token_type_embeddings", TensorPlace::embedding},
    {"lm_head", TensorPlace::lm_head},
    {"embed_out", TensorPlace::lm_head},
    {"output_layer", TensorPlace::lm_head},
    {"altup_unembed_projections", TensorPlace::lm_head},
    {"altup_unembd_proj", TensorPlace::lm_head},
    {"pooler", TensorPlace::lm_head},
    {"predictions", TensorPlace::lm_head},  // in ALBERT; BERT has "cls.predictions"
    {"early_exit_gate", TensorPlace::lm_head},
    {"cls", TensorPlace::lm_head},
    {"vocab_transform", TensorPlace::lm_head},
    {"vocab_projector", TensorPlace::lm_head},
    {"up_proj", TensorPlace::mlp_of_mixer},
    {"down_proj", TensorPlace::mlp_of_mixer},
    {"gate_proj", TensorPlace::mlp_of_mixer},
    {"fc1_latent_proj", TensorPlace::mlp_of_mixer},
    {"fc2_latent_proj", TensorPlace::mlp_of_mixer},
    {"self_attn", TensorPlace::attention},
    {"attn", TensorPlace::attention},
    {"attention", TensorPlace::attention},
    {"self_attention", TensorPlace::attention},
    {"linear_attn", TensorPlace::attention},
    {"mamba", TensorPlace::attention},
    {"temporal_block", TensorPlace::attention},
    {"mlstm_layer", TensorPlace::attention},
    {"mixer", TensorPlace::attention},
    {"short_conv", TensorPlace::attention},
    {"conv", TensorPlace::attention},
    {"q_proj", TensorPlace::attention},
    {"k_proj", TensorPlace::attention},
    {"v_proj", TensorPlace::attention},
    {"o_proj", TensorPlace::attention},
    {"selfattention", TensorPlace::attention},
    {"encdecattention", TensorPlace::attention},
    {"indexer", TensorPlace::attention},
    {"compressor", TensorPlace::attention},
    {"mlp", TensorPlace::mlp},
    {"mlp_block", TensorPlace::mlp},
    {"feed_forward", TensorPlace::mlp},
    {"ffn", TensorPlace::mlp},
    {"fc1", TensorPlace::mlp},
    {"fc2", TensorPlace::mlp},
    {"w1", TensorPlace::mlp},
    {"w2", TensorPlace::mlp},
    {"w3", TensorPlace::mlp},
    {"c_fc", TensorPlace::mlp},
    {"dense_h_to_4h", TensorPlace::mlp},
    {"dense_4h_to_h", TensorPlace::mlp},
    {"densereludense", TensorPlace::mlp},
    {"intermediate", TensorPlace::mlp},
    {"per_layer_input_gate", TensorPlace::mlp},
    {"per_layer_projection", TensorPlace::mlp},
    {"inp_gate", TensorPlace::mlp},
    {"proj", TensorPlace::mlp},
    {"laurel", TensorPlace::mlp},
    {"laurel_l", TensorPlace::mlp},
    {"laurel_r", TensorPlace::mlp},
    {"score", TensorPlace::other_head},
    {"classifier", TensorPlace::other_head},
    {"qa_outputs", TensorPlace::other_head},
    {"v_head", TensorPlace::other_head},
}};

/// Places by prefix of a word. DeepSeek-V4 has weights for its residual streams around every sub-layer, and at the
/// end.
constexpr std::array<std::pair<std::string_view, TensorPlace>, 12> begins{{
    {"hc_head", TensorPlace::lm_head},
    {"output_hc", TensorPlace::lm_head},
    {"hc_", TensorPlace::norm},
    {"altup_", TensorPlace::norm},
    {"attn_", TensorPlace::attention},
    {"cross_attn", TensorPlace::attention},
    {"ssm_", TensorPlace::attention},
    {"indexer", TensorPlace::attention},
    {"shortconv", TensorPlace::attention},
    {"time_mix", TensorPlace::attention},
    {"ffn_", TensorPlace::mlp},
    {"channel_mix", TensorPlace::mlp},
}};
constexpr std::array<std::pair<std::string_view, TensorPlace>, 2> word_ends{{
    {"_shexp", TensorPlace::shared_experts},
    {"_exps", TensorPlace::experts},
}};

}  // namespace

TensorPlace place_of(const std::string& segment) {
  static const std::unordered_map<std::string_view, TensorPlace> known(known_words.begin(), known_words.end());
  if (const auto at = known.find(segment); at != known.end()) return at->second;
  if (segment.find("norm") != std::string::npos || segment == "time_mix_ln") return TensorPlace::norm;
  for (const auto& [end, place] : word_ends)
    if (segment.ends_with(end)) return place;
  for (const auto& [begin, place] : begins)
    if (segment.starts_with(begin)) return place;
  return TensorPlace::unknown;
}

TensorPlace place_of_first(const std::string& segment) {
  if (segment == "v" || segment == "mm") return TensorPlace::vision;
  if (segment == "shared") return TensorPlace::embedding;
  return segment == "output" || segment == "head" ? TensorPlace::lm_head : TensorPlace::unknown;
}

}  // namespace llmcalc
