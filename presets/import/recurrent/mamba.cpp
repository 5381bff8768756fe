#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// Throws InputError for a bias on the projections, which no released model has.
void refuse_bias(const Config& c, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys)
    if (c.flag(key, false))
      c.refuse("\"" + std::string(key) + "\" is true; Mamba projections with biases are not supported");
}

Count state_bytes(const Config& c) { return c.text("mamba_ssm_cache_dtype", "float32") == "float32" ? 4 : 2; }

/// hf mamba/modeling_mamba.py and falcon_mamba/modeling_falcon_mamba.py: a norm, a Mamba-1 mixer, no MLP.
/// intermediate_size overrides expand x hidden; time_step_rank "auto" is hidden / 16. FalconMamba's norms of B, C and
/// the step have no weights. No key states the training contexts, 2048 and 8192 tokens (arXiv:2312.00752,
/// arXiv:2410.05355).
Arch mamba(const Config& c, const Defaults& d) {
  Arch a = sized_arch(c, d);
  refuse_bias(c, {"use_bias"});
  require_words(c, "layer_types", {"linear_attention"});
  c.ignore({"rms_norm", "fused_add_norm"});  // these choose norm kernels; the norms exist in any case
  const Count expanded = mul(c.size("expand", 2), a.hidden), width = c.size({"intermediate_size", "d_inner"}, expanded);
  const json::Value* rank = c.find("time_step_rank");
  const bool automatic = rank == nullptr || rank->is_string();
  a.attention = AttentionKind::none;
  a.recurrent = {.kind = RecurrentKind::mamba,
                 .heads = width,
                 .head_dim = 1,
                 .key_heads = 1,
                 .key_dim = c.size("state_size", 16),
                 .taps = c.size("conv_kernel", 4),
                 .rank = automatic ? ceil_div(a.hidden, 16) : c.size("time_step_rank", 1),
                 .convolution_bias = c.flag("use_conv_bias", true),
                 .state_bytes = state_bytes(c)};
  a.norm = NormKind::rms_norm;
  a.mlp = MlpKind::gated;
  a.activation = activation(c, {"hidden_act"}, "silu");
  a.mlps.push({.width = 0, .layers = LayerSet::all(a.layers)});
  a.position = Position::none;
  return a;
}

/// Differences between the configs of hf mamba2 and nemotron_h: key names, and the default chunk size in tokens.
struct PlainMamba2 {
  const char *heads, *head_dim, *state;
  Count chunk;
};
Recurrent plain_mamba2(const Config& c, const PlainMamba2& own) {
  return {.kind = RecurrentKind::mamba2,
          .heads = c.size(own.heads, 128),
          .head_dim = c.size(own.head_dim, 64),
          .key_heads = c.size("n_groups", 8),
          .key_dim = c.size(own.state, 128),
          .taps = c.size("conv_kernel", 4),
          .convolution_bias = c.flag("use_conv_bias", true),
          .gated_norm = true,
          .chunk = c.size("chunk_size", own.chunk),
          .state_bytes = state_bytes(c)};
}

/// hf mamba2/modeling_mamba2.py: a norm, a Mamba-2 mixer, no MLP; a norm follows the gate, regardless of rms_norm.
/// Untied by default. No key states the context: Codestral Mamba was tested with up to 256k tokens (Mistral AI, July
/// 2024).
Arch mamba2(const Config& c, const Defaults& d) {
  Arch a = sized_arch(c, d);
  refuse_bias(c, {"use_bias"});
  require_words(c, "layer_types", {"linear_attention"});
  c.ignore({"rms_norm", "intermediate_size", "norm_before_gate", "time_step_rank"});
  a.attention = AttentionKind::none;
  a.recurrent = plain_mamba2(c, {.heads = "num_heads", .head_dim = "head_dim", .state = "state_size", .chunk = 256});
  if (a.recurrent.width() != mul(c.size("expand", 2), a.hidden))
    c.refuse("\"num_heads\" x \"head_dim\" must be \"expand\" x \"hidden_size\", since both count the channels");
  a.norm = NormKind::rms_norm;
  a.mlp = MlpKind::gated;
  a.activation = activation(c, {"hidden_act"}, "silu");
  a.mlps.push({.width = 0, .layers = LayerSet::all(a.layers)});
  a.position = Position::none;
  return a;
}

