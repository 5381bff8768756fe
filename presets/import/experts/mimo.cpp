#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// hub XiaomiMiMo/MiMo-7B-Base, modeling_mimo.py: Qwen 2 with one MTP module (MiMoMTPLayers); `attention_bias`
/// (default true) on q, k and v.
Arch mimo(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qkv_bias = c.flag("attention_bias", true);
  if (c.flag("use_sliding_window", false))
    set_reach(a, {c.count("sliding_window", 4096)}, LayerSet::every(c.count("max_window_layers", 28), 1, a.layers));
  c.ignore({"sliding_window", "max_window_layers"});
  a.mtp = modules_like_last(c, a);
  return a;
}

/// MTP modules with the attention of the first window layer and the MLP of the first dense layer. Empty if the model
/// has no such layers, since the modules are then unknown.
Mtp modules_of_layers(const Config& c, const Arch& a, Count otherwise) {
  Mtp m = modules_like_last(c, a, "num_nextn_predict_layers", otherwise);
  const LayerSet dense = others(a.moe.layers, a.layers);
  if (m.modules == 0 || a.mixers.empty() || dense.empty()) return {};
  m.mixer_of = a.mixers[0].layers.first();
  m.mlp_of = dense.first();
  return m;
}

/// Layers with a window: those marked 1 in hybrid_layer_pattern or "sliding_attention" in layer_types; by default,
/// all layers except the first and every sixth.
LayerSet mimo_v2_windows(const Config& c, const Arch& a) {
  LayerSet full = LayerSet::every(5, 6, a.layers);
  full.insert(0);
  return said_layers(c, {{"hybrid_layer_pattern", marked_layers(c, a, "hybrid_layer_pattern")},
                         {"layer_types", layers_of_type(c, a, "sliding_attention")}})
      .value_or(others(full, a.layers));
}

/// hub XiaomiMiMo/MiMo-V2-Flash, modeling_mimo_v2_flash.py; hf mimo_v2_flash/. Window layers have separate head
/// counts (swa_*, default: twice the KV heads) and a sink per head; values are narrower than keys (v_head_dim).
/// Layers marked 1 in moe_layer_freq or sparse in mlp_layer_types (default: all except the first) have experts, with
/// a load-balancing bias that is a buffer; no biases elsewhere. No key states the MTP modules: there are three, with
/// window attention and the dense MLP.
Arch mimo_v2_layers(const Config& c, const Defaults& d, Count modules) {
  Arch a = base_arch(c, d);
  a.value_dim = c.size("v_head_dim", 128);
  a.qkv_bias = c.flag("attention_bias", false);
  a.attention_sinks = c.flag("add_full_attention_sink_bias", false);
  c.ignore({"attention_chunk_size", "layernorm_epsilon"});
  LayerMixer window;
  static_cast<Mixer&>(window) = a;
  window.heads = c.size("swa_num_attention_heads", a.heads);
  window.kv_heads = c.size("swa_num_key_value_heads", mul(2, a.kv_heads));
  window.head_dim = c.size("swa_head_dim", a.head_dim);
  window.value_dim = c.size("swa_v_head_dim", a.value_dim);
  window.attention_sinks = c.flag("add_swa_attention_sink_bias", true);
  window.reach.tokens = c.size({"sliding_window", "sliding_window_size"}, 128);
  window.layers = mimo_v2_windows(c, a);
  set_mixer(a, window);
  const Count shared = c.is_null("n_shared_experts") ? 0 : c.count("n_shared_experts", 0);
  const Count width = c.size("moe_intermediate_size", 2048);
  const auto sparse = said_layers(
      c, {{"moe_layer_freq", marked_layers(c, a, "moe_layer_freq")}, {"mlp_layer_types", sparse_typed(c, a)}});
  set_experts(a, {.experts = c.size({"n_routed_experts", "num_local_experts"}, 256),
                  .top_k = c.size("num_experts_per_tok", 8),
                  .width = width,
                  .shared_experts = shared,
                  .shared_width = shared > 0 ? width : 0,
                  .router_correction = c.text("topk_method", "noaux_tc") == "noaux_tc",
                  .layers = sparse.value_or(LayerSet::every(1, 1, a.layers))});
  a.mtp = modules_of_layers(c, a, modules);
  return a;
}
Arch mimo_v2_flash(const Config& c, const Defaults& d) { return mimo_v2_layers(c, d, 3); }

/// hub XiaomiMiMo/MiMo-V2.5-Pro, modeling_mimo_v2.py: MiMo-V2-Flash with the query, key and value projections in one
/// matrix. There are MTP modules only if num_nextn_predict_layers states their number.
Arch mimo_v2(const Config& c, const Defaults& d) {
  c.ignore({"attention_projection_layout"});
  return mimo_v2_layers(c, d, 0);
}

/// Layers with experts; empty if no key states them.
std::optional<LayerSet> step_experts(const Config& c, const Arch& a) {
  return said_layers(
      c, {{"moe_layers_enum", listed_layers(c, a, "moe_layers_enum")}, {"mlp_layer_types", sparse_typed(c, a)}});
}

