#include "presets/import/harmless_keys.hpp"

#include <algorithm>
#include <array>

namespace llmcalc::import {

namespace {

using Text = std::string_view;

/// Names or endings of keys, separated by spaces, and the reason that these keys affect no size.
struct KeyGroup {
  Text why, words;
};

constexpr KeyGroup objects{
    "contains no sizes of the text model",
    "auto_map id2label label2id task_specific_params generation_config rope_scaling rope_parameters "
    "init_config custom_pipelines attn_implementation _attn_implementation"};

constexpr std::array names{
    KeyGroup{"software setting",
             "architectures model_type _name_or_path name_or_path _commit_hash transformers_version auto_map dtype "
             "torch_dtype fp16 bf16 fp32 torchscript return_dict use_return_dict use_cache use_cache_quantization "
             "use_cache_kernel output_attentions output_hidden_states output_past output_router_logits "
             "chunk_size_feed_forward use_bfloat16 tie_encoder_decoder tf_legacy_loss attn_implementation "
             "_attn_implementation _attn_implementation_autoset _attn_implementation_internal attn_mode use_flash_attn "
             "use_flash_attention use_flash_attention_2 use_mamba_kernels use_mambapy fuse_norm fuse_swiglu "
             "fuse_cross_entropy fuse_linear_cross_entropy use_fused_rms_norm use_fused_swiglu use_parallel_embedding "
             "use_logits_to_keep num_logits_to_keep experts_implementation ep_size pretraining_tp init_device verbose "
             "seed onnx_safe trust_remote_code use_unsloth unsloth_fixed slow_but_exact masked_softmax_fusion "
             "reorder_and_upcast_attn kernel_config softmax_in_fp32 attention_softmax_in_fp32 residual_in_fp32 "
             "apply_query_key_layer_scaling fp32_residual_connection use_cuda_graph dense_seq_output use_xentropy "
             "enable_lm_head_fp32 use_grouped_mm deterministic_flash_attn tie_weights_ reference_compile"},
    KeyGroup{"sampling setting",
             "max_length min_length max_new_tokens do_sample early_stopping num_beams num_beam_groups "
             "diversity_penalty temperature top_k top_p typical_p repetition_penalty length_penalty "
             "no_repeat_ngram_size encoder_no_repeat_ngram_size bad_words_ids num_return_sequences output_scores "
             "return_dict_in_generate remove_invalid_values exponential_decay_length_penalty suppress_tokens "
             "begin_suppress_tokens prefix chat_format"},
    KeyGroup{"classifier head",
             "finetuning_task num_labels problem_type classifier_pooling classifier_activation classifier_bias "
             "summary_type summary_use_proj summary_activation summary_proj_to_labels summary_first_dropout "
             "summary_last_dropout pooler_fc_size pooler_num_attention_heads pooler_num_fc_layers pooler_size_per_head "
             "pooler_type directionality"},
    KeyGroup{"tokenizer setting",
             "tokenizer_class tokenizer_name tokenizer_type tokenizer_model additional_special_tokens"},
    KeyGroup{"training only; occupies no memory",
             "initializer_range initializer_factor initializer_std init_std init_method init_fn init_cutoff_factor "
             "initializer_cutoff_factor gradient_checkpointing layerdrop moe_jitter_eps router_jitter_noise "
             "moe_router_jitter_noise seq_aux aux_loss_alpha moe_aux_loss_coeff moe_capacity expert_capacity "
             "expert_capacity_factor moe_router_load_balancing_type router_bias_update_speed embedding_fraction "
             "block_use_xavier_init conv_use_xavier_init block_out_init_scale time_step_min time_step_max "
             "time_step_floor time_step_limit time_step_init_scheme time_step_scale"},
    KeyGroup{"rotary embeddings have no parameters",
             "rope_theta rope_type rope_base rope_ratio rope_scale rope_scaling rope_parameters rope_interleave "
             "rope_interleaved rope_local_base_freq global_rope_theta local_rope_theta rope_thetas rope_full_precision "
             "rotary_scaling_factor swa_rope_theta original_rope rotary_base rotary_dim rotary_pct rotary_emb_base "
             "rotary_emb_dim rotary_emb_fraction rotary_emb_interleaved rotary_emb_scale_base partial_rotary_factor "
             "use_dynamic_ntk use_logn_attn no_rope_layers no_rope_layer_interval original_max_position_embeddings "
             "relative_attention_max_distance position_embedding_type initial_context_length max_trained_positions "
             "max_window_layers alibi_bias_max"},
    KeyGroup{"expert routing, not the number of experts",
             "norm_topk_prob routed_scaling_factor topk_group n_group topk_method scoring_func score_func "
             "score_function moe_renormalize use_grouped_topk moe_router_score_function moe_normalize_expert_weights "
             "moe_norm_min moe_router_dtype router_dtype route_norm route_scale is_moe normalize_expert_weights"},
    KeyGroup{"scaling factor or limit",
             "query_pre_attn_scalar scale_emb scale_depth dim_model_base mup_enabled mup_denominator "
             "router_scaling_factor router_logit_softcapping embedding_multiplier_scale output_multiplier_scale "
             "swiglu_limits swiglu_limits_shared final_logit_softcapping attn_logit_softcapping logit_softcapping "
             "logit_scale logits_scaling scale_attn_weights scale_attn_by_inverse_layer_idx scale_embedding "
             "attention_value_scale normalize_attention_scores embedding_multiplier residual_multiplier "
             "attention_multiplier lm_head_multiplier key_multiplier attention_in_multiplier attention_out_multiplier "
             "mlp_multipliers ssm_multipliers ssm_in_multiplier ssm_out_multiplier swiglu_limit swiglu_alpha "
             "activation_situ_beta activation_situ_linear_beta norm_head lm_head use_bidirectional_attention "
             "attn_temperature_len scalable_attention "
             "lightning_scale"},
    KeyGroup{"not part of the text model",
             "image_seq_length mm_tokens_per_image vision_soft_tokens_per_image image_grid_pinpoints "
             "candidate_resolutions vision_feature_layer vision_feature_select_strategy process_image_mode "
             "projector_hidden_act image_placeholder video_placeholder audio_placeholder ignore_index tile_tag "
             "global_view_pos use_unified_vision_chunk min_dynamic_patch max_dynamic_patch dynamic_image_size "
             "use_thumbnail force_image_size pad2square template image_aspect_ratio select_layer use_backbone_lora "
             "use_llm_lora position_id_per_seconds seconds_per_chunk"}};

constexpr std::array ends{
    KeyGroup{"tokenizer setting", "_token_id _token_ids _token_index _token_idx"},
    KeyGroup{"norm epsilon affects no size", "_eps _epsilon"},
    KeyGroup{"training only; occupies no memory",
             "dropout _pdrop dropout_prob dropout_rate drop_path_rate _dropout_p _loss_coef _loss_coeff _loss_weight"}};

/// Whether `match` returns true for any word in the list.
template <typename Match>
bool any_word(Text words, const Match& match) {
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    if (match(words.substr(at, end - at))) return true;
    at = end + 1;
  }
  return false;
}

/// Whether the value lists only layer types that every family supports.
bool lists_usual_layers(Text key, const json::Value& v) {
  return key == "layer_types" && v.is_array() && std::all_of(v.begin(), v.end(), [](const json::Value& one) {
           return one == "full_attention" || one == "sliding_attention" || one == "attention";
         });
}

/// Whether the key's value disables the window.
bool is_no_window(Text key, const json::Value& v) { return key.starts_with("sliding_window") && v == -1; }

/// Whether the value is a token written as a string, such as "image_token": "<image>".
bool is_token(Text key, const json::Value& v) { return v.is_string() && key.ends_with("_token"); }

}  // namespace

Text harmless_reason(Text key, const json::Value& v) {
  const auto is_key = [&](Text word) { return word == key; };
  if (v.is_object()) return any_word(objects.words, is_key) ? objects.why : "";
  for (const KeyGroup& g : names)
    if (any_word(g.words, is_key)) return g.why;
  for (const KeyGroup& g : ends)
    if (any_word(g.words, [&](Text end) { return key.ends_with(end); })) return g.why;
  if (lists_usual_layers(key, v)) return "only common layer types";
  if (is_no_window(key, v)) return "no window";
  return is_token(key, v) ? "tokenizer setting" : "";
}

}  // namespace llmcalc::import
