#include <fmt/format.h>

#include "presets/import/families.hpp"

namespace llmcalc::import {

void latent_attention(const Config& c, Arch& a, const Latent& d) {
  a.attention = AttentionKind::latent;
  a.latent = {.q_rank = c.is_null("q_lora_rank") ? 0 : c.count("q_lora_rank", d.q_rank),
              .kv_rank = c.size("kv_lora_rank", d.kv_rank),
              .nope_dim = c.count("qk_nope_head_dim", d.nope_dim),
              .rope_dim = c.count("qk_rope_head_dim", d.rope_dim),
              .v_dim = c.size("v_head_dim", d.v_dim)};
  a.kv_heads = a.heads;
  a.head_dim = add(a.latent.nope_dim, a.latent.rope_dim);
  for (const char* width : {"qk_head_dim", "q_head_dim"})
    c.require_repeated(width, "\"qk_nope_head_dim\" + \"qk_rope_head_dim\"", a.head_dim);
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
}

namespace {

/// Defaults of a family's config class for its experts.
struct ExpertDefaults {
  Count routed = 0, shared = 0, top_k = 0, width = 0, first_dense = 0;
  bool correction = false;
};

/// Layers with experts: every moe_layer_freq-th layer from first_k_dense_replace on, or the layers marked in
/// mlp_layer_types, which transformers saves instead of these two keys.
LayerSet deepseek_sparse_layers(const Config& c, const Arch& a, Count first_dense) {
  const Count first = c.count("first_k_dense_replace", first_dense), step = c.size("moe_layer_freq", 1);
  LayerSet regular;
  for (Count i = first; i < a.layers; ++i)
    if (i % step == 0) regular.insert(i);
  return sparse_or(c, a, regular, {"first_k_dense_replace", "moe_layer_freq"});
}

/// Sets DeepSeek's mixture of experts. Layers after the first dense ones have n_routed_experts, and n_shared_experts
/// of the same width fused into one MLP; no biases. The load-balancing bias (topk_method noaux_tc) is a buffer. If
/// n_routed_experts is null, all layers are dense.
void deepseek_experts(const Config& c, Arch& a, const ExpertDefaults& d) {
  const LayerSet layers = deepseek_sparse_layers(c, a, d.first_dense);
  const Count width = c.size("moe_intermediate_size", d.width);
  const Count top_k = c.size({"num_experts_per_tok"}, d.top_k);
  const Count shared = c.is_null("n_shared_experts") ? 0 : c.count("n_shared_experts", d.shared);
  const Count routed =
      c.is_null("n_routed_experts") ? 0 : c.size({"n_routed_experts", "num_experts", "num_local_experts"}, d.routed);
  const bool correction = c.text("topk_method", d.correction ? "noaux_tc" : "greedy") == "noaux_tc";
  if (routed == 0) return;
  if (top_k == 0) c.refuse("\"num_experts_per_tok\" is missing; set the number of experts per token");
  set_experts(a, {.experts = routed,
                  .top_k = top_k,
                  .width = width,
                  .shared_experts = shared,
                  .shared_width = shared > 0 ? width : 0,
                  .router_correction = correction,
                  .layers = layers});
}

constexpr Latent deepseek_latent = {.q_rank = 1536, .kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .v_dim = 128};

/// hf deepseek_v2/modeling_deepseek_v2.py. Untied by default. hub deepseek-ai/DeepSeek-OCR, modeling_deepseekv2.py:
/// if `use_mla` is false, attention is Llama's.
Arch deepseek_v2(const Config& c, const Defaults& d) {
  Defaults own = d;
  const bool latent = c.flag("use_mla", true);
  if (!latent) own.head_dim = 0;
  Arch a = base_arch(c, own);
  if (latent)
    latent_attention(c, a, deepseek_latent);
  else
    a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  deepseek_experts(c, a, {.routed = 64, .shared = 2, .width = 1407});
  return a;
}

/// hf deepseek_v3/modeling_deepseek_v3.py; also hub moonshotai/Kimi-K2-Instruct. num_nextn_predict_layers adds MTP
/// modules outside the model (arXiv:2412.19437, 2.2). Files contain copies of the table and head for them.
Arch deepseek_v3(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  latent_attention(c, a, deepseek_latent);
  deepseek_experts(c, a, {.routed = 256, .shared = 1, .top_k = 8, .width = 2048, .first_dense = 3, .correction = true});
  a.mtp = modules_like_last(c, a);
  return a;
}

/// hf sarvam_mla/modular_sarvam_mla.py and hub sarvamai/sarvam-105b: DeepSeek-V3 with other widths and without a
/// low-rank projection of queries. Attention has no query and key norms, regardless of use_qk_norm.
Arch sarvam_mla(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  latent_attention(c, a, {.kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .v_dim = 128});
  c.ignore({"moe_router_enable_expert_bias", "use_qk_norm"});
  deepseek_experts(c, a,
                   {.routed = 128,
                    .shared = c.count("num_shared_experts", 1),
                    .top_k = 8,
                    .width = 2048,
                    .first_dense = 1,
                    .correction = true});
  return a;
}

/// Layers that reuse the selection of the last earlier layer with an indexer: those marked "shared" in indexer_types,
/// those marked S in index_topk_pattern, or all layers except every index_topk_freq-th.
LayerSet layers_without_indexer(const Config& c, const Arch& a) {
  if (const auto shared = layers_of_type(c, a, "shared", "full", "indexer_types", true)) {
    c.ignore({"index_topk_freq", "index_topk_pattern"});  // redundant keys (GLM-5.2)
    return *shared;
  }
  LayerSet set;
  if (c.has("index_topk_pattern")) {
    const std::string pattern = c.text("index_topk_pattern", "");
    if (static_cast<Count>(pattern.size()) < a.layers)
      c.refuse(
          fmt::format("\"index_topk_pattern\": expected one F or S per layer ({}), got {}", a.layers, pattern.size()));
    for (Count i = 0; i < a.layers; ++i)
      if (pattern[static_cast<std::size_t>(i)] == 'S') set.insert(i);
    return set;
  }
  const Count every = c.size("index_topk_freq", 1);
  if (every == 1) {
    c.ignore({"index_skip_topk_offset"});
    return set;
  }
  const Count offset = c.count("index_skip_topk_offset", 2);
  for (Count i = offset; i < a.layers; ++i)
    if ((i - offset + 1) % every != 0) set.insert(i);
  return set;
}

/// Sets DeepSeek sparse attention: a lightning indexer selects the tokens that latent attention reads.
void sparse_attention(const Config& c, Arch& a, Count heads) {
  require_words(c, "layer_types", {"indexed_attention"});
  c.ignore({"indexer_rope_interleave"});
  a.indexer = {.kind = IndexerKind::lightning,
               .heads = c.size("index_n_heads", heads),
               .width = c.size("index_head_dim", 128),
               .top_k = c.size("index_topk", 2048)};
  LayerMixer shared;
  static_cast<Mixer&>(shared) = a;
  shared.indexer.shared = true;
  shared.layers = layers_without_indexer(c, a);
  set_mixer(a, shared);
  while (a.mtp.modules > 0 && shared.layers.contains(a.mtp.mixer_of))
    --a.mtp.mixer_of;  // each MTP module runs an indexer
}

/// hub deepseek-ai/DeepSeek-V3.2, inference/model.py; hf deepseek_v32/: DeepSeek-V3 with sparse attention.
Arch deepseek_v32(const Config& c, const Defaults& d) {
  Arch a = deepseek_v3(c, d);
  sparse_attention(c, a, 64);
  return a;
}

/// hf glm_moe_dsa/modeling_glm_moe_dsa.py: DeepSeek-V3.2, except that GLM-5.2 and later share selections across
/// layers.
Arch glm_moe_dsa(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  latent_attention(c, a, {.q_rank = 2048, .kv_rank = 512, .nope_dim = 192, .rope_dim = 64, .v_dim = 256});
  a.mtp = modules_like_last(c, a);
  sparse_attention(c, a, 32);
  deepseek_experts(c, a, {.routed = 256, .shared = 1, .top_k = 8, .width = 2048, .first_dense = 3, .correction = true});
  return a;
}

/// hub deepseek-ai/deepseek-moe-16b-base, modeling_deepseek.py: Llama's attention with DeepSeek's experts.
Arch deepseek(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  deepseek_experts(c, a, {.width = 1407});
  return a;
}

/// hub openbmb/MiniCPM3-4B, modeling_minicpm.py: dense, with latent attention; value heads have width hidden / heads;
/// tied by default.
Arch minicpm3(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  latent_attention(c, a, {.q_rank = 768, .kv_rank = 256, .nope_dim = 64, .rope_dim = 32, .v_dim = a.hidden / a.heads});
  return a;
}

/// hf youtu/modeling_youtu.py: dense, with DeepSeek-V3's attention; tied by default.
Arch youtu(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  latent_attention(c, a, deepseek_latent);
  return a;
}

/// hf glm4_moe/modeling_glm4_moe.py: grouped attention, `attention_bias` on q, k, v only; `use_qk_norm` adds RMSNorms
/// of the head width on q and k.
Arch glm4_moe(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qkv_bias = c.flag("attention_bias", false);
  if (c.flag("use_qk_norm", false)) a.qk_norm = QkNorm::per_head;
  deepseek_experts(c, a, {.routed = 128, .shared = 1, .top_k = 8, .width = 1408, .first_dense = 1, .correction = true});
  a.mtp = modules_like_last(c, a);
  return a;
}

/// hf glm4_moe_lite/modeling_glm4_moe_lite.py: DeepSeek-V3 with other widths.
Arch glm4_moe_lite(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  latent_attention(c, a, {.q_rank = 768, .kv_rank = 512, .nope_dim = 192, .rope_dim = 64, .v_dim = 256});
  deepseek_experts(c, a, {.routed = 64, .shared = 1, .top_k = 4, .width = 1536, .first_dense = 1, .correction = true});
  a.mtp = modules_like_last(c, a);
  return a;
}

/// hf mistral4/modeling_mistral4.py: DeepSeek-V3's attention and experts, but no load-balancing bias; experts in
/// every layer unless first_k_dense_replace is set.
Arch mistral4(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  latent_attention(c, a, {.q_rank = 1024, .kv_rank = 256, .nope_dim = 64, .rope_dim = 64, .v_dim = 128});
  deepseek_experts(c, a, {.routed = 128, .shared = 1, .top_k = 4, .width = 2048});
  return a;
}

/// hf solar_open/modeling_solar_open.py: grouped attention, `attention_bias` on q, k, v only, without norms on q and
/// k; DeepSeek-V3's experts in every layer.
Arch solar_open(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  if (c.count("first_k_dense_replace", 0) > 0)
    c.refuse("\"first_k_dense_replace\" is above 0; only models with experts in every layer are supported");
  if (c.flag("use_qk_norm", false)) c.refuse("\"use_qk_norm\" is true; query and key norms are not supported here");
  a.qkv_bias = c.flag("attention_bias", false);
  deepseek_experts(c, a, {.routed = 128, .shared = 1, .top_k = 8, .width = 1280, .correction = true});
  return a;
}

/// hf dots1/modeling_dots1.py: grouped attention with RMSNorms of the head width on q and k, `attention_bias` on q,
/// k, v and o, DeepSeek-V3's experts.
Arch dots1(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.qk_norm = QkNorm::per_head;
  const Count window = c.has("sliding_window") ? c.count("sliding_window", 0) : 0;
  const auto typed = layers_of_type(c, a, "sliding_attention");
  if (typed) set_reach(a, {window}, *typed);
  deepseek_experts(c, a, {.routed = 128, .shared = 2, .top_k = 6, .width = 1408, .correction = true});
  return a;
}

/// Layers with KDA: those in kda_layers, counted from 1, or those marked in layer_types (hf); by default, all layers
/// except every fourth.
LayerSet kda_layers(const Config& c, const Config& linear, const Arch& a) {
  const LayerSet usual = others(LayerSet::every(3, 4, a.layers), a.layers);
  return said_layers(c, {{"kda_layers", listed_layers(linear, a, "kda_layers", 1)},
                         {"layer_types", layers_of_type(c, a, "linear_attention")}})
      .value_or(usual);
}

/// A KDA recurrence. Its sizes are in linear_attn_config (hub) or at the config's top level (hf), under different
/// names.
Recurrent kimi_delta(const Config& linear, const char* heads_key, const char* width_key, const char* taps_key) {
  const Count heads = linear.size(heads_key, 32), width = linear.size(width_key, 128);
  return {.kind = RecurrentKind::kimi_delta,
          .heads = heads,
          .head_dim = width,
          .key_heads = heads,
          .key_dim = width,
          .taps = linear.size(taps_key, 4),
          .rank = width,
          .full_rank_gate = linear.flag("use_full_rank_gate", false),
          .chunk = 64};
}

/// Checks sizes that the config states both in linear_attn_config and at its top level.
void check_repeated(const Config& c, const Recurrent& r) {
  c.require_repeated("linear_num_heads", "\"num_heads\" of \"linear_attn_config\"", r.heads);
  c.require_repeated("linear_head_dim", "\"head_dim\" of \"linear_attn_config\"", r.head_dim);
  c.require_repeated("linear_conv_kernel_dim", "\"short_conv_kernel_size\" of \"linear_attn_config\"", r.taps);
}

void kimi_mixers(const Config& c, Arch& a) {
  const bool hub = c.has("linear_attn_config");
  const Config linear = hub ? c.object("linear_attn_config") : c;
  LayerMixer kda;
  kda.attention = AttentionKind::none;
  kda.recurrent = hub ? kimi_delta(linear, "num_heads", "head_dim", "short_conv_kernel_size")
                      : kimi_delta(c, "linear_num_heads", "linear_head_dim", "linear_conv_kernel_dim");
  if (hub) check_repeated(c, kda.recurrent);
  kda.layers = kda_layers(c, linear, a);
  set_mixer(a, kda);
}

/// hub moonshotai/Kimi-Linear-48B-A3B-Base, modeling_kimi.py; hf kimi_linear/: KDA, and latent attention without RoPE
/// in the other layers; DeepSeek-V3's experts with other key names. hub moonshotai/Kimi-K3, modeling_kimi_linear.py:
/// also gates on latent attention, experts with a latent width, and mixed residual streams.
Arch kimi_linear(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.context = c.first_size({"model_max_length", "max_position_embeddings"}, a.context);
  if (c.has("dense_ffn_hidden")) a.mlp_width = c.size("dense_ffn_hidden", a.mlp_width);
  latent_attention(c, a, {.kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .v_dim = 128});
  if (c.flag("mla_use_nope", false)) a.position = Position::none;
  if (c.flag("mla_use_output_gate", false)) a.attention_gate = AttentionGate::per_channel;
  a.residual_block = c.count("attn_res_block_size", 0);
  c.ignore({"head_dim", "num_expert_group", "moe_layer_freq", "moe_router_activation_func"});
  kimi_mixers(c, a);
  const Count shared = c.count({"n_shared_experts", "num_shared_experts"}, 1);
  const Count expert = c.size("moe_intermediate_size", 1024);
  const LayerSet from = LayerSet::every(c.count("first_k_dense_replace", 1), 1, a.layers);
  set_experts(a, {.experts = c.size({"num_experts", "num_local_experts"}, 256),
                  .top_k = c.size({"num_experts_per_token", "num_experts_per_tok"}, 8),
                  .width = expert,
                  .latent_width = c.has("routed_expert_hidden_size") ? c.size("routed_expert_hidden_size", 0) : 0,
                  .latent_norm = c.flag("latent_moe_use_norm", false),
                  .shared_experts = shared,
                  .shared_width = shared > 0 ? expert : 0,
                  .router_correction = true,
                  .layers = sparse_or(c, a, from, {"first_k_dense_replace"})});
  return a;
}

/// hf longcat_flash/modeling_longcat_flash.py: layers with two latent attentions, two dense MLPs and, parallel to them,
/// experts, some of which return their input. num_hidden_layers, if present, counts both halves of each layer. The
/// load-balancing bias is a buffer. Other kinds of embedding tables are not supported. Every file has an MTP module,
/// whether or not the config states it (vLLM, longcat_flash_mtp.py): attention, a dense MLP and a separate token
/// embedding.
Arch longcat_flash(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d, {"num_layers"});
  if (c.has("num_hidden_layers") && c.count("num_hidden_layers", 0) != 2 * a.layers)
    c.refuse("\"num_hidden_layers\" must be twice \"num_layers\", since it counts both halves of every layer");
  if (c.text("zero_expert_type", "identity") != "identity")
    c.refuse("\"zero_expert_type\" must be \"identity\"; other experts without weights are not supported");
  if (c.has("ngram_vocab_size_ratio") || c.has("oe_vocab_size_ratio"))
    c.refuse("n-gram tables (\"ngram_vocab_size_ratio\", \"oe_vocab_size_ratio\") are not supported");
  c.ignore({"attention_method", "mla_scale_q_lora", "mla_scale_kv_lora"});
  latent_attention(c, a, deepseek_latent);
  const Count width = a.mlp_width;
  set_experts(a, {.experts = c.size("n_routed_experts", 512),
                  .top_k = c.size("moe_topk", 12),
                  .width = c.size("expert_ffn_hidden_size", 2048),
                  .zero_experts = c.is_null("zero_expert_num") ? 0 : c.count("zero_expert_num", 256),
                  .router_bias = c.flag("router_bias", false),
                  .router_correction = true,
                  .layers = LayerSet::all(a.layers)});
  a.mlp_width = width;
  a.block = BlockKind::shortcut;
  a.norms_per_layer = 4;
  a.mtp = modules_like_last(c, a, "num_nextn_predict_layers", 1);
  a.mtp.own_embedding = a.mtp.modules > 0;
  return a;
}

}  // namespace