/// Width of a head: mamba_d_head. If that is absent or "auto", the width is mamba_d_ssm (if absent: `inner`) or, in
/// classes without that key, mamba_expand x hidden, divided by the number of heads.
Count head_width(const Config& c, Count hidden, Count heads, Count inner) {
  const json::Value* said = c.find("mamba_d_head");
  if (said != nullptr && !said->is_string()) return c.size("mamba_d_head", 64);
  const bool expanded = c.is_null("mamba_d_ssm") || (inner == 0 && !c.has("mamba_d_ssm"));
  const Count all = expanded ? mul(c.size("mamba_expand", 2), hidden) : c.size("mamba_d_ssm", inner);
  if (all % heads != 0)
    c.refuse("\"mamba_n_heads\": the heads must divide the channels (\"mamba_expand\" x \"hidden_size\") evenly");
  return all / heads;
}

/// Checks the number of channels, which is stated twice: as the number of heads times their width, and as mamba_d_ssm
/// or, if that is null or not a key of the class, mamba_expand x hidden. The classes also reject conflicting values.
void check_channels(const Config& c, Count hidden, Count width, Count inner) {
  constexpr std::string_view heads = "\"mamba_n_heads\" x \"mamba_d_head\"";
  c.require_repeated("mamba_d_ssm", heads, width);
  const bool expanded = c.has("mamba_expand") && (inner == 0 || c.is_null("mamba_d_ssm"));
  if (expanded)
    c.require_equal("\"mamba_expand\" x \"hidden_size\"", mul(c.size("mamba_expand", 2), hidden), heads, width);
}

/// Mamba-2 mixer from the keys of hf granitemoehybrid, falcon_h1 and bamba. `inner`: the class's default for
/// mamba_d_ssm; 0: the class has no such key.
Recurrent mamba2_mixer(const Config& c, Count hidden, bool norm, Count inner = 0) {
  refuse_bias(c, {"mamba_proj_bias"});
  const Count heads = c.size("mamba_n_heads", 128), width = head_width(c, hidden, heads, inner);
  check_channels(c, hidden, mul(heads, width), inner);
  return {.kind = RecurrentKind::mamba2,
          .heads = heads,
          .head_dim = width,
          .key_heads = c.size("mamba_n_groups", 1),
          .key_dim = c.size("mamba_d_state", 256),
          .taps = c.size("mamba_d_conv", 4),
          .convolution_bias = c.flag("mamba_conv_bias", true),
          .gated_norm = norm,
          .chunk = c.size("mamba_chunk_size", 256),
          .state_bytes = state_bytes(c)};
}

/// Layers with Mamba according to layer_types; absent if the config has no such list. Some classes name the list
/// layers_block_type.
std::optional<LayerSet> mamba_typed(const Config& c, const Arch& a) {
  return said_layers(c, {{"layer_types", layers_of_type(c, a, "mamba", "attention")},
                         {"layers_block_type", layers_of_type(c, a, "mamba", "attention", "layers_block_type")}});
}

