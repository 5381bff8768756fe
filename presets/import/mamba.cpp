#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// Refuses a bias on the projections, which no released model has.
void refuse_bias(const Config& c, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys)
    if (c.flag(key, false))
      c.refuse("\"" + std::string(key) + "\" is true; Mamba's projections with biases are not known");
}

Count state_bytes(const Config& c) { return c.text("mamba_ssm_cache_dtype", "float32") == "float32" ? 4 : 2; }

/// hf mamba/modeling_mamba.py and falcon_mamba/modeling_falcon_mamba.py: a norm, a Mamba-1 mixer, no MLP.
/// intermediate_size overrides expand x hidden; time_step_rank "auto" is hidden / 16. FalconMamba's norms of B, C and
/// the step have no weights. Trained on 2048 and 8192 tokens (arXiv:2312.00752, arXiv:2410.05355), which no key says.
Arch mamba(const Config& c, const Defaults& d) {
  Arch a;
  a.layers = c.required({"num_hidden_layers", "n_layer"}, d.layers);
  require_layers(c, a.layers);
  a.hidden = a.embedding_width = c.required({"hidden_size", "d_model"}, d.hidden);
  a.vocabulary = c.required({"vocab_size"}, d.vocabulary);
  a.context = d.context;
  a.tied_head = c.flag("tie_word_embeddings", d.tied);
  refuse_bias(c, {"use_bias"});
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

/// Keys of hf granitemoehybrid and falcon_h1; `heads` and `width`: their number and width where no key says them.
Recurrent mamba2(const Config& c, bool norm) {
  refuse_bias(c, {"mamba_proj_bias"});
  return {.kind = RecurrentKind::mamba2,
          .heads = c.size("mamba_n_heads", 128),
          .head_dim = c.size("mamba_d_head", 64),
          .key_heads = c.size("mamba_n_groups", 1),
          .key_dim = c.size("mamba_d_state", 256),
          .taps = c.size("mamba_d_conv", 4),
          .convolution_bias = c.flag("mamba_conv_bias", true),
          .gated_norm = norm,
          .chunk = c.size("mamba_chunk_size", 256),
          .state_bytes = state_bytes(c)};
}

/// hf granitemoehybrid/modeling_granitemoehybrid.py: every layer is a mixer, Mamba-2 or attention, and a gated MLP of
/// shared_intermediate_size, beside num_local_experts experts where there are any. Rotation only where
/// position_embedding_type says so; tied by default.
Arch granitemoehybrid(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  c.ignore({"attention_multiplier", "embedding_multiplier", "logits_scaling", "residual_multiplier", "mamba_expand",
            "normalization_function"});
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.position = c.text("position_embedding_type", "nope") == "rope" ? Position::rope : Position::none;
  LayerMixer m;
  m.attention = AttentionKind::none;
  m.layers = layers_of_type(c, a, "mamba").value_or(LayerSet::all(a.layers));
  if (!m.layers.empty()) m.recurrent = mamba2(c, true);
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

/// hf falcon_h1/modeling_falcon_h1.py: attention and Mamba-2 read the same norm and are added, then a gated MLP; an
/// RMSNorm in the mixer only under mamba_rms_norm. mamba_d_ssm is heads x their width. Untied by default.
Arch falcon_h1(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  c.ignore({"mamba_expand", "mamba_d_ssm", "mamba_use_mlp", "mamba_norm_before_gate", "attn_layer_indices"});
  refuse_bias(c, {"projectors_bias"});
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.mlp_bias = c.flag("mlp_bias", false);
  a.recurrent = mamba2(c, c.flag("mamba_rms_norm", false));
  return a;
}

/// What the letters of hybrid_override_pattern, or the words of layers_block_type, make of the layers.
struct NemotronLayers {
  LayerSet mamba, attention, dense, experts;
};
NemotronLayers nemotron_layers(const Config& c, const Arch& a) {
  NemotronLayers n;
  const bool words = c.has("layers_block_type");
  const std::vector<std::string> types = words ? c.texts("layers_block_type") : std::vector<std::string>();
  const std::string pattern = c.text("hybrid_override_pattern", "");
  const std::size_t given = words ? types.size() : pattern.size();
  if (static_cast<Count>(given) != a.layers)
    c.refuse("\"hybrid_override_pattern\" or \"layers_block_type\": expected one entry per layer (" +
             std::to_string(a.layers) + "), got " + std::to_string(given));
  for (Count i = 0; i < a.layers; ++i) {
    const std::string one = words ? types[static_cast<std::size_t>(i)] : pattern.substr(static_cast<std::size_t>(i), 1);
    if (one == "M" || one == "mamba")
      n.mamba.insert(i);
    else if (one == "*" || one == "attention")
      n.attention.insert(i);
    else if (one == "-" || one == "mlp")
      n.dense.insert(i);
    else if (one == "E" || one == "moe")
      n.experts.insert(i);
    else
      c.refuse("layer " + std::to_string(i) + " is \"" + one + "\"; expected M, *, - or E");
  }
  return n;
}

/// Modules of two of the model's layers, attention and experts, which are one layer with both.
Mtp nemotron_modules(const Config& c, const Arch& a, const NemotronLayers& n) {
  const std::vector<std::string> words{"attention", "moe"};
  const bool known = c.has("mtp_layers_block_type") ? c.texts("mtp_layers_block_type") == words
                                                    : c.text("mtp_hybrid_override_pattern", "*E") == "*E";
  Mtp m = modules_like_last(c, a);
  if (m.modules == 0 || !known || n.attention.empty()) return {};
  m.mixer_of = n.attention.first();
  m.mlp_of = n.experts.first();
  return m;
}

/// hub nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16, modeling_nemotron_h.py: every layer is one norm and one of Mamba-2,
/// attention without rotation, a plain MLP, and plain experts (with moe_latent_size between two projections) beside a
/// shared one. The load-balancing bias is a buffer.
Arch nemotron_h(const Config& c, const Defaults& d) {
  Defaults own = d;
  own.head_dim = c.size({"head_dim", "attention_head_dim"}, d.head_dim);
  Arch a = base_arch(c, own);
  refuse_bias(c, {"mamba_proj_bias", "use_bias"});
  c.ignore({"expand", "mamba_hidden_act", "layer_norm_epsilon", "moe_shared_expert_overlap", "rescale_prenorm_residual",
            "num_attention_heads"});
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.mlp_bias = c.flag("mlp_bias", false);
  a.mlp = MlpKind::plain;
  a.activation = activation(c, {"mlp_hidden_act"}, "relu2");
  a.position = Position::none;
  const NemotronLayers n = nemotron_layers(c, a);
  LayerMixer m;
  m.attention = AttentionKind::none;
  m.recurrent = {.kind = RecurrentKind::mamba2,
                 .heads = c.size("mamba_num_heads", 128),
                 .head_dim = c.size("mamba_head_dim", 64),
                 .key_heads = c.size("n_groups", 8),
                 .key_dim = c.size("ssm_state_size", 128),
                 .taps = c.size("conv_kernel", 4),
                 .convolution_bias = c.flag("use_conv_bias", true),
                 .gated_norm = true,
                 .chunk = c.size("chunk_size", 128),
                 .state_bytes = state_bytes(c)};
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
  set_experts(a, {.experts = c.size("n_routed_experts", 8),
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
      {"granitemoehybrid", granitemoehybrid, {32, 4096, 32, 0, 0, 11008, 32000, 131072, true}},
      {"falcon_h1", falcon_h1, {32, 4096, 32, 8, 0, 14336, 128000, 8192}},
      {"nemotron_h", nemotron_h, {52, 4096, 32, 8, 128, 21504, 131072, 4096}},
  };
}

}  // namespace llmcalc::import
