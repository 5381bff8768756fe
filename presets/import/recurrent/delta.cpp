#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// Layers with full attention: as marked in layer_types, otherwise every full_attention_interval-th.
LayerSet full_layers(const Config& c, const Arch& a) {
  const Count step = c.size("full_attention_interval", 4);
  return layers_of_type(c, a, "full_attention", "linear_attention").value_or(LayerSet::every(step - 1, step, a.layers));
}

/// Default sizes of a gated DeltaNet.
struct DeltaDefaults {
  Count value_heads, value_dim, key_heads, key_dim;
};

/// hf qwen3_next/modeling_qwen3_next.py, Qwen3NextGatedDeltaNet. Kernels process chunks of 64 tokens. The state is in
/// mamba_ssm_dtype (default: float32).
Recurrent delta_net(const Config& c, const DeltaDefaults& d) {
  return {.kind = RecurrentKind::gated_delta_net,
          .heads = c.size("linear_num_value_heads", d.value_heads),
          .head_dim = c.size("linear_value_head_dim", d.value_dim),
          .key_heads = c.size("linear_num_key_heads", d.key_heads),
          .key_dim = c.size("linear_key_head_dim", d.key_dim),
          .taps = c.size("linear_conv_kernel_dim", 4),
          .chunk = 64,
          .state_bytes = c.text("mamba_ssm_dtype", "float32") == "float32" ? 4 : 2};
}

/// Sets MTP modules. `otherwise`: default for their number.
void set_modules(const Config& c, Arch& a, Count otherwise) {
  a.mtp = modules_like_last(c, a, "mtp_num_hidden_layers", otherwise);
  if (a.mtp.modules == 0) return;
  const LayerSet full = full_layers(c, a);
  if (full.empty() && c.has("mtp_num_hidden_layers"))
    c.refuse(
        "\"mtp_num_hidden_layers\": MTP modules have full attention, but no layer of the model has it; set layers with "
        "full attention in \"layer_types\" or \"full_attention_interval\", or set 0 modules");
  if (full.empty()) {
    a.mtp = {};
    return;
  }
  a.mtp.mixer_of = full.last();
  a.mtp.own_embedding = c.flag("mtp_use_dedicated_embeddings", false);
}

/// hf qwen3_5/modeling_qwen3_5.py, the text model: layers with full attention have a sigmoid gate per output element
/// (`attn_output_gate`, default true) and RMSNorms of the head width on q and k; all others have a gated DeltaNet.
/// The mtp_num_hidden_layers MTP modules have full attention and the MLP of the model's layers.
Arch qwen3_5(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.qk_norm = QkNorm::per_head;
  if (c.flag("attn_output_gate", true)) a.attention_gate = AttentionGate::per_channel;
  if (a.qkv_bias && a.attention_gate == AttentionGate::per_channel)
    c.refuse("\"attention_bias\" is true; biases of an attention output gate are not supported");
  LayerMixer linear;
  linear.attention = AttentionKind::none;
  linear.recurrent = delta_net(c, {32, 128, 16, 128});
  linear.layers = others(full_layers(c, a), a.layers);
  set_mixer(a, linear);
  c.ignore({"mlp_only_layers", "output_gate_type"});
  set_modules(c, a, 0);
  return a;
}

/// hf qwen3_next/modeling_qwen3_next.py and qwen3_5_moe/modeling_qwen3_5_moe.py: Qwen3.5's layers with experts,
/// including a shared expert with a sigmoid gate; router without bias. `experts`, `top_k`: defaults for absent keys.
Arch with_experts(const Config& c, const Defaults& d, Count experts, Count top_k) {
  Arch a = qwen3_5(c, d);
  set_experts(a, {.experts = c.size("num_experts", experts),
                  .top_k = c.size("num_experts_per_tok", top_k),
                  .width = c.size("moe_intermediate_size", 512),
                  .shared_experts = 1,
                  .shared_width = c.size("shared_expert_intermediate_size", 512),
                  .shared_gate = true,
                  .layers = sparse_layers(c, a)});
  return a;
}

Arch qwen3_5_moe(const Config& c, const Defaults& d) { return with_experts(c, d, 256, 8); }

/// Qwen3-Next. No key states the number of MTP modules: Qwen3-Next-80B-A3B's files have one, Qwen3-Coder-Next's have
/// none.
Arch qwen3_next(const Config& c, const Defaults& d) {
  Arch a = with_experts(c, d, 512, 10);
  set_modules(c, a, 1);
  return a;
}

/// Whether the config's RoPE base is null, which means no RoPE.
bool says_no_rotation(const Config& c) {
  if (c.has("rope_parameters")) return c.object("rope_parameters").is_null("rope_theta");
  return c.is_null("rope_theta");
}

/// Layers with linear attention: as marked in layer_types; otherwise all layers except every fourth or, if there are
/// fewer than four layers, all except the last.
LayerSet olmo_linear_layers(const Config& c, const Arch& a) {
  const LayerSet full = LayerSet::every(a.layers < 4 ? a.layers - 1 : 3, 4, a.layers);
  return layers_of_type(c, a, "linear_attention").value_or(others(full, a.layers));
}

/// hf olmo_hybrid/modeling_olmo_hybrid.py: OLMo 2's attention, with or without RoPE, and gated DeltaNets whose keys
/// have three quarters of the hidden size in total and whose values are twice as wide. Every layer has two RMSNorms:
/// before the sub-layers in linear layers, and on the sub-layers' outputs in attention layers. All of them count as
/// norms before sub-layers.
Arch olmo_hybrid(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qk_norm = QkNorm::full;
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  if (says_no_rotation(c)) a.position = Position::none;
  c.ignore({"linear_allow_neg_eigval"});
  const Count heads = c.size("linear_num_key_heads", a.heads);
  const Count key_dim = c.size("linear_key_head_dim", mul(3, a.hidden) / mul(4, heads));
  LayerMixer linear;
  linear.attention = AttentionKind::none;
  linear.recurrent = delta_net(c, {a.heads, mul(2, key_dim), heads, key_dim});
  linear.layers = olmo_linear_layers(c, a);
  set_mixer(a, linear);
  return a;
}

}  // namespace

std::vector<Family> delta_families() {
  return {
      {"olmo_hybrid", olmo_hybrid, {32, 3840, 30, 0, 0, 11008, 100352, 65536}},
      {"qwen3_next", qwen3_next, {48, 2048, 16, 2, 256, 5632, 151936, 32768}},
      {"qwen3_5_text", qwen3_5, {32, 4096, 16, 4, 256, 12288, 248320, 32768}},
      {"qwen3_5_moe_text", qwen3_5_moe, {40, 2048, 16, 2, 256, 0, 248320, 32768}},
  };
}

}  // namespace llmcalc::import