/// hf granitemoehybrid/modeling_granitemoehybrid.py: every layer has a mixer, Mamba-2 or attention, and a gated MLP of
/// shared_intermediate_size, parallel to num_local_experts experts unless that number is 0. RoPE only if
/// position_embedding_type is "rope"; tied by default.
Arch granitemoehybrid(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  c.ignore({"attention_multiplier", "embedding_multiplier", "logits_scaling", "residual_multiplier", "mamba_expand",
            "normalization_function"});
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.position = c.text("position_embedding_type", "nope") == "rope" ? Position::rope : Position::none;
  LayerMixer m;
  m.attention = AttentionKind::none;
  m.layers = mamba_typed(c, a).value_or(LayerSet::all(a.layers));
  if (!m.layers.empty()) m.recurrent = mamba2_mixer(c, a.hidden, true);
  // These keys are present even if no layer has Mamba.
  c.ignore({"mamba_chunk_size", "mamba_conv_bias", "mamba_d_conv", "mamba_d_head", "mamba_d_state", "mamba_n_groups",
            "mamba_n_heads", "mamba_proj_bias", "mamba_ssm_cache_dtype"});
  set_mixer(a, m);
  const Count experts = c.count("num_local_experts", 8), width = a.mlp_width;
  a.mlp_width = c.size("shared_intermediate_size", 1024);
  if (experts > 0)
    set_experts(a, {.experts = experts,
                    .top_k = c.size("num_experts_per_tok", 2),
                    .width = width,
                    .shared_experts = 1,
                    .shared_width = a.mlp_width,
                    .layers = LayerSet::all(a.layers)});
  else
    c.ignore({"num_experts_per_tok"});
  return a;
}

/// Rank of the step: mamba_dt_rank; if absent or "auto", hidden / 16, rounded up.
Count step_rank(const Config& c, Count hidden) {
  const json::Value* said = c.find("mamba_dt_rank");
  return said == nullptr || said->is_string() ? ceil_div(hidden, 16) : c.size("mamba_dt_rank", 1);
}

/// The layers i with i % `period` = `offset`.
LayerSet one_in(const Config& c, const Arch& a, std::string_view period, Count usual, std::string_view offset,
                Count first) {
  const Count step = c.size(period, usual), from = c.count(offset, first);
  if (from >= step)
    c.refuse(fmt::format("\"{}\" must be below \"{}\", since it counts layers of one period", offset, period));
  return LayerSet::every(from, step, a.layers);
}

/// Jamba's layers with Mamba: as listed, otherwise all except one of every attn_layer_period layers.
LayerSet jamba_mamba(const Config& c, const Arch& a) {
  const LayerSet periodic = others(one_in(c, a, "attn_layer_period", 8, "attn_layer_offset", 4), a.layers);
  return listed_or(c, {c.has("layer_types") ? "layer_types" : "layers_block_type", mamba_typed(c, a)}, periodic,
                   {"attn_layer_period", "attn_layer_offset"});
}

/// Jamba's layers with experts: as listed, otherwise one of every expert_layer_period layers.
LayerSet jamba_experts(const Config& c, const Arch& a) {
  const LayerSet periodic = one_in(c, a, "expert_layer_period", 2, "expert_layer_offset", 1);
  return sparse_or(c, a, periodic, {"expert_layer_period", "expert_layer_offset"});
}

/// hf jamba/modeling_jamba.py: every layer has a mixer and a gated MLP. The mixer is attention without RoPE in one of
/// every attn_layer_period layers, and otherwise Mamba-1 with RMSNorms on the low-rank step, B and C. One of every
/// expert_layer_period layers has num_experts MLPs and a router without bias. Lists may name these layers
/// (layer_types, mlp_layer_types). A window has no effect.
Arch jamba(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  refuse_bias(c, {"mamba_proj_bias"});
  c.ignore({"use_mamba_kernels", "sliding_window"});
  a.position = Position::none;
  const Count channels = mul(c.size("mamba_expand", 2), a.hidden);
  LayerMixer m;
  m.attention = AttentionKind::none;
  m.layers = jamba_mamba(c, a);
  m.recurrent = {.kind = RecurrentKind::mamba,
                 .heads = channels,
                 .head_dim = 1,
                 .key_heads = 1,
                 .key_dim = c.size("mamba_d_state", 16),
                 .taps = c.size("mamba_d_conv", 4),
                 .rank = step_rank(c, a.hidden),
                 .convolution_bias = c.flag("mamba_conv_bias", true),
                 .inner_norms = c.flag("mamba_inner_layernorms", true),
                 .state_bytes = state_bytes(c)};
  set_mixer(a, m);
  const LayerSet sparse = jamba_experts(c, a);
  const Count experts = c.size({"num_experts", "num_local_experts"}, 16), top_k = c.size("num_experts_per_tok", 2);
  if (experts > 1) set_experts(a, {.experts = experts, .top_k = top_k, .width = a.mlp_width, .layers = sparse});
  return a;
}

