// GGUF architectures with recurrences or convolutions. Sources for the keys: github.com/ggml-org/llama.cpp,
// conversion/{qwen,mamba,jamba,rwkv,plamo,granite,nemotron,falcon_h1,lfm2,kimi_linear}.py and
// gguf-py/gguf/constants.py.

#include <array>

#include "presets/header/gguf_model.hpp"

namespace llmcalc {

namespace {

using json::Value;

/// Value that converters of Mamba and its hybrids write for an unknown context.
constexpr Count unknown_context = Count{1} << 20;
void forget_unknown_context(Value& c) {
  if (c["max_position_embeddings"] == unknown_context) c.erase("max_position_embeddings");
}

/// Width of a state head: the total width (ssm.inner_size) divided by the number of heads (ssm.time_step_rank).
Count state_head_width(const GgufModel& m) {
  const Count inner = m.count("ssm.inner_size"), heads = m.count("ssm.time_step_rank");
  if (heads == 0 || inner % heads != 0)
    m.refuse(
        fmt::format("the recurrence's width {} is not a multiple of its {} heads; the file is damaged", inner, heads));
  return inner / heads;
}

/// Ratio of ssm.inner_size to the model's width.
Count expansion(const GgufModel& m, const Value& c) {
  const Count inner = m.count("ssm.inner_size"), hidden = c["hidden_size"].get<Count>();
  if (hidden == 0 || inner % hidden != 0)
    m.refuse(
        fmt::format("the recurrence's width {} is not a multiple of the model's width {}; pass the model's "
                    "config.json",
                    inner, hidden));
  return inner / hidden;
}

/// A gated DeltaNet: ssm.state_size is the width of a key, ssm.group_count the number of key heads.
/// nextn_predict_layers is the number of MTP modules in the file.
void delta_net(const GgufModel& m, Value& c) {
  c.erase("num_nextn_predict_layers");
  c["mtp_num_hidden_layers"] = m.count_or("nextn_predict_layers", 0);
  c["linear_conv_kernel_dim"] = m.count("ssm.conv_kernel");
  c["linear_key_head_dim"] = m.count("ssm.state_size");
  c["linear_num_key_heads"] = m.count("ssm.group_count");
  c["linear_num_value_heads"] = m.count("ssm.time_step_rank");
  c["linear_value_head_dim"] = state_head_width(m);
  copy(m, c, "full_attention_interval", "full_attention_interval");
}
void delta_net_experts(const GgufModel& m, Value& c) {
  delta_net(m, c);
  experts(m, c);
  copy(m, c, "expert_shared_feed_forward_length", "shared_expert_intermediate_size");
}

void mamba(const GgufModel& m, Value& c) {
  if (m.flag_or("ssm.dt_b_c_rms", false)) c["model_type"] = "falcon_mamba";
  c["intermediate_size"] = m.count("ssm.inner_size");
  c["state_size"] = m.count("ssm.state_size");
  c["conv_kernel"] = m.count("ssm.conv_kernel");
  c["time_step_rank"] = m.count("ssm.time_step_rank");
  c["use_conv_bias"] = m.in_a_layer("ssm_conv1d.bias");
}

/// Mamba-2. In this config, "head_dim" is the width of a state head.
void mamba2(const GgufModel& m, Value& c) {
  c["num_heads"] = m.count("ssm.time_step_rank");
  c["head_dim"] = state_head_width(m);
  c["n_groups"] = m.count("ssm.group_count");
  c["state_size"] = m.count("ssm.state_size");
  c["conv_kernel"] = m.count("ssm.conv_kernel");
  c["expand"] = expansion(m, c);
  c["use_conv_bias"] = m.in_a_layer("ssm_conv1d.bias");
}

/// Sets the config's offset and period for the parts that occur only in the layers `with`: one layer in every
/// `period`, starting at `offset`.
void one_in(const GgufModel& m, Value& c, const std::string& name, const std::vector<Count>& with) {
  const Count layers = layers_of(c);
  const Count offset = with.empty() ? 0 : with[0], period = with.size() < 2 ? layers : with[1] - with[0];
  std::vector<Count> repeated;
  for (Count i = offset; i < layers && !with.empty(); i += period) repeated.push_back(i);
  if (repeated != with)
    m.refuse(
        fmt::format("its {} layers are not periodic, which is not supported for GGUF files; pass the model's "
                    "config.json",
                    name));
  c[name + "_layer_offset"] = offset;
  c[name + "_layer_period"] = period;
}

void jamba(const GgufModel& m, Value& c) {
  const std::vector<Count> kv = m.counts("attention.head_count_kv", layers_of(c));
  std::vector<Count> attention, sparse;
  for (Count i = 0; i < layers_of(c); ++i) {
    if (kv[static_cast<std::size_t>(i)] > 0) attention.push_back(i);
    if (m.in_layer(i, "ffn_gate_inp.weight")) sparse.push_back(i);
  }
  if (attention.empty())
    m.refuse(
        "no layer has attention, which is not supported for Jamba; pass the model's "
        "config.json");
  one_in(m, c, "attn", attention);
  c["num_key_value_heads"] = largest_of(kv);
  c["intermediate_size"] = m.count("feed_forward_length");
  c["mamba_expand"] = expansion(m, c);
  c["mamba_d_state"] = m.count("ssm.state_size");
  c["mamba_d_conv"] = m.count("ssm.conv_kernel");
  c["mamba_dt_rank"] = m.count("ssm.time_step_rank");
  c["mamba_conv_bias"] = m.in_a_layer("ssm_conv1d.bias");
  c["num_experts"] = sparse.empty() ? 1 : m.count("expert_count");
  if (sparse.empty()) return;
  one_in(m, c, "expert", sparse);
  copy(m, c, "expert_used_count", "num_experts_per_tok");
}

/// RWKV-7. The norm after the embedding is the first layer's "pre_norm".
void rwkv7(const GgufModel& m, Value& c) {
  c["head_dim"] = m.count("wkv.head_size");
  c["decay_low_rank_dim"] = m.count("attention.decay_lora_rank");
  c["a_low_rank_dim"] = m.count("attention.iclr_lora_rank");
  c["v_low_rank_dim"] = m.count("attention.value_residual_mix_lora_rank");
  c["gate_low_rank_dim"] = m.count("attention.gate_lora_rank");
  c["norm_first"] = m.tensor("token_embd_norm.weight") != nullptr;
  c["norm_bias"] = m.in_a_layer("attn_norm.bias");
  forget_unknown_context(c);
}

/// RWKV-6. Throws InputError if the ranks of the low-rank projections differ from those implied by the model's width.
void rwkv6(const GgufModel& m, Value& c) {
  c["head_size"] = m.count("wkv.head_size");
  c.erase("num_attention_heads");
  const bool wide = c["hidden_size"] == 4096;
  if (m.count("time_mix_extra_dim") != (wide ? 64 : 32) || m.count("time_decay_extra_dim") != (wide ? 128 : 64))
    m.refuse("its low ranks differ from RWKV-6 at this width; pass an llmcalc model file");
  forget_unknown_context(c);
}

/// The mamba_step with which exactly the layers with KV heads have attention (import/recurrent/plamo.cpp).
Count plamo2_period(const GgufModel& m, const std::vector<Count>& kv, Count layers) {
  for (Count step = 2; step <= mul(2, layers); ++step) {
    bool same = true;
    for (Count i = 0; i < layers && same; ++i) {
      const bool attends = layers <= step / 2 ? i == layers - 1 : i % step == step / 2;
      same = attends == (kv[static_cast<std::size_t>(i)] > 0);
    }
    if (same) return step;
  }
  m.refuse("its attention layers do not follow a PLaMo 2 period; pass the model's config.json");
}

/// PLaMo 2. Layers with KV heads have attention; all others are Mamba scans with ssm.time_step_rank heads. llama.cpp
/// writes no window and caches the keys of all tokens.
void plamo2(const GgufModel& m, Value& c) {
  const std::vector<Count> kv = m.counts("attention.head_count_kv", layers_of(c));
  const Count step = plamo2_period(m, kv, layers_of(c));
  c["attention_window_size"] = m.count_or("attention.sliding_window", c["max_position_embeddings"].get<Count>());
  c["mamba_step"] = step;
  c["num_key_value_heads"] = largest_of(kv);
  c["intermediate_size"] = m.count("feed_forward_length");
  c["hidden_size_per_head"] = m.count("attention.key_length");
  c["mamba_num_heads"] = m.count("ssm.time_step_rank");
  c["mamba_d_state"] = m.count("ssm.state_size");
  c["mamba_d_conv"] = m.count("ssm.conv_kernel");
  if (state_head_width(m) != m.count("attention.key_length"))
    m.refuse("its recurrence heads and attention heads differ in width; pass the model's config.json");
}

/// Sets Mamba-2 sizes under their names in granitemoehybrid and falcon_h1.
void mamba2_sizes(const GgufModel& m, Value& c) {
  c["mamba_n_heads"] = m.count("ssm.time_step_rank");
  c["mamba_d_head"] = state_head_width(m);
  c["mamba_n_groups"] = m.count("ssm.group_count");
  c["mamba_d_state"] = m.count("ssm.state_size");
  c["mamba_d_conv"] = m.count("ssm.conv_kernel");
  c["mamba_conv_bias"] = m.in_a_layer("ssm_conv1d.bias");
  c["attention_bias"] = m.in_a_layer("attn_q.bias");
}

/// List of layer types: `with` for layers with KV heads, `without` for all other layers.
Value layer_types(const std::vector<Count>& kv_heads, Count layers, const char* with, const char* without) {
  Value types = Value::array();
  for (Count i = 0; i < layers; ++i) types.push_back(kv_heads[static_cast<std::size_t>(i)] > 0 ? with : without);
  return types;
}

void granite_hybrid(const GgufModel& m, Value& c) {
  const std::vector<Count> kv = m.counts("attention.head_count_kv", layers_of(c));
  c["layer_types"] = layer_types(kv, layers_of(c), "attention", "mamba");
  c["num_key_value_heads"] = largest_of(kv);
  c["position_embedding_type"] = m.flag_or("rope.scaling.finetuned", false) ? "rope" : "nope";
  const Count width = m.count("feed_forward_length");
  c["num_local_experts"] = m.count_or("expert_count", 0);
  copy(m, c, "expert_used_count", "num_experts_per_tok");
  c["intermediate_size"] = width;
  c["shared_intermediate_size"] = m.count_or("expert_shared_feed_forward_length", width);
  mamba2_sizes(m, c);
  forget_unknown_context(c);
}

void falcon_h1(const GgufModel& m, Value& c) {
  mamba2_sizes(m, c);
  c["mamba_d_ssm"] = m.count("ssm.inner_size");
  c["mamba_rms_norm"] = m.in_a_layer("ssm_norm.weight");
}

/// Nemotron-H's layer pattern: a layer with KV heads is attention, a layer with a feed-forward width is an MLP, and any
/// other is Mamba-2.
std::string nemotron_pattern(const std::vector<Count>& kv, const std::vector<Count>& widths, Count layers, char mlp) {
  std::string pattern;
  for (std::size_t i = 0; i < static_cast<std::size_t>(layers); ++i)
    pattern += kv[i] > 0 ? '*' : widths[i] > 0 ? mlp : 'M';
  return pattern;
}
void nemotron_h(const GgufModel& m, Value& c) {
  const Count layers = layers_of(c);
  const std::vector<Count> kv = m.counts("attention.head_count_kv", layers),
                           widths = m.counts("feed_forward_length", layers);
  const bool mixture = m.count_or("expert_count", 0) > 0;
  c["hybrid_override_pattern"] = nemotron_pattern(kv, widths, layers, mixture ? 'E' : '-');
  c["num_key_value_heads"] = largest_of(kv);
  c["intermediate_size"] = largest_of(widths);
  c["attention_bias"] = m.in_a_layer("attn_q.bias");
  c["mlp_bias"] = m.in_a_layer("ffn_up.bias");
  c["mamba_num_heads"] = m.count("ssm.time_step_rank");
  c["mamba_head_dim"] = state_head_width(m);
  c["n_groups"] = m.count("ssm.group_count");
  c["ssm_state_size"] = m.count("ssm.state_size");
  c["conv_kernel"] = m.count("ssm.conv_kernel");
  c["use_conv_bias"] = m.in_a_layer("ssm_conv1d.bias");
  if (mixture) {
    experts(m, c, "n_routed_experts");
    c["n_shared_experts"] = m.count_or("expert_shared_count", 1);
    copy(m, c, "expert_shared_feed_forward_length", "moe_shared_expert_intermediate_size");
    copy(m, c, "moe_latent_size", "moe_latent_size");
  }
  forget_unknown_context(c);
}

/// LFM2: feed_forward_length is the width after the adjustment by block_auto_adjust_ff_dim.
void lfm2(const GgufModel& m, Value& c) {
  const std::vector<Count> kv = m.counts("attention.head_count_kv", layers_of(c));
  c["layer_types"] = layer_types(kv, layers_of(c), "full_attention", "conv");
  c["num_key_value_heads"] = largest_of(kv);
  c["conv_L_cache"] = m.count("shortconv.l_cache");
  c["intermediate_size"] = m.count("feed_forward_length");
  c["block_auto_adjust_ff_dim"] = false;
  c["block_multiple_of"] = 1;
}
void lfm2_moe(const GgufModel& m, Value& c) {
  lfm2(m, c);
  for (const char* of_dense : {"block_auto_adjust_ff_dim", "block_multiple_of"}) c.erase(of_dense);
  experts(m, c);
  c["num_dense_layers"] = m.count_or("leading_dense_block_count", 0);
  c["use_expert_bias"] = m.in_a_layer("exp_probs_b.bias");
}

/// Kimi Linear: layers without KV heads are KDA, with as many heads as attention. linear_attn_config counts layers from
/// 1.
void kimi_linear(const GgufModel& m, Value& c) {
  latent_attention(m, c);
  const std::vector<Count> kv = m.counts("attention.head_count_kv", layers_of(c));
  Value kda = Value::array(), full = Value::array();
  for (Count i = 0; i < layers_of(c); ++i) (kv[static_cast<std::size_t>(i)] > 0 ? full : kda).push_back(i + 1);
  c["linear_attn_config"] = {{"kda_layers", kda},
                             {"full_attn_layers", full},
                             {"num_heads", c["num_attention_heads"]},
                             {"head_dim", m.count("kda.head_dim")},
                             {"short_conv_kernel_size", m.count("ssm.conv_kernel")}};
  c["mla_use_nope"] = true;
  c["intermediate_size"] = m.count("feed_forward_length");
  experts(m, c);
  copy(m, c, "expert_shared_count", "num_shared_experts");
  copy(m, c, "leading_dense_block_count", "first_k_dense_replace");
}

constexpr std::array gguf_hybrid_rows{
    GgufFamily{"qwen3next", "qwen3_next", delta_net_experts},
    GgufFamily{"qwen35", "qwen3_5_text", delta_net},
    GgufFamily{"qwen35moe", "qwen3_5_moe_text", delta_net_experts},
    GgufFamily{"mamba", "mamba", mamba},
    GgufFamily{"mamba2", "mamba2", mamba2},
    GgufFamily{"jamba", "jamba", jamba, true},
    GgufFamily{"rwkv7", "rwkv7", rwkv7},
    GgufFamily{"rwkv6", "rwkv6", rwkv6},
    GgufFamily{"plamo2", "plamo2", plamo2, true},
    GgufFamily{"granitehybrid", "granitemoehybrid", granite_hybrid, true},
    GgufFamily{"falcon-h1", "falcon_h1", falcon_h1},
    GgufFamily{"nemotron_h", "nemotron_h", nemotron_h, true},
    GgufFamily{"nemotron_h_moe", "nemotron_h", nemotron_h, true},
    GgufFamily{"lfm2", "lfm2", lfm2, true},
    GgufFamily{"lfm2moe", "lfm2_moe", lfm2_moe, true},
    GgufFamily{"kimi-linear", "kimi_linear", kimi_linear, true},
};

}  // namespace

std::span<const GgufFamily> gguf_hybrids() { return gguf_hybrid_rows; }

}  // namespace llmcalc
