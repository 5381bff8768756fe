#pragma once
/// Models as each family's modelling code builds them from a config. One function per config class; the files next to
/// it group them by descent and state the rules with their source ("hf" is the repository huggingface/transformers,
/// src/transformers/models; "hub" is the modelling code that a checkpoint carries).

#include <string_view>
#include <vector>

#include "presets/import/config.hpp"
#include "presets/import/layer_lists.hpp"

namespace llmcalc::import {

struct Family {
  std::string_view model_types;  ///< with a space between them
  Arch (*arch)(const Config& config, const Defaults& defaults);
  Defaults defaults;  ///< layers, hidden, heads, kv_heads, head_dim, mlp, vocabulary, context, tied
};

/// Each file's families.
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
/// Whether "architectures" names a class that is T5's encoder without its decoder and head (T5EncoderModel).
bool names_encoder_alone(const Config& c);
/// Whether it names a class with logits of labels in place of tokens (LlamaForSequenceClassification,
/// Qwen2ForRewardModel).
bool names_labels(const Config& c);

/// Gives the model multi-head latent attention: q_lora_rank null or 0 means queries without a low rank.
/// `attention_bias` is the bias of the two down projections and of o. `defaults`: widths where no key says them.
void latent_attention(const Config& config, Arch& arch, const Latent& defaults);

/// Modules for further tokens (MTP) that published checkpoints hold beside the model and that no count has.
struct UncountedModules {
  Count modules = 0;
  Count parameters = 0;   ///< of each; 0: not known
  bool if_named = false;  ///< they count where num_nextn_predict_layers names them
};
UncountedModules uncounted_modules(const Config& config, const Arch& arch);

/// Whether an ERNIE's text config speaks of experts for images, too.
bool has_image_experts(const Config& text);

/// Windows of the Granites with sinks: where layer_types says so, or in all but every fourth layer, from the first on.
void set_granite_windows(const Config& config, Arch& arch);

/// Every decoder_sparse_step-th layer, less mlp_only_layers: where the Qwens have experts.
LayerSet sparse_layers(const Config& config, const Arch& arch);

}  // namespace llmcalc::import