std::vector<Family> deepseek_families() {
  return {
      {"deepseek", deepseek, {30, 4096, 32, 0, 0, 11008, 102400, 2048}},
      {"deepseek_v2", deepseek_v2, {32, 4096, 32, 0, 64, 11008, 32000, 2048}},
      {"deepseek_v3 kimi_k2", deepseek_v3, {61, 7168, 128, 0, 64, 18432, 129280, 4096}},
      {"sarvam_mla", sarvam_mla, {32, 4096, 64, 0, 64, 16384, 262144, 4096}},
      {"deepseek_v32", deepseek_v32, {61, 7168, 128, 0, 64, 18432, 129280, 163840}},
      {"glm_moe_dsa", glm_moe_dsa, {78, 6144, 64, 0, 64, 12288, 154880, 202752}},
      {"longcat_flash", longcat_flash, {28, 6144, 64, 0, 0, 12288, 131072, 131072}},
      {"youtu youtu_llm", youtu, {32, 2048, 16, 0, 0, 6144, 128256, 131072, true}},
      {"minicpm3", minicpm3, {62, 2560, 40, 0, 0, 6400, 73448, 32768, true}},
      {"glm4_moe_lite", glm4_moe_lite, {47, 2048, 20, 0, 64, 10240, 154880, 202752}},
      {"kimi_linear", kimi_linear, {27, 2304, 32, 0, 72, 9216, 163840, 1048576}},
      {"mistral4", mistral4, {36, 4096, 32, 32, 64, 12288, 131072, 1048576}},
      {"solar_open", solar_open, {48, 4096, 64, 8, 128, 0, 196608, 131072}},
      {"dots1", dots1, {62, 4096, 32, 0, 0, 10944, 152064, 2048}},
      {"glm4_moe glm4v_moe_text", glm4_moe, {46, 4096, 96, 8, 128, 10944, 151552, 131072}},
  };
}

}  // namespace llmcalc::import
