// Builds the model and the plan of a choice.

#include <array>

#include "validate/suite_factors.hpp"

namespace llmcalc::validate {

namespace {

void set_attention(Arch& a, const LevelChoice& c) {
  a.heads = 4;
  a.head_dim = 6;
  a.kv_heads = c[attention] == 1 ? 2 : 4;
  if (c[attention] == 2 || c[attention] == 5) a.kv_heads = 1;
  if (c[attention] == 5) a.latent.q_rank = 7;
  if (is_latent(c)) {
    a.attention = AttentionKind::latent;
    a.latent = {.q_rank = c[attention] == 3 ? 7 : 0, .kv_rank = 9, .nope_dim = 6, .rope_dim = 4, .v_dim = 5};
  }
  if (c[window] > 0)
    a.local = {.reach = {3, c[window] == 3}, .layers = LayerSet::every(0, c[window] == 2 ? 1 : 2, a.layers)};
  a.qk_norm = static_cast<QkNorm>(c[qk_norm]);
  a.attention_sinks = c[sinks] == 1;
  a.position = std::array{Position::rope, Position::learned,  Position::sinusoidal, Position::alibi,
                          Position::none, Position::relative, Position::relative}[c[position]];
  if (a.position == Position::learned) a.position_rows = a.context;
  if (a.position == Position::relative) a.position_rows = 8;
  if (c[position] == 6) a.added_rows = a.context;
  a.qkv_bias = a.attention_out_bias = c[biases] == 1 || c[biases] == 3;
}

/// The recurrence for each level of the middle layer. All sizes differ, so that swapping two would change a count.
constexpr std::array<Recurrent, 14> recurrences{{
    {},
    {.kind = RecurrentKind::short_convolution, .heads = 18, .head_dim = 1, .taps = 3},
    {.kind = RecurrentKind::mamba2,
     .heads = 4,
     .head_dim = 5,
     .key_heads = 2,
     .key_dim = 3,
     .taps = 4,
     .convolution_bias = true,
     .gated_norm = true},
    {.kind = RecurrentKind::gated_delta_net, .heads = 4, .head_dim = 5, .key_heads = 2, .key_dim = 3, .taps = 4},
    {.kind = RecurrentKind::kimi_delta, .heads = 3, .head_dim = 4, .key_heads = 3, .key_dim = 4, .taps = 2, .rank = 5},
    {.kind = RecurrentKind::mamba,
     .heads = 14,
     .head_dim = 1,
     .key_heads = 1,
     .key_dim = 3,
     .taps = 4,
     .rank = 2,
     .convolution_bias = true},
    {},  // Mamba-2 as above, without its norm
    {},  // linear attention, which is not a Recurrent
    {.kind = RecurrentKind::rwkv7,
     .heads = 3,
     .head_dim = 5,
     .key_heads = 3,
     .key_dim = 5,
     .rank = 4,
     .step_rank = 2,
     .gate_rank = 7,
     .value_rank = 3},
    {.kind = RecurrentKind::mamba,
     .heads = 4,
     .head_dim = 3,
     .key_heads = 1,
     .key_dim = 5,
     .taps = 4,
     .rank = 2,
     .inner_norms = true},
    {.kind = RecurrentKind::rg_lru, .heads = 3, .head_dim = 4, .key_dim = 1, .taps = 3, .convolution_bias = true},
    {.kind = RecurrentKind::mlstm, .heads = 3, .head_dim = 5, .key_heads = 3, .key_dim = 4},
    {.kind = RecurrentKind::rwkv6, .heads = 3, .head_dim = 5, .key_heads = 3, .key_dim = 5, .rank = 4, .mix_rank = 2},
    {.kind = RecurrentKind::rwkv6, .heads = 3, .head_dim = 5, .key_heads = 3, .key_dim = 5},
}};

Recurrent recurrent(const LevelChoice& c) {
  const bool beside_attention = c[middle_layer] == 6;
  Recurrent r = recurrences[beside_attention ? 2 : c[middle_layer]];
  if (beside_attention) r.gated_norm = false;
  r.chunk = c[chunk] == 0 ? 0 : 4;
  return r;
}

/// RWKV-7's first layer, whose values the middle layer also uses.
LayerMixer giving_values(LayerMixer m) {
  m.recurrent.value_rank = 0;
  m.layers = LayerSet::every(0, 1, 1);
  return m;
}

/// An indexer. With low-rank latent queries, it reads their low-rank projection and selects tokens; otherwise it
/// selects blocks.
Indexer indexer(const LevelChoice& c) {
  if (c[keys] == 0) return {};
  if (is_latent(c)) return {.kind = IndexerKind::lightning, .heads = 3, .width = 6, .top_k = 4};
  return {.kind = IndexerKind::blocks, .heads = 2, .width = 4, .top_k = 1, .block = 2};
}

/// Compressed attention in the last layer, with overlapping pooled keys and a window of two tokens. If other layers
/// have an indexer, this layer has one that selects among the pooled keys.
LayerMixer compressed(const LevelChoice& c) {
  LayerMixer m;
  m.attention = AttentionKind::compressed;
  m.heads = 4;
  m.kv_heads = 1;
  m.head_dim = 6;
  m.latent = {.q_rank = 7, .rope_dim = 4};
  m.compressed = {.ratio = 2, .overlap = true, .out_groups = 2, .out_rank = 5};
  m.attention_sinks = c[sinks] == 1;
  if (c[keys] > 0) m.indexer = {.kind = IndexerKind::lightning, .heads = 3, .width = 6, .top_k = 1};
  m.reach = {.tokens = 2};
  m.layers = LayerSet::every(2, 1, 3);
  return m;
}

/// Sets a recurrence in the middle layer, and the last layer's own mixer.
void set_mixers(Arch& a, const LevelChoice& c) {
  a.attention_gate = static_cast<AttentionGate>(c[gate]);
  a.indexer = indexer(c);
  LayerMixer m;
  static_cast<Mixer&>(m) = a;
  m.recurrent = recurrent(c);
  m.layers = LayerSet::every(1, 1, 2);
  if (c[middle_layer] != 6) {
    m.attention = AttentionKind::none;
    m.indexer = {};
  }
  if (c[middle_layer] == 7) a.linear_layers = m.layers;
  if (m.recurrent.reads_values()) {
    a.mixers.push(giving_values(m));
    a.local.layers = a.local.layers.filtered(a.mixers[0].layers, false);
  }
  if (m.recurrent.kind != RecurrentKind::none) a.mixers.push(m);
  if (c[middle_layer] != 0) a.local.layers = a.local.layers.filtered(m.layers, false);
  if (c[last_layer] == 1) {
    static_cast<Mixer&>(m) = a;
    m.heads = m.kv_heads = 2;
    m.head_dim = 8;
    m.value_dim = is_latent(c) ? 0 : 3;
    m.layers = LayerSet::every(2, 1, 3);
    m.reach = {.tokens = 2};
    m.indexer = {};
    a.local.layers = a.local.layers.filtered(m.layers, false);
    a.mixers.push(m);
  }
  if (c[last_layer] == 3) {
    a.local.layers = a.local.layers.filtered(LayerSet::every(2, 1, 3), false);
    a.mixers.push(compressed(c));
  }
  if (a.local.layers.empty()) a.local = {};
  if (c[keys] != 2) return;
  static_cast<Mixer&>(m) = a;
  m.indexer.shared = true;
  m.layers = LayerSet::every(2, 1, 3);
  a.mixers.push(m);
}

void set_mlp(Arch& a, const LevelChoice& c) {
  a.mlp = c[mlp] == 0 ? MlpKind::plain : MlpKind::gated;
  a.activation = std::array{Activation::gelu, Activation::gelu_tanh,    Activation::silu,
                            Activation::relu, Activation::relu_squared, Activation::xielu}[c[activation]];
  a.mlp_width = 22;
  a.mlp_bias = c[biases] == 2 || c[biases] == 3;
  a.mlp_out_bias = c[biases] == 4;
  a.mlp_receptance = has_receptance(c) && c[experts] == 0;
  a.mlp_shift = (c[middle_layer] == 8 && c[experts] == 0) || a.mlp_receptance;
  if (c[experts] == 0) return;
  a.moe.experts = 5;
  a.moe.top_k = 2;
  a.moe.width = 11;
  a.moe.layers = LayerSet::every(c[experts] == 2 ? 1 : 0, 1, a.layers);
  a.moe.router_bias = a.moe.expert_bias = a.mlp_bias;
  if (c[experts] >= 2) {
    a.moe.shared_experts = 1;
    a.moe.shared_width = 9;
  }
  a.moe.shared_gate = c[experts] == 3;
  a.moe.latent_norm = c[experts] == 4;
  if (c[experts] == 4) a.moe.latent_width = 13;
  if (c[experts] == 5) a.moe.zero_experts = a.moe.top_k = 3;
}

/// Removes the last layer's MLP, including experts.
void set_last_layer(Arch& a, const LevelChoice& c) {
  if (c[last_layer] != 2) return;
  const LayerSet last = LayerSet::every(2, 1, 3);
  a.moe.layers = a.moe.layers.filtered(last, false);
  a.mlps.push({.width = 0, .layers = last});
}

void set_block(Arch& a, const LevelChoice& c) {
  a.norm = static_cast<NormKind>(c[norm]);
  a.block = c[placement] == 6 ? BlockKind::shortcut : c[placement] >= 4 ? BlockKind::parallel : BlockKind::serial;
  if (c[placement] < 4) a.norm_placement = static_cast<NormPlacement>(c[placement]);
  a.norms_per_layer = c[placement] == 3 || c[placement] == 6 ? 4 : 2;
  if (c[placement] == 4) a.norms_per_layer = 1;
  a.final_norm = a.norm_placement != NormPlacement::post;
  a.sub_norms = c[sub_norms] == 1;
  a.embedding_norm = c[embedding] == 1 || c[embedding] == 3;
  if (c[embedding] >= 2) a.embedding_width = 10;
  a.narrow_ends = c[embedding] == 3;
  if (c[repeats] > 0) a.repeats = {.period = c[repeats] == 1 ? 1 : 2, .layers = LayerSet::every(c[repeats], 1, 3)};
  a.repeats.normed = c[repeats] == 2 && a.final_norm && !is_encoder(c);
  a.head.exit_gate =
      a.repeats.normed && c[logits] != 2;  // the gate reads data that chunked logits overwrite with their gradient
  a.tied_head = c[head] == 0;
  a.head_bias = c[head] == 2;
  if (c[streams] == 1 || c[streams] == 2) a.streams = 3;
  if (c[streams] == 3) a.residual_block = 2;
  a.altup = c[streams] == 2;
  if (!a.altup) return;
  a.laurel_rank = 5;
  a.per_layer = {.rows = a.vocabulary, .width = 6};
}

/// Makes the first layer the encoder; the other layers form the decoder.
void set_encoder_decoder(Arch& a) {
  LayerMixer decoder;
  static_cast<Mixer&>(decoder) = a;
  decoder.cross_attention = true;
  decoder.layers = LayerSet::every(1, 1, 3);
  a.mixers.push(decoder);
  a.bidirectional = a.final_norm = true;
}

void set_stack(Arch& a, const LevelChoice& c) {
  if (is_encoder_decoder(c)) set_encoder_decoder(a);
  if (!is_encoder(c)) return;
  a.bidirectional = true;
  a.token_types = 2;
  a.final_norm = false;
  a.head = {.kind = HeadKind::masked_token, .pooler = true, .sentence_pair = true};
  if (c[stack] == 1) return;
  a.head = {.kind = HeadKind::none, .pooler = true};
  a.tied_head = false;
}

/// Adds MTP modules with the last layer's mixer and MLP.
void set_modules(Arch& a, const LevelChoice& c) {
  if (c[further] == 0) return;
  const bool own = c[further] == 2;
  a.mtp = {.modules = own ? 2 : 1, .mixer_of = 2, .mlp_of = 2, .own_norm = own, .own_embedding = own, .own_head = own};
}

std::string name_of(const LevelChoice& c) {
  const std::vector<Factor>& all = factors();
  std::string s = all[attention].levels[c[attention]];
  for (std::size_t f = 1; f < c.size(); ++f)
    if (c[f] != 0) s += ", " + all[f].name + ": " + all[f].levels[c[f]];
  return s;
}

}  // namespace

Case make_case(const LevelChoice& c) {
  Arch a;
  a.layers = 3;
  a.hidden = a.embedding_width = 16;
  a.vocabulary = 29;
  a.context = 16;
  set_attention(a, c);
  set_mixers(a, c);
  set_mlp(a, c);
  set_last_layer(a, c);
  set_block(a, c);
  set_stack(a, c);
  set_modules(a, c);
  return {name_of(c), a, make_plan(c)};
}

namespace {

void enlarge(Mixer& m, Count times) {
  Latent& l = m.latent;
  Recurrent& r = m.recurrent;
  m.heads *= 2;
  m.kv_heads *= 2;
  m.head_dim = 64;
  if (m.value_dim > 0) m.value_dim = 32;
  l.q_rank *= times;
  l.kv_rank *= times;
  if (l.kv_rank > 0) {
    l.nope_dim = l.v_dim = 64;
    l.rope_dim = 32;
  }
  if (m.indexer.kind != IndexerKind::none) m.indexer.width = 64;
  if (m.indexer.kind == IndexerKind::lightning) m.indexer.top_k *= times;
  m.indexer.block *= times;
  for (Count* n : {&r.rank, &r.mix_rank, &r.step_rank, &r.gate_rank, &r.value_rank}) *n *= times;
  r.chunk *= 8;
  r.head_dim > 1 ? r.head_dim = 64 : r.heads *= times;
  if (r.head_dim > 1 && r.kind != RecurrentKind::rg_lru) r.key_dim = 64;
}

}  // namespace

namespace {

/// Restricts the plan to choices that are calibrated and have predicted times: float32 and bfloat16 throughout, updates
/// that make one pass over memory, and the same recomputation in all layers.
void make_plain(Plan& p) {
  if (p.precision == dtypes::fp16) p.precision = dtypes::bf16;
  p.kv_precision = p.precision;
  p.weight_precision = p.precision;
  p.state_precision = dtypes::fp32;
  p.recompute_method = RecomputeMethod::uniform;
  p.recompute_layers = 1;
  p.documents = {};
  p.frozen = {};
  p.lora_rank = 0;
  p.gradient_bytes = 4;
  p.logits.chunks = 1;
  if (p.optimizer != Optimizer::momentum && p.optimizer != Optimizer::sgd) p.optimizer = Optimizer::adam;
}

}  // namespace

Case enlarged(const Case& small) {
  constexpr Count times = 32;
  Case c = small;
  make_plain(c.plan);
  Arch& a = c.arch;
  for (Count* n : {&a.hidden, &a.embedding_width, &a.vocabulary, &a.context, &a.position_rows, &a.added_rows,
                   &a.local.reach.tokens, &a.mlp_width, &a.moe.width, &a.moe.latent_width, &a.moe.shared_width,
                   &a.laurel_rank, &a.per_layer.rows, &a.per_layer.width, &c.plan.seq, &c.plan.prompt})
    *n *= times;
  enlarge(a, times);
  for (std::size_t i = 0; i < a.mixers.size(); ++i) {
    enlarge(a.mixers[i], times);
    a.mixers[i].reach.tokens *= times;
  }
  return c;
}

Case gpt2_case(const Arch& gpt2) {
  Plan p;
  p.seq = 256;
  p.global_batch = 1;
  p.prompt = 64;
  p.generate = 64;
  p.kv_precision = p.precision = dtypes::fp32;
  p.weight_precision = p.precision;
  return {"GPT-2 124M", gpt2, p};
}

}  // namespace llmcalc::validate
