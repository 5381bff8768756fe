#pragma once
/// Families of models, built from a config as in each family's modeling code. There is one function per config class.
/// The files in this folder group these functions by ancestry and cite the source of each rule ("hf": repository
/// huggingface/transformers, src/transformers/models; "hub": modeling code in a checkpoint's repository).

#include <string_view>
#include <vector>

#include "presets/import/config.hpp"
#include "presets/import/layer_lists.hpp"

namespace llmcalc::import {

struct Family {
  std::string_view model_types;  ///< model_types of the family, separated by spaces
  Arch (*arch)(const Config& config, const Defaults& defaults);
  Defaults defaults;  ///< layers, hidden, heads, kv_heads, head_dim, mlp, vocabulary, context, tied
};

/// Families defined in each file of this folder.
std::vector<Family> llama_families();
std::vector<Family> hunyuan_families();
std::vector<Family> gpt_families();
std::vector<Family> falcon_families();
std::vector<Family> gemma_families();
std::vector<Family> cohere_families();
std::vector<Family> olmo_families();
std::vector<Family> phi_families();
std::vector<Family> stablelm_families();
std::vector<Family> qwen_families();
std::vector<Family> deepseek_families();
std::vector<Family> bailing_families();
std::vector<Family> glm_families();
std::vector<Family> mixtral_families();
std::vector<Family> laguna_families();
std::vector<Family> ernie_families();
std::vector<Family> llama4_families();
std::vector<Family> minimax_families();
std::vector<Family> mimo_families();
std::vector<Family> delta_families();
std::vector<Family> mamba_families();
std::vector<Family> nemotron_nas_families();
std::vector<Family> rwkv_families();
std::vector<Family> plamo_families();
std::vector<Family> xlstm_families();
std::vector<Family> griffin_families();
std::vector<Family> lfm_families();
std::vector<Family> deepseek_v4_families();
std::vector<Family> encoder_families();
std::vector<Family> diffusion_families();
/// Whether "architectures" names T5's encoder without its decoder and head (T5EncoderModel).
bool names_encoder_alone(const Config& c);
/// Whether "architectures" names a class with label logits instead of token logits (LlamaForSequenceClassification,
/// Qwen2ForRewardModel).
bool names_labels(const Config& c);

/// Sets multi-head latent attention. Queries have no low-rank projection if q_lora_rank is null or 0.
/// `attention_bias` adds biases to the two down-projections and to o. `defaults`: widths used if no key states them.
void latent_attention(const Config& config, Arch& arch, const Latent& defaults);

/// MTP modules that published checkpoints contain but that are outside the model and excluded from all counts.
struct UncountedModules {
  Count modules = 0;
  Count parameters = 0;   ///< parameters per module; 0: unknown
  bool if_named = false;  ///< whether the modules count if the config states num_nextn_predict_layers
};
UncountedModules uncounted_modules(const Config& config, const Arch& arch);

/// Whether an ERNIE text config also describes image experts.
bool has_image_experts(const Config& text);

/// Sets the windows of Granite models with sinks, in the layers that layer_types marks or, without it, in all layers
/// except every fourth, starting with the first.
void set_granite_windows(const Config& config, Arch& arch);

/// Layers with experts in Qwen models: every decoder_sparse_step-th layer, except mlp_only_layers.
LayerSet sparse_layers(const Config& config, const Arch& arch);

}  // namespace llmcalc::import