/// hf bamba/modeling_bamba.py: every layer has a mixer and a gated MLP. The mixer is attention in the layers that
/// attn_layer_indices (counted from 0) or layer_types lists (default: none), and Mamba-2 in all others. Half of each
/// head has RoPE. `attention_bias` on q, k, v and o, `mlp_bias` on the MLP.
Arch bamba(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  c.ignore({"mamba_expand", "attn_rotary_emb", "partial_rotary_factor"});
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.mlp_bias = c.flag("mlp_bias", false);
  std::optional<LayerSet> listed = listed_layers(c, a, "attn_layer_indices");
  if (listed) listed = others(*listed, a.layers);
  LayerMixer m;
  m.attention = AttentionKind::none;
  m.layers = said_layers(c, {{"attn_layer_indices", listed}, {"layer_types", mamba_typed(c, a)}})
                 .value_or(LayerSet::all(a.layers));
  if (!m.layers.empty()) m.recurrent = mamba2_mixer(c, a.hidden, true);
  set_mixer(a, m);
  return a;
}

/// hf falcon_h1/modeling_falcon_h1.py: attention and Mamba-2 read the output of the same norm, and their results are
/// added; a gated MLP follows. Mamba-2 has an RMSNorm only with mamba_rms_norm. mamba_d_ssm is heads x head width.
/// Untied by default.
Arch falcon_h1(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  c.ignore({"mamba_expand", "mamba_use_mlp", "mamba_norm_before_gate", "attn_layer_indices"});
  refuse_bias(c, {"projectors_bias"});
  require_words(c, "layer_types", {"hybrid"});
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.mlp_bias = c.flag("mlp_bias", false);
  a.recurrent = mamba2_mixer(c, a.hidden, c.flag("mamba_rms_norm", false), 1024);
  return a;
}

/// Kinds of Nemotron-H's layers in order, by their names in transformers. They are read from a list under one of the
/// keys `words`, which transformers saves (attribute_map makes layer_types a synonym of layers_block_type), or from
/// the letters under `pattern`. Absent if the config has neither.
std::optional<std::vector<std::string>> nemotron_words(const Config& c, const char* pattern, KeyNames words) {
  for (const std::string_view key : words)
    if (c.has(key)) {
      require_words(c, key, {"mamba", "attention", "mlp", "moe"});
      return todays_words(c.texts(key));
    }
  if (!c.has(pattern)) return std::nullopt;
  std::vector<std::string> all;
  for (const char letter : c.text(pattern, "")) {
    const std::string_view word = letter == 'M'   ? "linear_attention"
                                  : letter == '*' ? "full_attention"
                                  : letter == '-' ? "mlp"
                                  : letter == 'E' ? "moe"
                                                  : "";
    if (word.empty()) c.refuse(fmt::format("\"{}\": expected letters M, *, - and E, got \"{}\"", pattern, letter));
    all.emplace_back(word);
  }
  return all;
}

struct NemotronLayers {
  LayerSet mamba, attention, dense, experts;
};
NemotronLayers nemotron_layers(const Config& c, const Arch& a) {
  const auto words = nemotron_words(c, "hybrid_override_pattern", {"layers_block_type", "layer_types"})
                         .value_or(std::vector<std::string>());
  if (std::ssize(words) != a.layers)
    c.refuse(
        fmt::format("\"hybrid_override_pattern\" or \"layers_block_type\": expected one entry per layer ({}), got {}",
                    a.layers, words.size()));
  NemotronLayers n;
  for (Count i = 0; i < a.layers; ++i) {
    const std::string& word = words[static_cast<std::size_t>(i)];
    LayerSet& set = word == "linear_attention" ? n.mamba
                    : word == "full_attention" ? n.attention
                    : word == "mlp"            ? n.dense
                                               : n.experts;
    set.insert(i);
  }
  return n;
}

