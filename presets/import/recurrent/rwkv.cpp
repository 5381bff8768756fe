#include <cmath>

#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// Rank of a low-rank projection under `key` (fla layers/rwkv7.py). If it is null, the rank is `factor` sqrt(hidden),
/// multiplied by the head width over 64 if `wide`, and rounded to a multiple of 32, with ties rounded to even.
Count rank(const Config& c, std::string_view key, Count otherwise, double factor, Count hidden, Count head, bool wide) {
  if (!c.is_null(key)) return c.size(key, otherwise);
  const double heads = wide ? static_cast<double>(head) / 64 : 1;
  const double whole = std::nearbyint(factor * std::sqrt(static_cast<double>(hidden)) * heads / 32);
  return std::max<Count>(32, 32 * static_cast<Count>(whole));
}

Recurrent time_mix(const Config& c, Count hidden) {
  const Count given = c.is_null("head_dim") ? 0 : c.size("head_dim", c.has("num_heads") ? 0 : 64);
  const Count heads = given > 0 ? hidden / given : c.size("num_heads", 1), width = given > 0 ? given : hidden / heads;
  c.require_repeated("num_heads", "\"hidden_size\" / \"head_dim\"", heads);
  if (mul(heads, width) != hidden)
    c.refuse("\"hidden_size\" " + std::to_string(hidden) +
             " is not a multiple of the head width; set another head_dim");
  return {.kind = RecurrentKind::rwkv7,
          .heads = heads,
          .head_dim = width,
          .key_heads = heads,
          .key_dim = width,
          .rank = rank(c, "decay_low_rank_dim", 64, 2.5, hidden, width, true),
          .step_rank = rank(c, "a_low_rank_dim", 64, 2.5, hidden, width, true),
          .gate_rank = rank(c, "gate_low_rank_dim", 128, 5, hidden, width, false),
          .value_rank = rank(c, "v_low_rank_dim", 16, 1.7, hidden, width, true),
          .chunk = 64};
}

/// Throws InputError unless values are as wide as the model in every layer.
void check_values(const Config& c, Count hidden) {
  if (!c.has("value_dim")) return;
  const bool one = c.find("value_dim")->is_number();
  for (const Count width : one ? std::vector<Count>{c.size("value_dim", hidden)} : c.counts("value_dim"))
    if (width != hidden)
      c.refuse("\"value_dim\" contains " + std::to_string(width) +
               "; only values as wide as hidden_size are supported, as in all released models");
}

/// fla-org/flash-linear-attention, models/rwkv7/modeling_rwkv7.py and layers/rwkv7.py: LayerNorms, including one
/// after the embedding (norm_first); time mixing with token shift, in which all layers except the first blend their
/// values with the first layer's; a plain MLP of squared ReLU with token shift. Kernels process chunks of 64
/// tokens.
Arch rwkv7(const Config& c, const Defaults& d) {
  Arch a = sized_arch(c, d);
  a.context = c.size("max_position_embeddings", d.context);
  c.ignore({"fuse_norm", "num_attention_heads", "num_key_value_heads"});
  if (c.has("attn")) c.refuse("\"attn\" adds attention to some layers; RWKV-7 with attention is not supported");
  check_values(c, a.hidden);
  a.attention = AttentionKind::none;
  a.recurrent = time_mix(c, a.hidden);
  LayerMixer first;
  static_cast<Mixer&>(first) = a;
  first.recurrent.value_rank = 0;
  first.layers.insert(0);
  set_mixer(a, first);
  a.norm = c.flag("norm_bias", true) ? NormKind::layer_norm : NormKind::layer_norm_no_bias;
  a.embedding_norm = c.flag("norm_first", true);
  a.mlp = MlpKind::plain;
  a.activation = activation(c, {"hidden_act"}, "sqrelu");
  const double inner = c.number("hidden_ratio", 4) * static_cast<double>(a.hidden);
  a.mlp_width =
      c.has("intermediate_size") ? c.size("intermediate_size", 1) : mul(32, ceil_div(static_cast<Count>(inner), 32));
  a.mlp_shift = true;
  a.position = Position::none;
  return a;
}

/// RWKV-5, or RWKV-6 if `ranks` is not empty: time mixing in all layers; LayerNorms with bias, including one after the
/// embedding; an MLP of squared ReLU, whose width is int(3.5 x hidden) in multiples of 32 if intermediate_size is null.
/// The MLP and its gate each have a token shift. Untied. In these configs, num_attention_heads is the head width and is
/// therefore not read.
Arch earlier_rwkv(const Config& c, const Defaults& d, const Recurrent& ranks) {
  Arch a = sized_arch(c, d);
  c.ignore({"head_size_divisor", "layer_norm_epsilon", "model_version", "num_attention_heads", "rescale_every"});
  if (c.has("attention_hidden_size") && c.size("attention_hidden_size", a.hidden) != a.hidden)
    c.refuse("\"attention_hidden_size\" must equal \"hidden_size\", as in all released models");
  const Count head = c.size("head_size", 64);
  if (a.hidden % head != 0) c.refuse("\"hidden_size\" must be a multiple of \"head_size\"");
  a.attention = AttentionKind::none;
  a.recurrent = ranks;
  a.recurrent.kind = RecurrentKind::rwkv6;
  a.recurrent.heads = a.recurrent.key_heads = a.hidden / head;
  a.recurrent.head_dim = a.recurrent.key_dim = head;
  a.norm = NormKind::layer_norm;
  a.embedding_norm = true;
  a.mlp = MlpKind::plain;
  a.activation = Activation::relu_squared;
  const Count inner = mul(mul(7, a.hidden) / 64, 32);
  a.mlp_width = c.has("intermediate_size") ? c.size("intermediate_size", inner) : inner;
  a.mlp_shift = a.mlp_receptance = true;
  a.position = Position::none;
  return a;
}

/// hub RWKV/rwkv-5-world-1b5, modeling_rwkv5.py (Eagle, arXiv:2404.05892): learned token-shift coefficients and
/// decays.
Arch rwkv5(const Config& c, const Defaults& d) { return earlier_rwkv(c, d, {}); }

/// hub RWKV/rwkv-6-world-1b6, modeling_rwkv6.py (Finch): low-rank projections of rank 32 for the token shift and 64
/// for the decay, doubled if hidden_size is 4096. Kernels process chunks of 64 tokens.
Arch rwkv6(const Config& c, const Defaults& d) {
  const Count times = c.size("hidden_size", d.hidden) == 4096 ? 2 : 1;
  return earlier_rwkv(c, d, {.rank = 64 * times, .mix_rank = 32 * times, .chunk = 64});
}

}  // namespace

/// The context of RWKV-5 and RWKV-6, for which no key exists, is the training length of 4096 tokens (arXiv:2404.05892).
std::vector<Family> rwkv_families() {
  return {
      {"rwkv7", rwkv7, {24, 2048, 0, 0, 0, 0, 32000, 2048}},
      {"rwkv6", rwkv6, {24, 768, 0, 0, 0, 0, 65536, 4096}},
      {"rwkv5", rwkv5, {24, 768, 0, 0, 0, 0, 65536, 4096}},
  };
}

}  // namespace llmcalc::import
