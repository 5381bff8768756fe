#include <fmt/format.h>

#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// hf falcon/modeling_falcon.py. One flag, `bias`, applies to all projections; LayerNorms always have a bias; plain
/// GELU MLP of 4 x hidden. KV heads: `num_kv_heads` in the new decoder architecture, regardless of multi_query;
/// otherwise 1 with multi_query, or one per query head. A parallel block has one norm, or ln_attn and ln_mlp
/// (num_ln_in_parallel_attn, 2 by default in the new architecture). Tied by default.
Arch falcon(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  const bool new_architecture = c.flag("new_decoder_architecture", false);
  const bool multi_query = c.flag("multi_query", true);
  const Count grouped = c.size({"num_kv_heads", "n_head_kv"}, a.heads);
  a.kv_heads = multi_query ? 1 : a.heads;
  if (new_architecture) a.kv_heads = grouped;
  a.qkv_bias = a.attention_out_bias = a.mlp_bias = c.flag("bias", false);
  a.mlp = MlpKind::plain;
  a.mlp_width = c.size("ffn_hidden_size", mul(4, a.hidden));
  if (c.has("ff_factor"))
    c.require_equal("\"ff_factor\" x \"hidden_size\"", mul(c.size("ff_factor", 4), a.hidden),
                    "the MLP width (\"ffn_hidden_size\")", a.mlp_width);
  a.activation = activation(c, {"activation"}, "gelu");
  a.norm = NormKind::layer_norm;
  a.position = c.flag("alibi", false) ? Position::alibi : Position::rope;
  const bool parallel = c.flag("parallel_attn", true);
  const Count norms = c.size("num_ln_in_parallel_attn", new_architecture ? 2 : 1);
  a.block = parallel ? BlockKind::parallel : BlockKind::serial;
  a.norms_per_layer = !parallel || norms == 2 ? 2 : 1;
  c.ignore({"apply_residual_connection_post_layernorm"});
  return a;
}

/// hf bloom/modeling_bloom.py. ALiBi, a LayerNorm after the embedding, biases everywhere, plain GELU (tanh) MLP of 4 x
/// hidden; tied by default.
Arch bloom(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qkv_bias = a.attention_out_bias = a.mlp_bias = true;
  a.mlp = MlpKind::plain;
  a.mlp_width = mul(4, a.hidden);
  a.activation = Activation::gelu_tanh;
  a.norm = NormKind::layer_norm;
  a.embedding_norm = true;
  a.position = Position::alibi;
  c.ignore({"apply_residual_connection_post_layernorm", "n_inner", "skip_bias_add", "skip_bias_add_qkv"});
  return a;
}

/// Reads MPT's attn_config: KV heads by attn_type, and the kind of positions. Learned positions are used only without
/// ALiBi and RoPE.
void mpt_attention(const Config& c, const Config& attention, Arch& a) {
  const std::string type = attention.text("attn_type", "multihead_attention");
  const Count grouped = attention.size("kv_n_heads", a.heads);
  a.kv_heads = type == "multiquery_attention" ? 1 : a.heads;
  if (type == "grouped_query_attention") a.kv_heads = grouped;
  const bool alibi = attention.flag("alibi", true);
  const bool rope = attention.flag("rope", false);
  const bool learned = c.flag("learned_pos_emb", true) && !alibi && !rope;
  a.position = learned ? Position::learned : Position::none;
  if (rope) a.position = Position::rope;
  if (alibi) a.position = Position::alibi;
  a.position_rows = learned ? a.context : 0;
  const bool bias = a.norm == NormKind::layer_norm;
  if (attention.flag("qk_ln", false))
    a.qk_norm = bias ? QkNorm::full_bias : QkNorm::full;
  else if (attention.flag("qk_gn", false))
    a.qk_norm = bias ? QkNorm::per_head_bias : QkNorm::per_head;
}

/// Sets MPT's MLP. Its width is expansion_ratio x hidden, with a possibly fractional ratio, unless ffn_config states a
/// width; it is gated for mptglu.
void mpt_mlp(const Config& c, Arch& a) {
  const double ratio = c.number("expansion_ratio", 4);
  if (!(ratio > 0) || ratio > 1024)
    c.refuse(fmt::format("\"expansion_ratio\": expected a number such as 4, got {}", ratio));
  a.mlp_width = static_cast<Count>(static_cast<double>(a.hidden) * ratio);
  a.mlp = MlpKind::plain;
  a.activation = Activation::gelu;
  if (!c.has("ffn_config")) return;
  const Config ffn = c.object("ffn_config");
  a.mlp_width = ffn.size("ffn_hidden_size", a.mlp_width);
  if (ffn.text("ffn_type", "mptmlp") == "mptglu") a.mlp = MlpKind::gated;
}

/// hf mpt/modeling_mpt.py for the defaults; github mosaicml/llm-foundry llmfoundry/models/mpt/modeling_mpt.py for flags
/// that exist only in the checkpoints' code. no_bias (default true) removes every bias, including the biases of norms;
/// qk_ln normalizes q and k over their whole width. Tied by default.
Arch mpt(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  const bool bias = !c.flag("no_bias", true);
  a.qkv_bias = a.attention_out_bias = a.mlp_bias = bias;
  const bool rms = c.text("norm_type", "low_precision_layernorm").find("rms") != std::string::npos;
  a.norm = bias ? NormKind::layer_norm : NormKind::layer_norm_no_bias;
  if (rms) a.norm = NormKind::rms_norm;
  const json::Value none = json::Value::object();
  mpt_attention(c, c.has("attn_config") ? c.object("attn_config") : Config(none, c.where()), a);
  mpt_mlp(c, a);
  return a;
}

}  // namespace

std::vector<Family> falcon_families() {
  return {
      {"falcon RefinedWeb RefinedWebModel", falcon, {32, 4544, 71, 0, 0, 0, 65024, 2048, true}},
      {"bloom", bloom, {2, 64, 8, 0, 0, 0, 250880, 2048, true}},
      {"mpt", mpt, {24, 2048, 16, 0, 0, 0, 50368, 2048, true}},
  };
}

}  // namespace llmcalc::import