/// MTP modules. Their two layers, attention and experts, count as one layer with both.
Mtp nemotron_modules(const Config& c, const Arch& a, const NemotronLayers& n) {
  const std::vector<std::string> usual{"full_attention", "moe"};
  const auto words = nemotron_words(c, "mtp_hybrid_override_pattern", {"mtp_layers_block_type"});
  Mtp m = modules_like_last(c, a);
  if (m.modules == 0 || words.value_or(usual) != usual || n.attention.empty()) return {};
  m.mixer_of = n.attention.first();
  m.mlp_of = n.experts.first();
  return m;
}

/// hub nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16, modeling_nemotron_h.py: every layer is a norm followed by Mamba-2,
/// attention without RoPE, a plain MLP, or plain experts (with moe_latent_size between two projections) parallel to a
/// shared expert. The load-balancing bias is a buffer.
Arch nemotron_h(const Config& c, const Defaults& d) {
  Defaults own = d;
  own.head_dim = c.size({"head_dim", "attention_head_dim"}, d.head_dim);
  Arch a = base_arch(c, own);
  refuse_bias(c, {"mamba_proj_bias", "use_bias"});
  c.ignore({"expand", "mamba_hidden_act", "layer_norm_epsilon", "moe_shared_expert_overlap", "rescale_prenorm_residual",
            "num_attention_heads", "time_step_rank"});
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.mlp_bias = c.flag("mlp_bias", false);
  a.mlp = MlpKind::plain;
  a.activation = activation(c, {"mlp_hidden_act"}, "relu2");
  a.position = Position::none;
  const NemotronLayers n = nemotron_layers(c, a);
  LayerMixer m;
  m.attention = AttentionKind::none;
  m.recurrent = plain_mamba2(
      c, {.heads = "mamba_num_heads", .head_dim = "mamba_head_dim", .state = "ssm_state_size", .chunk = 128});
  m.layers = n.mamba;
  set_mixer(a, m);
  LayerMixer no_mixer;
  no_mixer.attention = AttentionKind::none;
  no_mixer.layers = others(others(n.dense, a.layers).filtered(n.experts, false), a.layers);
  set_mixer(a, no_mixer);
  const LayerSet without = others(no_mixer.layers, a.layers);
  if (n.dense.empty()) a.mlp_width = 0;
  if (!without.empty()) a.mlps.push({.width = 0, .layers = without});
  if (n.experts.empty()) return a;
  const Count shared = c.count("n_shared_experts", 1);
  set_experts(a, {.experts = c.size({"n_routed_experts", "num_local_experts"}, 8),
                  .top_k = c.size("num_experts_per_tok", 2),
                  .width = c.size("moe_intermediate_size", 7688),
                  .latent_width = c.is_null("moe_latent_size") ? 0 : c.count("moe_latent_size", 0),
                  .shared_experts = shared,
                  .shared_width = shared > 0 ? c.size("moe_shared_expert_intermediate_size", 7688) : 0,
                  .router_correction = true,
                  .layers = n.experts});
  a.mtp = nemotron_modules(c, a, n);
  return a;
}

}  // namespace

std::vector<Family> mamba_families() {
  return {
      {"mamba", mamba, {32, 768, 0, 0, 0, 0, 50280, 2048, true}},
      {"falcon_mamba", mamba, {64, 4096, 0, 0, 0, 0, 65024, 8192, true}},
      {"mamba2", mamba2, {64, 4096, 0, 0, 0, 0, 32768, 256000}},
      {"jamba", jamba, {32, 4096, 32, 8, 0, 14336, 65536, 262144}},
      {"bamba", bamba, {32, 4096, 32, 8, 0, 14336, 128000, 262144}},
      {"granitemoehybrid", granitemoehybrid, {32, 4096, 32, 0, 0, 11008, 32000, 131072, true}},
      {"falcon_h1", falcon_h1, {32, 4096, 32, 8, 0, 14336, 128000, 8192}},
      {"nemotron_h", nemotron_h, {52, 4096, 32, 8, 128, 21504, 131072, 4096}},
  };
}

}  // namespace llmcalc::import
