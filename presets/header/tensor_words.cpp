#include "presets/header/tensor_words.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace llmcalc {

namespace {

constexpr std::array<std::pair<std::string_view, Place>, 158> known_words{{
    {"inv_freq", Place::buffer},
    {"masked_bias", Place::buffer},
    {"position_ids", Place::buffer},
    {"tid2eid", Place::buffer},
    {"ffn_gate_tid2eid", Place::buffer},
    {"rope_freqs", Place::rotary},
    {"rope_factors_long", Place::rotary},
    {"rope_factors_short", Place::rotary},
    {"vision_tower", Place::vision},
    {"vision_model", Place::vision},
    {"vision_backbone", Place::vision},
    {"visual", Place::vision},
    {"multi_modal_projector", Place::vision},
    {"mm_projector", Place::vision},
    {"embed_vision", Place::vision},
    {"embed_audio", Place::vision},
    {"audio_tower", Place::vision},
    {"vision_embed_tokens", Place::vision},
    {"vision_encoder", Place::vision},
    {"aligner", Place::vision},
    {"audio_encoder", Place::vision},
    {"speech_encoder", Place::vision},
    {"image_newline", Place::vision},
    {"sam_model", Place::vision},
    {"patch_merger", Place::vision},
    {"merger", Place::vision},
    {"img_projection", Place::vision},
    {"vit", Place::vision},
    {"vpm", Place::vision},
    {"resampler", Place::vision},
    {"mtp", Place::prediction},
    {"nextn", Place::prediction},
    {"mtp_layers", Place::prediction},
    {"mtp_block", Place::prediction},
    {"mtp_linear_proj", Place::prediction},
    {"mtp_emb_norm", Place::prediction},
    {"mtp_hidden_norm", Place::prediction},
    {"ln_1", Place::norm},
    {"ln_2", Place::norm},
    {"ln_f", Place::norm},
    {"ln_attn", Place::norm},
    {"ln_mlp", Place::norm},
    {"attn_ln", Place::norm},
    {"mlp_ln", Place::norm},
    {"layer_scalar", Place::norm},
    {"layer_output_scale", Place::norm},
    {"altup", Place::norm},
    {"ln1", Place::norm},
    {"ln2", Place::norm},
    {"ln_x", Place::norm},
    {"ln_out", Place::norm},
    {"pre_ln", Place::norm},
    {"q_weight", Place::norm},  // of PLaMo 2's queries and keys
    {"k_weight", Place::norm},
    {"k_k", Place::norm},  // of RWKV-7: a norm of the removed keys, as the engine has it
    {"time_mix_k_k", Place::norm},
    {"router", Place::router},
    {"gate", Place::router},
    {"shared_expert_gate", Place::router},
    {"e_score_correction_bias", Place::router},
    {"ffn_gate_inp", Place::router},
    {"ffn_gate_inp_shexp", Place::router},
    {"exp_probs_b", Place::router},
    {"router_bias", Place::router},
    {"expert_bias", Place::router},
    {"shared_expert", Place::shared_experts},
    {"shared_experts", Place::shared_experts},
    {"shared_mlp", Place::shared_experts},
    {"share_expert", Place::shared_experts},
    {"experts", Place::experts},
    {"block_sparse_moe", Place::experts},
    {"moe", Place::experts},
    {"wpe", Place::position},
    {"embed_positions", Place::position},
    {"position_embeddings", Place::position},
    {"position_embd", Place::position},
    {"relative_attention_bias", Place::position},
    {"attn_rel_b", Place::position},
    {"embed_tokens", Place::embedding},
    {"wte", Place::embedding},
    {"word_embeddings", Place::embedding},
    {"tok_embeddings", Place::embedding},
    {"embed_in", Place::embedding},
    {"token_embd", Place::embedding},
    {"token_types", Place::embedding},
    {"project_in", Place::embedding},
    {"project_out", Place::embedding},
    {"embed", Place::embedding},
    {"embeddings", Place::embedding},
    {"embed_tokens_per_layer", Place::embedding},
    {"per_layer_model_projection", Place::embedding},
    {"per_layer_token_embd", Place::embedding},
    {"per_layer_model_proj", Place::embedding},
    {"altup_projections", Place::embedding},
    {"embedding_hidden_mapping_in", Place::embedding},
    {"embeddings_project", Place::embedding},
    {"altup_proj", Place::embedding},
    {"token_type_embeddings", Place::embedding},
    {"lm_head", Place::lm_head},
    {"embed_out", Place::lm_head},
    {"output_layer", Place::lm_head},
    {"altup_unembed_projections", Place::lm_head},
    {"altup_unembd_proj", Place::lm_head},
    {"pooler", Place::lm_head},
    {"predictions", Place::lm_head},  // ALBERT's, beside "cls.predictions" of BERT
    {"early_exit_gate", Place::lm_head},
    {"cls", Place::lm_head},
    {"vocab_transform", Place::lm_head},
    {"vocab_projector", Place::lm_head},
    {"up_proj", Place::mlp_of_mixer},
    {"down_proj", Place::mlp_of_mixer},
    {"gate_proj", Place::mlp_of_mixer},
    {"fc1_latent_proj", Place::mlp_of_mixer},
    {"fc2_latent_proj", Place::mlp_of_mixer},
    {"self_attn", Place::attention},
    {"attn", Place::attention},
    {"attention", Place::attention},
    {"self_attention", Place::attention},
    {"linear_attn", Place::attention},
    {"mamba", Place::attention},
    {"temporal_block", Place::attention},
    {"mlstm_layer", Place::attention},
    {"mixer", Place::attention},
    {"short_conv", Place::attention},
    {"conv", Place::attention},
    {"q_proj", Place::attention},
    {"k_proj", Place::attention},
    {"v_proj", Place::attention},
    {"o_proj", Place::attention},
    {"selfattention", Place::attention},
    {"encdecattention", Place::attention},
    {"indexer", Place::attention},
    {"compressor", Place::attention},
    {"mlp", Place::mlp},
    {"mlp_block", Place::mlp},
    {"feed_forward", Place::mlp},
    {"ffn", Place::mlp},
    {"fc1", Place::mlp},
    {"fc2", Place::mlp},
    {"w1", Place::mlp},
    {"w2", Place::mlp},
    {"w3", Place::mlp},
    {"c_fc", Place::mlp},
    {"dense_h_to_4h", Place::mlp},
    {"dense_4h_to_h", Place::mlp},
    {"densereludense", Place::mlp},
    {"intermediate", Place::mlp},
    {"per_layer_input_gate", Place::mlp},
    {"per_layer_projection", Place::mlp},
    {"inp_gate", Place::mlp},
    {"proj", Place::mlp},
    {"laurel", Place::mlp},
    {"laurel_l", Place::mlp},
    {"laurel_r", Place::mlp},
    {"score", Place::other_head},
    {"classifier", Place::other_head},
    {"qa_outputs", Place::other_head},
    {"v_head", Place::other_head},
}};

/// Begins and ends of words. DeepSeek-V4 weighs its residual streams around every half of a layer, and at the end.
constexpr std::array<std::pair<std::string_view, Place>, 12> begins{{
    {"hc_head", Place::lm_head},
    {"output_hc", Place::lm_head},
    {"hc_", Place::norm},
    {"altup_", Place::norm},
    {"attn_", Place::attention},
    {"cross_attn", Place::attention},
    {"ssm_", Place::attention},
    {"indexer", Place::attention},
    {"shortconv", Place::attention},
    {"time_mix", Place::attention},
    {"ffn_", Place::mlp},
    {"channel_mix", Place::mlp},
}};
constexpr std::array<std::pair<std::string_view, Place>, 2> word_ends{{
    {"_shexp", Place::shared_experts},
    {"_exps", Place::experts},
}};

}  // namespace

Place place_of(const std::string& segment) {
  static const std::unordered_map<std::string_view, Place> known(known_words.begin(), known_words.end());
  if (const auto at = known.find(segment); at != known.end()) return at->second;
  if (segment.find("norm") != std::string::npos || segment == "time_mix_ln") return Place::norm;
  for (const auto& [end, place] : word_ends)
    if (segment.ends_with(end)) return place;
  for (const auto& [begin, place] : begins)
    if (segment.starts_with(begin)) return place;
  return Place::unknown;
}

Place place_of_first(const std::string& segment) {
  if (segment == "v" || segment == "mm") return Place::vision;
  if (segment == "shared") return Place::embedding;
  return segment == "output" || segment == "head" ? Place::lm_head : Place::unknown;
}

}  // namespace llmcalc
