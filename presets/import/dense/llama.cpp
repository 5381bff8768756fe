#include <fmt/format.h>

#include "presets/import/families.hpp"
#include "presets/import/vision/vision.hpp"

namespace llmcalc::import {

namespace {

/// hf llama/modeling_llama.py. `attention_bias` adds biases to q, k, v and o, `mlp_bias` to the MLP's matrices. Untied
/// by default. By default, there are as many KV heads as heads, and the head width is hidden / heads. hub
/// openbmb/MiniCPM-2B-sft-bf16, modeling_minicpm.py, and hf minicpm4/modeling_minicpm4.py: Llama with scalar
/// multipliers. hub Tele-AI/TeleChat3-36B-Thinking and IQuestLab/IQuest-Coder-V1-40B-Instruct: as Llama.
Arch llama(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.mlp_bias = c.flag("mlp_bias", false);
  return a;
}

/// hub facebook/MobileLLM-125M, modeling_mobilellm.py: Llama, tied if share_embedding is set; with layer_sharing, each
/// layer runs twice in succession (arXiv:2402.14905, 3.3).
Arch mobilellm(const Config& c, const Defaults& d) {
  Arch a = llama(c, d);
  a.tied_head = a.tied_head || c.flag("share_embedding", false);
  if (!c.flag("layer_sharing", false)) return a;
  a.layers = mul(2, a.layers);
  require_layers(c, a.layers);
  a.repeats.layers = LayerSet::every(1, 2, a.layers);
  return a;
}

/// hub ByteDance/Ouro-1.4B, modeling_ouro.py: Llama without biases, with norms before and after both sub-layers. All
/// layers run total_ut_steps (4) times with the same weights, each time with separate keys and values in the cache;
/// the final norm follows every run. After each run, a gate with bias decides whether to stop; if
/// early_exit_threshold is 1, the model never stops early. Excludes the gates of all runs but the last and, in
/// training, the logits of these runs.
Arch ouro(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  if (c.flag("use_sliding_window", false) || layers_of_type(c, a, "sliding_attention").value_or(LayerSet()).size() > 0)
    c.refuse("\"use_sliding_window\" or \"layer_types\" sets a sliding window, but Ouro is supported only without one");
  c.ignore({"sliding_window", "max_window_layers", "early_exit_threshold", "early_exit_step", "chunk_size"});
  a.norm_placement = NormPlacement::both;
  a.norms_per_layer = 4;
  a.head.exit_gate = true;
  const Count runs = c.size("total_ut_steps", 4), once = a.layers;
  if (runs == 1) return a;
  a.layers = mul(runs, once);
  require_layers(c, a.layers);
  a.repeats = {once, LayerSet::every(once, 1, a.layers), true};
  return a;
}

/// hf mistral/modeling_mistral.py. No biases. Every layer has a window, by default of 4096 tokens, unless
/// sliding_window is null. A null key therefore differs from an absent key.
Arch mistral(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  const Count window = c.is_null("sliding_window") ? 0 : c.count("sliding_window", 4096);
  set_reach(a, {window}, layers_of_type(c, a, "sliding_attention").value_or(LayerSet::all(a.layers)));
  return a;
}

/// hf ministral3/modeling_ministral3.py: Mistral without a window unless the config sets one; RoPE in rope_parameters.
Arch ministral3(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  set_reach(a, {c.has("sliding_window") ? c.count("sliding_window", 0) : 0}, LayerSet::all(a.layers));
  return a;
}

/// hf granite/modeling_granite.py: Llama with scalar multipliers, which are not parameters.
Arch granite(const Config& c, const Defaults& d) {
  c.ignore({"attention_multiplier", "embedding_multiplier", "logits_scaling", "residual_multiplier"});
  return llama(c, d);
}

/// hf hyperclovax/modeling_hyperclovax.py: Granite; with use_post_norm, norms before and after each sub-layer.
Arch hyperclovax(const Config& c, const Defaults& d) {
  Arch a = granite(c, d);
  if (!c.flag("use_post_norm", true)) return a;
  a.norm_placement = NormPlacement::both;
  a.norms_per_layer = 4;
  return a;
}

/// hf granite_swa/modeling_granite_swa.py: Granite with a sink per head; all layers except every fourth, starting
/// with the first, have a sliding window. Layers without RoPE (layer_rope_theta) do not affect parameter counts.
Arch granite_swa(const Config& c, const Defaults& d) {
  Arch a = granite(c, d);
  a.attention_sinks = true;
  set_granite_windows(c, a);
  return a;
}

/// hub internlm/internlm-7b, modeling_internlm.py and internlm/internlm2-7b, modeling_internlm2.py: Llama with `bias`
/// (default true) on q, k, v and o, and an MLP without biases. hub FreedomIntelligence/openPangu-Embedded-7B,
/// modeling_openpangu_dense.py: as InternLM.
Arch internlm(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qkv_bias = a.attention_out_bias = c.flag("bias", true);
  return a;
}

/// hub internlm/internlm3-8b-instruct, modeling_internlm3.py: `qkv_bias` applies to q, k, v; `bias` to o and the MLP.
Arch internlm3(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qkv_bias = c.flag("qkv_bias", false);
  a.attention_out_bias = a.mlp_bias = c.flag("bias", false);
  return a;
}

/// hub baichuan-inc, modeling_baichuan.py: Llama without biases; the head's rows are normalized, without parameters.
/// The 7B models have RoPE and state max_position_embeddings; the 13B models have ALiBi and state only
/// model_max_length.
Arch baichuan(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  const bool rope = c.has("max_position_embeddings") || a.hidden == 4096;
  a.position = rope ? Position::rope : Position::alibi;
  a.context = c.first_size({"max_position_embeddings", "model_max_length"}, a.context);
  return a;
}

/// hf smollm3/modeling_smollm3.py: Llama, tied by default. Layers without RoPE (no_rope_layers) do not affect
/// parameter counts. With use_sliding_window, only these layers have a window.
Arch smollm3(const Config& c, const Defaults& d) {
  Arch a = llama(c, d);
  const Count interval = c.size("no_rope_layer_interval", 4);
  const auto typed = layers_of_type(c, a, "sliding_attention");
  if (!c.flag("use_sliding_window", false)) return a;
  set_reach(a, {c.count("sliding_window", 0)}, typed.value_or(LayerSet::every(interval - 1, interval, a.layers)));
  return a;
}

/// hf seed_oss/modeling_seed_oss.py: by default, biases on q, k, v (attention_bias), but not on o (attention_out_bias).
Arch seed_oss(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qkv_bias = c.flag("attention_bias", true);
  a.attention_out_bias = c.flag("attention_out_bias", false);
  a.mlp_bias = c.flag("mlp_bias", false);
  return a;
}

/// hf arcee/modeling_arcee.py: Llama with a plain MLP (up, down) of squared ReLU.
Arch arcee(const Config& c, const Defaults& d) {
  Arch a = llama(c, d);
  a.mlp = MlpKind::plain;
  a.activation = activation(c, {"hidden_act"}, "relu2");
  return a;
}

/// hf bitnet/modeling_bitnet.py: Llama with a gated MLP of squared ReLU without biases, and RMSNorms before attention's
/// and the MLP's last matrix (attn_sub_norm, ffn_sub_norm).
Arch bitnet_b158(const Config& c, const Defaults& d) {
  Arch a = llama(c, d);
  a.mlp_bias = false;
  a.activation = activation(c, {"hidden_act"}, "relu2");
  a.sub_norms = true;
  return a;
}

/// hf apertus/modeling_apertus.py: a plain MLP without bias and with xIELU, which has two learned scalars per layer
/// (beta and eps are buffers). RMSNorms of the head width on q and k, regardless of the config.
Arch apertus(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  c.ignore({"qk_norm", "post_norm", "mlp_bias"});
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.qk_norm = QkNorm::per_head;
  a.mlp = MlpKind::plain;
  a.activation = activation(c, {"hidden_act"}, "xielu");
  return a;
}

/// hf ernie4_5/modeling_ernie4_5.py and paddleocr_vl/modeling_paddleocr_vl.py: `use_bias` applies to every projection,
/// including the MLP's; tied by default.
Arch ernie4_5(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qkv_bias = a.attention_out_bias = a.mlp_bias = c.flag("use_bias", false);
  return a;
}

/// hub LGAI-EXAONE/EXAONE-3.0-7.8B-Instruct, modeling_exaone.py: Llama without biases, with other key names; the
/// MLP's default width is 4 x hidden; tied by default.
Arch exaone(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  if (a.mlp_width == 0) a.mlp_width = mul(4, a.hidden);
  a.activation = activation(c, {"activation_function"}, "silu");
  return a;
}

/// Layers marked L in a repeated pattern such as "LLLG"; if sliding_window_pattern is a number n, all layers except
/// every n-th.
LayerSet local_layers(const Config& c, Count layers) {
  const json::Value* pattern = c.find("sliding_window_pattern");
  if (pattern == nullptr || !pattern->is_string()) {
    const Count step = c.size("sliding_window_pattern", 4);
    return others(LayerSet::every(step - 1, step, layers), layers);
  }
  const std::string letters = c.text("sliding_window_pattern", "");
  if (letters.empty())
    c.refuse("\"sliding_window_pattern\": expected letters L and G or a number, got an empty string");
  LayerSet set;
  for (Count i = 0; i < layers; ++i)
    if (letters[static_cast<std::size_t>(i) % letters.size()] == 'L') set.insert(i);
  return set;
}

/// hf exaone4/modeling_exaone4.py: norms on the output of each sub-layer, RMSNorms of the head width on q and k, no
/// biases; if the config sets a window, three of every four layers have it (the 1.2B model omits the key and has no
/// window).
Arch exaone4(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.norm_placement = NormPlacement::output;
  a.qk_norm = QkNorm::per_head;
  const Count window = c.has("sliding_window") ? c.count("sliding_window", 0) : 0;
  const auto typed = layers_of_type(c, a, "sliding_attention");
  c.ignore({"mtp_loss_scaling_factor", "mtp_share_layers", "sliding_window_pattern"});  // layer_types takes precedence
  if (window > 0) set_reach(a, {window}, typed ? *typed : local_layers(c, a.layers));
  return a;
}

/// Layers with experts: those marked "sparse" in mlp_layer_types, those marked in is_moe_layer, or all layers from
/// first_k_dense_replace on.
LayerSet exaone_sparse_layers(const Config& c, const Arch& a) {
  const Count first = c.count("first_k_dense_replace", c.count("first_last_k_dense_replace", 1));
  const json::Value* marks = c.find("is_moe_layer");
  if (const auto typed = sparse_typed(c, a)) return *typed;
  if (marks == nullptr || marks->is_null()) return LayerSet::every(first, 1, a.layers);
  if (!marks->is_array() || static_cast<Count>(marks->size()) != a.layers)
    c.refuse(fmt::format("\"is_moe_layer\": expected a list with one true or false per layer ({})", a.layers));
  LayerSet set;
  for (Count i = 0; i < a.layers; ++i) {
    const json::Value& mark = (*marks)[static_cast<std::size_t>(i)];
    if (!mark.is_boolean()) c.refuse("\"is_moe_layer\": expected true or false, got " + mark.dump());
    if (mark.get<bool>()) set.insert(i);
  }
  return set;
}

/// hf exaone_moe/modeling_exaone_moe.py: norms before each sub-layer, RMSNorms of the head width on q and k, no
/// biases; num_shared_experts fused into one MLP; the load-balancing bias is a buffer. Three of every four layers
/// have a sliding window and RoPE; the others have neither.
Arch exaone_moe(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qk_norm = QkNorm::per_head;
  const Count window = c.is_null("sliding_window") ? 0 : c.count("sliding_window", 4096);
  const auto typed = layers_of_type(c, a, "sliding_attention");
  c.ignore({"sliding_window_pattern"});
  if (window > 0) set_reach(a, {window}, typed ? *typed : local_layers(c, a.layers));
  const Count shared = c.count("num_shared_experts", 1), width = c.size("moe_intermediate_size", 1024);
  set_experts(a, {.experts = c.size("num_experts", 64),
                  .top_k = c.size("num_experts_per_tok", 8),
                  .width = width,
                  .shared_experts = shared,
                  .shared_width = shared > 0 ? width : 0,
                  .router_correction = true,
                  .layers = exaone_sparse_layers(c, a)});
  return a;
}

/// hub OrionStarAI/Orion-14B-Base, modeling_orion.py: Llama with LayerNorms.
Arch orion(const Config& c, const Defaults& d) {
  Arch a = llama(c, d);
  a.norm = NormKind::layer_norm;
  return a;
}

/// hf cwm/modeling_cwm.py: Llama without attention biases, regardless of the config; all layers except every fourth,
/// starting with the first, have a sliding window.
Arch cwm(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  c.ignore({"attention_bias"});
  a.mlp_bias = c.flag("mlp_bias", false);
  const Count window = c.is_null("sliding_window") ? 0 : c.count("sliding_window", 8192);
  const LayerSet local = others(LayerSet::every(0, 4, a.layers), a.layers);
  set_reach(a, {window}, layers_of_type(c, a, "sliding_attention").value_or(local));
  return a;
}

/// hf helium/modeling_helium.py: Llama with `attention_bias` on q, k and v.
Arch helium(const Config& c, const Defaults& d) {
  Arch a = llama(c, d);
  a.attention_out_bias = false;
  return a;
}

/// hf jais2/modeling_jais2.py: Llama with LayerNorms, a plain MLP of squared ReLU, and biases unless the config
/// disables them.
Arch jais2(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.norm = NormKind::layer_norm;
  a.mlp = MlpKind::plain;
  a.activation = activation(c, {"hidden_act"}, "relu2");
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", true);
  a.mlp_bias = c.flag("mlp_bias", true);
  return a;
}

/// hf nanochat/modeling_nanochat.py: weight-free norms, including norms after the embedding and on q and k; a plain
/// MLP of squared ReLU; `attention_bias` on q, k, v and o.
Arch nanochat(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.norm = NormKind::weight_free;
  a.embedding_norm = true;
  a.qk_norm = QkNorm::weight_free;
  a.mlp = MlpKind::plain;
  a.activation = activation(c, {"hidden_act"}, "relu2");
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", c.flag("qkv_bias", false));
  return a;
}

/// hub pfnet/plamo-13b, modeling_plamo.py: a parallel block with one RMSNorm; n_shared_head heads share keys and
/// values, regardless of num_key_value_heads; no biases.
Arch plamo(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.block = BlockKind::parallel;
  a.norms_per_layer = 1;
  const Count shared = c.size("n_shared_head", 8);
  if (a.heads % shared != 0)
    c.refuse(
        "\"num_attention_heads\" must be a multiple of \"n_shared_head\", the number of heads that share keys and "
        "values");
  a.kv_heads = a.heads / shared;
  return a;
}

/// hf mllama/modeling_mllama.py, the text model: Llama. Some layers (cross_attention_layers) only read images and are
/// skipped if there is no image. They are counted with the encoders, as are 8 additional rows of the token embedding.
Arch mllama(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.layers -= static_cast<Count>(image_layers(c).size());
  return a;
}

}  // namespace

std::vector<Family> llama_families() {
  return {
      {"llama Yi aquila xverse code_llama telechat3 iquestcoder", llama, {32, 4096, 32, 0, 0, 11008, 32000, 2048}},
      {"mobilellm", mobilellm, {32, 4096, 32, 0, 0, 11008, 32000, 2048}},
      {"ouro", ouro, {32, 4096, 32, 32, 0, 22016, 151936, 32768}},
      {"mistral ministral", mistral, {32, 4096, 32, 8, 0, 14336, 32000, 131072}},
      {"granite", granite, {32, 4096, 32, 0, 0, 11008, 32000, 2048}},
      {"hyperclovax", hyperclovax, {32, 4096, 32, 0, 0, 11008, 32000, 2048}},
      {"granite_swa", granite_swa, {24, 2560, 20, 4, 0, 8192, 100352, 8192, true}},
      {"internlm internlm2", internlm, {32, 4096, 32, 0, 0, 11008, 103168, 2048}},
      {"PanguEmbedded", internlm, {34, 4096, 32, 8, 0, 12800, 153376, 32768}},
      {"internlm3", internlm3, {32, 4096, 32, 0, 0, 11008, 128512, 32768}},
      {"baichuan", baichuan, {32, 4096, 32, 0, 0, 11008, 64000, 4096}},
      {"smollm3", smollm3, {36, 2048, 16, 4, 0, 11008, 128256, 32768, true}},
      {"seed_oss", seed_oss, {64, 4096, 80, 8, 128, 27648, 155136, 524288}},
      {"ministral3", ministral3, {34, 4096, 32, 8, 128, 14336, 131072, 262144}},
      {"arcee", arcee, {32, 2560, 32, 0, 0, 18432, 32000, 4096}},
      {"bitnet", bitnet_b158, {30, 2560, 20, 5, 0, 6912, 128256, 2048}},
      {"apertus", apertus, {32, 4096, 32, 0, 0, 14336, 131072, 65536}},
      {"ernie4_5 paddleocr_vl paddleocr_vl_text", ernie4_5, {18, 1024, 16, 2, 128, 3072, 103424, 131072, true}},
      {"exaone", exaone, {32, 2048, 32, 0, 0, 0, 102400, 2048, true}},
      {"exaone4 exaone4_5_text", exaone4, {32, 4096, 32, 0, 0, 16384, 102400, 2048}},
      {"exaone_moe", exaone_moe, {32, 4096, 32, 32, 0, 16384, 102400, 2048}},
      {"orion", orion, {40, 5120, 40, 0, 0, 15360, 84608, 4096}},
      {"cwm", cwm, {64, 6144, 48, 8, 128, 21504, 128256, 131072}},
      {"helium", helium, {24, 2560, 20, 20, 128, 7040, 48000, 4096}},
      {"jais2", jais2, {32, 3328, 26, 0, 0, 26624, 150272, 8192}},
      {"plamo", plamo, {32, 4096, 32, 0, 0, 13312, 32000, 2048}},
      {"mllama_text_model", mllama, {40, 4096, 32, 8, 0, 14336, 128256, 131072}},
      {"minicpm4", llama, {32, 4096, 32, 2, 0, 16384, 73448, 32768, true}},
      {"nanochat", nanochat, {12, 768, 6, 0, 0, 8192, 50304, 2048}},
      {"minicpm", llama, {32, 4096, 32, 0, 0, 11008, 32000, 2048, true}},
  };
}

}  // namespace llmcalc::import