/// hub stepfun-ai/step3, modeling_step3.py: attention with one KV head and low-rank queries of rank share_q_dim with
/// an RMSNorm (multi-matrix factorization attention, arXiv:2412.19255); no biases. Layers in moe_layers_enum have
/// experts, one shared expert of share_expert_dim, and a router without bias.
Arch step3(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.kv_heads = 1;
  a.context = c.first_size({"max_position_embedding", "max_position_embeddings", "max_seq_len"}, d.context);
  a.latent.q_rank = c.size("share_q_dim", a.head_dim);
  c.ignore({"norm_expert_weight", "num_attention_groups"});
  const Count shared = c.size({"share_expert_dim", "share_expert_dims"}, 5120);
  set_experts(a, {.experts = c.size("moe_num_experts", 48),
                  .top_k = c.size("moe_top_k", 3),
                  .width = c.size("moe_intermediate_size", 5120),
                  .shared_experts = 1,
                  .shared_width = shared,
                  .layers = step_experts(c, a).value_or(LayerSet::every(1, 1, a.layers))});
  return a;
}

/// Attention of the window layers. Its head counts are in attention_other_setting, or in num_sliding_attention_heads
/// and num_attention_heads_per_layer (hf). layer_types also has entries for the MTP modules, after the entries for the
/// layers.
LayerMixer step_window(const Config& c, const Arch& a) {
  LayerMixer window;
  static_cast<Mixer&>(window) = a;
  window.layers = layers_of_type(c, a, "sliding_attention", "full_attention", "layer_types", true).value_or(LayerSet());
  window.heads = heads_per_layer(c, a, window.layers).value_or(a.heads);
  if (c.has("attention_other_setting")) {
    const Config other = c.object("attention_other_setting");
    other.ignore({"attention_type"});
    window.heads = other.size("num_attention_heads", a.heads);
    window.kv_heads = other.size("num_attention_groups", a.kv_heads);
    window.head_dim = other.size("head_dim", a.head_dim);
  }
  if (c.has("num_sliding_attention_heads")) window.heads = c.size("num_sliding_attention_heads", a.heads);
  window.reach.tokens = c.size("sliding_window", 512);
  return window;
}

/// Throws InputError if a list of heads per layer contradicts the keys that apply to all layers of a kind.
void require_heads(const Config& c, const Arch& a, const LayerMixer& window) {
  const LayerSet full = others(window.layers, a.layers);
  if (heads_per_layer(c, a, window.layers).value_or(window.heads) != window.heads ||
      heads_per_layer(c, a, full).value_or(a.heads) != a.heads)
    c.refuse("\"num_attention_heads_per_layer\" contradicts the number of heads for a layer type; make them agree");
}

/// hub stepfun-ai/Step-3.5-Flash, modeling_step3p5.py; hf step3p7/. A sigmoid gate per head, RMSNorms of the head
/// width on q and k; layers named by moe_layers_enum or mlp_layer_types (default: all except the first three) have
/// experts, with one shared expert without a gate, and a load-balancing bias that is a buffer. MTP modules have
/// window attention, the dense MLP, and a separate norm and head.
Arch step3p5(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qk_norm = QkNorm::per_head;
  c.ignore({"moe_router_activation", "moe_router_scaling_factor", "n_shared_experts"});
  if (c.flag("use_head_wise_attn_gate", true)) a.attention_gate = AttentionGate::per_head;
  const LayerMixer window = step_window(c, a);
  require_heads(c, a, window);
  set_mixer(a, window);
  const Count shared = c.count({"share_expert_dims", "share_expert_dim"}, 1280);
  set_experts(a, {.experts = c.size({"moe_num_experts", "n_routed_experts", "num_experts", "num_local_experts"}, 288),
                  .top_k = c.size({"moe_top_k", "num_experts_per_tok"}, 8),
                  .width = c.size("moe_intermediate_size", 1280),
                  .shared_experts = shared > 0 ? 1 : 0,
                  .shared_width = shared,
                  .router_correction = c.flag("use_moe_router_bias", true),
                  .layers = step_experts(c, a).value_or(LayerSet::every(3, 1, a.layers))});
  a.mtp = modules_of_layers(c, a, 0);
  a.mtp.own_head = a.mtp.modules > 0;
  return a;
}

}  // namespace

std::vector<Family> mimo_families() {
  return {
      {"mimo", mimo, {36, 4096, 32, 8, 128, 11008, 151680, 32768}},
      {"mimo_v2_flash", mimo_v2_flash, {48, 4096, 64, 4, 192, 16384, 152576, 262144}},
      {"mimo_v2", mimo_v2, {48, 4096, 64, 4, 192, 16384, 152576, 262144}},
      {"step3_text step3_vl_text", step3, {61, 7168, 64, 1, 256, 18432, 128815, 65536}},
      {"step3p5 step3p7", step3p5, {45, 4096, 64, 8, 128, 11264, 128896, 262144}},
  };
}

}  // namespace llmcalc::import
