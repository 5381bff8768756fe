#include "presets/import/families.hpp"
#include "text/leading_number.hpp"
#include "text/names.hpp"

namespace llmcalc::import {

namespace {

/// hf gemma/modeling_gemma.py: gated GELU (tanh), RMSNorms that multiply by 1 + w, head width 256, tied by default;
/// hidden_activation replaces hidden_act, which is ignored. `attention_bias` on q, k, v and o.
Arch gemma(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.activation = activation(c, {"hidden_activation"}, "gelu_pytorch_tanh");
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  return a;
}

void sandwich(Arch& a) {
  a.norm_placement = NormPlacement::both;
  a.norms_per_layer = 4;
}

Count window(const Config& c) { return c.is_null("sliding_window") ? 0 : c.count("sliding_window", 4096); }

/// hf vaultgemma/modeling_vaultgemma.py: even layers have a sliding window.
Arch vaultgemma(const Config& c, const Defaults& d) {
  Arch a = gemma(c, d);
  const LayerSet even = LayerSet::every(0, 2, a.layers);
  set_reach(a, {window(c)}, layers_of_type(c, a, "sliding_attention").value_or(even));
  return a;
}

/// hf gemma2/modeling_gemma2.py: VaultGemma with four norms per layer.
Arch gemma2(const Config& c, const Defaults& d) {
  Arch a = vaultgemma(c, d);
  sandwich(a);
  return a;
}

/// Makes attention bidirectional. An encoder's window of w tokens covers w tokens on each side (hf masking_utils.py,
/// sliding_window_bidirectional_overlay).
void see_both_ways(Arch& a) {
  const LocalAttention causal = a.local;
  a.bidirectional = true;
  a.local = {};
  if (causal.reach.limited()) set_reach(a, {add(mul(2, causal.reach.tokens), 1)}, causal.layers);
}

/// Appends a decoder's layers, with cross-attention to the encoder's output.
void add_decoder(const Config& c, Arch& a, const Arch& decoder) {
  const Count encoder = a.layers;
  LayerMixer full;
  static_cast<Mixer&>(full) = decoder;
  full.cross_attention = true;
  LayerMixer near = full;
  near.reach = decoder.local.reach;
  for (Count i = 0; i < decoder.layers; ++i)
    (decoder.local.layers.contains(i) ? near : full).layers.insert(encoder + i);
  a.layers = add(encoder, decoder.layers);
  require_layers(c, a.layers);
  for (const LayerMixer& m : {full, near}) set_mixer(a, m);
  if (decoder.mlp_width != a.mlp_width) a.mlps.push({decoder.mlp_width, LayerSet::every(encoder, 1, a.layers)});
}

/// hf t5gemma/modeling_t5gemma.py: an encoder and a decoder of Gemma 2 layers; decoder layers also have cross-attention
/// to the encoder's output, with norms before and after it and without RoPE. Each half has a token embedding, and the
/// head is tied to the decoder's embedding. The two embeddings count as one table and an untied head, which have the
/// same number of parameters.
Arch t5gemma(const Config& c, const Defaults& d) {
  for (const char* half : {"encoder", "decoder"})
    if (!c.has(half)) c.refuse("\"" + std::string(half) + "\" is missing; it must contain the sizes of that half");
  if (!c.flag("tie_word_embeddings", true))
    c.refuse("\"tie_word_embeddings\" is false; a third token embedding is not supported");
  const Config halves[] = {c.object("encoder"), c.object("decoder")};
  Arch a = gemma2(halves[0], d);
  c.require_repeated("vocab_size", "\"vocab_size\" of \"encoder\"", a.vocabulary);
  a.tied_head = false;
  see_both_ways(a);
  if (!c.flag("is_encoder_decoder", true)) {
    a.head = {.kind = HeadKind::none};
    return a;
  }
  const Arch decoder = gemma2(halves[1], d);
  if (decoder.hidden != a.hidden || decoder.vocabulary != a.vocabulary || decoder.activation != a.activation)
    c.refuse("\"decoder\" and \"encoder\" differ in width, vocabulary or activation; these must be equal");
  add_decoder(c, a, decoder);
  return a;
}

/// hf gemma3/modeling_gemma3.py: four norms per layer, RMSNorms of the head width on q and k; all layers except every
/// sixth (sliding_window_pattern) have a sliding window.
Arch gemma3(const Config& c, const Defaults& d) {
  Arch a = gemma(c, d);
  sandwich(a);
  a.qk_norm = QkNorm::per_head;
  const Count step = c.first_size({"sliding_window_pattern", "_sliding_window_pattern"}, 6);
  const LayerSet local = others(LayerSet::every(step - 1, step, a.layers), a.layers);
  set_reach(a, {window(c)}, layers_of_type(c, a, "sliding_attention").value_or(local));
  return a;
}

/// Layers of the model from `first` on.
LayerSet layers_from(const Arch& a, Count first) { return LayerSet::every(first, 1, a.layers); }

/// Layer index written as an object key: "5" or "05".
Count full_layer_number(const Config& c, const std::string& name) {
  if (name.empty() || name.size() > 6 || name.find_first_not_of("0123456789") != std::string::npos)
    c.refuse("expected layer numbers, got " + in_quotes(name));
  return leading_whole(name);
}

/// The entry of per_layer_config that applies to the full layers. Transformers 5 writes one entry per layer: {"5":
/// {"head_dim": 512}}.
Config full_layers_config(const Config& c, const LayerSet& full) {
  const Config by_layer = c.object("per_layer_config");
  LayerSet named;
  std::string first;
  for (const auto& [name, sizes] : by_layer.value().items()) {
    const Count layer = full_layer_number(by_layer, name);
    if (layer < max_layers) named.insert(layer);
    if (first.empty()) first = name;
    if (sizes != by_layer.value()[first])
      by_layer.refuse("its layers differ; full-attention layers with different heads are not supported");
  }
  if (named != full || first.empty()) by_layer.refuse("expected exactly the layers with full attention");
  const Config one = by_layer.object(first);
  one.size("head_dim", 1);
  one.size("num_key_value_heads", 1);
  if (!one.unread().empty()) one.refuse(in_quotes(one.unread().front()) + " is not supported per layer");
  return one;
}

/// Sets the head width and KV heads of Gemma 4's full layers.
void set_full_heads(const Config& c, Mixer& full, const LayerSet& layers) {
  const bool listed = c.has("per_layer_config") && !says_nothing(*c.find("per_layer_config"));
  const Count kv_heads = full.kv_heads;
  if (listed) {
    const Config one = full_layers_config(c, layers);
    full.head_dim = one.size("head_dim", full.head_dim);
    full.kv_heads = one.size("num_key_value_heads", full.kv_heads);
  } else {
    full.head_dim = c.size("global_head_dim", 512);
    full.kv_heads = c.size("num_global_key_value_heads", full.kv_heads);
  }
  full.key_is_value = c.flag("attention_k_eq_v", false);
  if (!full.key_is_value) full.kv_heads = kv_heads;
}

/// Sets Gemma 4's mixers. Window layers that compute their keys and values have the model's default mixer. Full
/// layers have heads of global_head_dim and, with attention_k_eq_v, num_global_key_value_heads KV heads whose keys
/// are also the values. The last layer is full, regardless of layer_types (hf configuration_gemma4.py).
void gemma4_mixers(const Config& c, Arch& a, Count first_shared, Count usual_window) {
  const LayerSet listed = layers_of_type(c, a, "sliding_attention").value_or([&] {
    return others(LayerSet::every(5, 6, a.layers), a.layers);
  }());
  const LayerSet slide = listed.filtered(layers_from(a, a.layers - 1), false);
  const LayerSet shared = layers_from(a, first_shared), full = others(slide, a.layers);
  const Count window = c.count("sliding_window", usual_window);
  const Reach reach{window < a.context ? window : 0};
  LayerMixer global;
  static_cast<Mixer&>(global) = a;
  set_full_heads(c, global, full);
  global.layers = full.filtered(shared, false);
  LayerMixer shared_slide, shared_full = global;
  static_cast<Mixer&>(shared_slide) = a;
  shared_slide.shared_kv = shared_full.shared_kv = true;
  shared_full.key_is_value = false;
  shared_slide.reach = reach;
  shared_slide.layers = slide.filtered(shared, true);
  shared_full.layers = full.filtered(shared, true);
  set_reach(a, reach, slide.filtered(shared, false));
  for (const LayerMixer& m : {global, shared_slide, shared_full}) set_mixer(a, m);
}

/// Adds experts parallel to the dense MLP of every layer. Both have separate norms; the router has a norm, and a
/// factor per expert.
void gemma4_experts(const Config& c, Arch& a) {
  if (!c.flag("enable_moe_block", false)) return;
  set_experts(a, {.experts = c.size("num_experts", 128),
                  .top_k = c.size("top_k_experts", 8),
                  .width = c.size({"moe_intermediate_size", "expert_intermediate_size"}, 704),
                  .router_scales = true,
                  .with_dense_mlp = true,
                  .layers = layers_from(a, 0)});
}

/// Gemma 3 with weight-free norms on values and a stored factor per layer. The last num_kv_shared_layers layers read
/// the keys and values of earlier layers and, with use_double_wide_mlp, have MLPs twice as wide.
Arch gemma4_layers(const Config& c, const Defaults& d, Count usual_window) {
  Arch a = gemma(c, d);
  sandwich(a);
  a.qk_norm = QkNorm::per_head;
  a.value_norm = true;
  a.output_scale = true;
  const Count shared = c.is_null("num_kv_shared_layers") ? 0 : c.count("num_kv_shared_layers", 0);
  if (shared >= a.layers) c.refuse("\"num_kv_shared_layers\" must be below the number of layers; lower it");
  gemma4_mixers(c, a, a.layers - shared, usual_window);
  if (shared > 0 && c.flag("use_double_wide_mlp", false))
    a.mlps.push({mul(2, a.mlp_width), layers_from(a, a.layers - shared)});
  return a;
}

/// hf gemma4/modeling_gemma4.py, the text model: with experts and per-layer inputs.
Arch gemma4(const Config& c, const Defaults& d) {
  Arch a = gemma4_layers(c, d, 512);
  gemma4_experts(c, a);
  const Count width = c.is_null("hidden_size_per_layer_input") ? 0 : c.count("hidden_size_per_layer_input", 256);
  const Count rows = c.size("vocab_size_per_layer_input", 262144);
  if (width > 0) a.per_layer = {.rows = rows, .width = width};
  return a;
}

/// hf gemma4_unified/modeling_gemma4_unified.py, the text model: Gemma 4 without experts and per-layer inputs.
Arch gemma4_unified(const Config& c, const Defaults& d) {
  for (const char* key : {"enable_moe_block", "hidden_size_per_layer_input"})
    if (c.has(key) && !says_nothing(*c.find(key)))
      c.refuse("\"" + std::string(key) + "\" is not supported in this family");
  return gemma4_layers(c, d, 1024);
}

/// hf muse_glimmer/modeling_muse_glimmer.py, the text model: Gemma 2's four norms, a gate per channel on attention's
/// output, weight-free norms on q and k. All layers except every fourth, counted from the last, have a sliding window
/// and RoPE; the others have neither. Excludes a weight-free norm after the token embedding.
Arch muse_glimmer(const Config& c, const Defaults& d) {
  Arch a = gemma(c, d);
  a.activation = activation(c, {"hidden_activation"}, "silu");
  sandwich(a);
  a.qk_norm = QkNorm::weight_free;
  a.attention_gate = AttentionGate::per_channel;
  c.ignore({"post_norm_eps"});
  const LayerSet full = LayerSet::every((a.layers - 1) % 4, 4, a.layers);
  const Count window = c.is_null("sliding_window") ? 0 : c.count("sliding_window", 2048);
  set_reach(a, {window}, layers_of_type(c, a, "sliding_attention").value_or(others(full, a.layers)));
  return a;
}

/// Sets MLP widths: a single width, or a per-layer list with at most two different widths.
void gemma3n_mlps(const Config& c, Arch& a) {
  const std::vector<Count> widths = c.counts("intermediate_size");
  if (static_cast<Count>(widths.size()) != a.layers)
    c.refuse("\"intermediate_size\" has " + std::to_string(widths.size()) + " widths for " + std::to_string(a.layers) +
             " layers; specify one per layer");
  a.mlp_width = widths.front();
  LayerMlp other;
  for (Count i = 0; i < a.layers; ++i) {
    const Count width = widths[static_cast<std::size_t>(i)];
    if (width == a.mlp_width) continue;
    if (other.width > 0 && width != other.width) c.refuse("\"intermediate_size\" has more than two different widths");
    other.width = width;
    other.layers.insert(i);
  }
  if (other.width > 0) a.mlps.push(other);
}

/// hf gemma3n/modeling_gemma3n.py, the text model: Gemma 4's norms, per-layer inputs and shared keys and values, with
/// one head width; residual streams with alternating updates, and a low-rank branch parallel to attention. Every
/// fifth layer is full. The sparsity of a layer's gate (activation_sparsity_pattern) affects no count. Checkpoints
/// contain unused key and value matrices for layers that share keys and values; these are not counted.
Arch gemma3n(const Config& c, const Defaults& d) {
  const bool listed = c.has("intermediate_size") && c.find("intermediate_size")->is_array();
  Arch a = gemma(c, d);
  sandwich(a);
  if (listed) gemma3n_mlps(c, a);
  a.qk_norm = QkNorm::per_head;
  a.value_norm = true;
  c.ignore({"activation_sparsity_pattern", "altup_active_idx", "altup_coef_clip", "altup_correct_scale"});
  const Count shared = c.is_null("num_kv_shared_layers") ? 0 : c.count("num_kv_shared_layers", 15);
  if (shared >= a.layers) c.refuse("\"num_kv_shared_layers\" must be below the number of layers; lower it");
  const LayerSet full = LayerSet::every(4, 5, a.layers);
  const LayerSet slide = layers_of_type(c, a, "sliding_attention").value_or(others(full, a.layers));
  const LayerSet sharing = layers_from(a, a.layers - shared);
  const Count window = c.count("sliding_window", 512);
  const Reach reach{window < a.context ? window : 0};
  LayerMixer near, far;
  static_cast<Mixer&>(near) = static_cast<Mixer&>(far) = a;
  near.shared_kv = far.shared_kv = true;
  near.reach = reach;
  near.layers = slide.filtered(sharing, true);
  far.layers = others(slide, a.layers).filtered(sharing, true);
  set_reach(a, reach, slide.filtered(sharing, false));
  for (const LayerMixer& m : {near, far}) set_mixer(a, m);
  a.per_layer = {.rows = c.size("vocab_size_per_layer_input", 262144),
                 .width = c.size("hidden_size_per_layer_input", 256)};
  a.streams = c.size("altup_num_inputs", 4);
  a.altup = true;
  a.laurel_rank = c.size("laurel_rank", 64);
  return a;
}

}  // namespace

std::vector<Family> gemma_families() {
  return {
      {"gemma", gemma, {28, 3072, 16, 16, 256, 24576, 256000, 8192, true}},
      {"gemma2", gemma2, {26, 2304, 8, 4, 256, 9216, 256000, 8192, true}},
      {"vaultgemma", vaultgemma, {26, 2304, 8, 4, 256, 9216, 256000, 8192, true}},
      {"t5gemma", t5gemma, {26, 2304, 8, 4, 256, 9216, 256000, 8192, true}},
      {"gemma3_text", gemma3, {26, 2304, 8, 4, 256, 9216, 262208, 131072, true}},
      {"gemma3n_text", gemma3n, {35, 2048, 8, 2, 256, 16384, 262400, 32768, true}},
      {"gemma4_text", gemma4, {30, 2304, 8, 4, 256, 9216, 262144, 131072, true}},
      {"gemma4_unified_text", gemma4_unified, {30, 2304, 8, 4, 256, 9216, 262144, 262144, true}},
      {"muse_glimmer_text", muse_glimmer, {52, 6656, 32, 2, 128, 19968, 202048, 131072}},
  };
}

}  // namespace llmcalc::import
