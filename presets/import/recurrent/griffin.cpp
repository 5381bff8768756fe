#include "presets/import/families.hpp"
#include "text/names.hpp"

namespace llmcalc::import {

namespace {

/// Layers marked "recurrent" in block_types, a list that repeats over the layers. All other layers have attention.
LayerSet recurrent_layers(const Config& c, const Arch& a) {
  const char* key = c.has("_block_types") ? "_block_types" : "block_types";
  std::vector<std::string> types{"recurrent", "recurrent", "attention"};
  if (c.has(key)) types = c.texts(key);
  c.ignore({"block_types", "layers_block_type"});
  if (types.empty()) c.refuse(in_quotes(key) + " is empty; expected the layer types of one period");
  LayerSet found;
  for (Count i = 0; i < a.layers; ++i) {
    const std::string& type = types[static_cast<std::size_t>(i) % types.size()];
    if (type == "recurrent")
      found.insert(i);
    else if (type != "attention")
      c.refuse(in_quotes(key) + " contains " + in_quotes(type) + "; expected recurrent or attention");
  }
  return found;
}

/// hf recurrent_gemma/modeling_recurrent_gemma.py (Griffin, arXiv:2402.19427): every layer has a mixer and a gated
/// MLP of intermediate_size / 2 with biases, and RMSNorms before both. A mixer is either a recurrent block of
/// lru_width channels, with biases on all projections and RG-LRU gates with a matrix for each of num_attention_heads
/// blocks, or attention within attention_window_size tokens, with RoPE on half of each head and a bias on o. States
/// are float32. Tied by default.
Arch recurrent_gemma(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  c.ignore({"embeddings_scale_by_sqrt_dim", "logits_soft_cap", "partial_rotary_factor", "final_w_init_variance_scale",
            "w_init_variance_scale"});
  a.activation = activation(c, {"hidden_activation"}, "gelu_pytorch_tanh");
  a.qkv_bias = c.flag("attention_bias", false);
  a.attention_out_bias = a.mlp_bias = true;
  a.mlp_width = a.mlp_width / 2;
  const Count width = c.is_null("lru_width") ? a.hidden : c.size("lru_width", a.hidden);
  if (width % a.heads != 0)
    c.refuse("\"lru_width\" must be a multiple of \"num_attention_heads\", the number of blocks of its gates");
  LayerMixer m;
  m.attention = AttentionKind::none;
  m.layers = recurrent_layers(c, a);
  m.recurrent = {.kind = RecurrentKind::rg_lru,
                 .heads = a.heads,
                 .head_dim = width / a.heads,
                 .key_dim = 1,
                 .taps = c.size("conv1d_width", 4),
                 .convolution_bias = true};
  set_reach(a, {c.size("attention_window_size", 2048)}, others(m.layers, a.layers));
  set_mixer(a, m);
  return a;
}

}  // namespace

std::vector<Family> griffin_families() {
  return {{"recurrent_gemma", recurrent_gemma, {26, 2560, 10, 0, 0, 7680, 256000, 8192, true}}};
}

}  // namespace llmcalc::import
