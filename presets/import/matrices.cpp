#include "presets/import/matrices.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "calc/layer_kinds.hpp"

namespace llmcalc::import {

namespace {

using Names = std::vector<std::string>;

/// Names a layer's matrices; the aliases are those of hf and of the checkpoints' own code.
class Layer {
 public:
  Layer(std::string prefix, const std::function<void(const Matrix&)>& visit)
      : prefix_(std::move(prefix)), visit_(visit) {}
  Layer(Count index, const std::function<void(const Matrix&)>& visit)
      : Layer(fmt::format("layers.{}.", index), visit) {}

  void matrix(Component c, const Names& parents, const Names& leaves, Count rows, Count columns, Count groups = 1,
              bool biased = false) const {
    Matrix m{c, {}, groups, rows, columns, biased};
    for (const std::string& parent : parents)
      for (const std::string& leaf : leaves) m.paths.push_back(prefix_ + parent + "." + leaf);
    if (parents.empty()) m.paths.push_back(prefix_ + leaves.front());
    visit_(m);
  }

 private:
  std::string prefix_;
  const std::function<void(const Matrix&)>& visit_;
};

const Names attention_names{"self_attn", "attn", "attention", "self_attention", "mixer"};

/// A layer's matrices under some parents, all of attention.
class Projections {
 public:
  Projections(const Layer& l, Names parents) : l_(l), parents_(std::move(parents)) {}
  void operator()(const Names& leaves, Count rows, Count columns, bool biased = false) const {
    l_.matrix(Component::attention, parents_, leaves, rows, columns, 1, biased);
  }

 private:
  const Layer& l_;
  Names parents_;
};

/// A gate per channel is fused into the queries (Qwen3-Next), one per head is a matrix of its own (Step 3.5).
void grouped(const Layer& l, const Mixer& m, Count hidden) {
  const Projections p(l, attention_names);
  const Count q = mul(m.heads, m.head_dim), kv = mul(m.kv_heads, m.head_dim), v = mul(m.kv_heads, m.v_dim());
  const bool fused_gate = m.attention_gate == AttentionGate::per_channel;
  const auto with_fused = [](Names own) {
    const Names fused{"qkv_proj", "query_key_value", "W_pack", "c_attn", "Wqkv", "wqkv"};
    own.insert(own.end(), fused.begin(), fused.end());
    return own;
  };
  if (m.latent.q_rank > 0) {  // Step 3
    p({"q_proj"}, m.latent.q_rank, hidden, m.qkv_bias);
    p({"wq"}, q, m.latent.q_rank);
  } else {
    p(with_fused({"q_proj", "wq"}), fused_gate ? add(q, m.attention_width()) : q, hidden, m.qkv_bias);
  }
  if (!m.shared_kv) p(with_fused({"k_proj", "wk"}), kv, hidden, m.qkv_bias);
  if (!m.shared_kv && !m.key_is_value) p(with_fused({"v_proj", "wv"}), v, hidden, m.qkv_bias);
  p({"o_proj", "out_proj", "dense", "c_proj", "wo"}, hidden, m.attention_width(), m.attention_out_bias);
  if (m.attention_gate == AttentionGate::per_head) p({"g_proj"}, m.heads, hidden);
}

/// Lightning attention by the names of hub MiniMax-Text-01, Ring-mini-linear and MiniCPM-SALA.
void lightning(const Layer& l, const Mixer& m, Count hidden) {
  const Projections p(l, attention_names);
  const Count width = mul(m.heads, m.head_dim);
  for (const char* name : {"q_proj", "k_proj", "v_proj"}) p({name, "qkv_proj", "query_key_value"}, width, hidden);
  p({"output_gate", "g_proj", "z_proj"}, width, hidden);
  p({"out_proj", "dense", "o_proj"}, hidden, width);
}

void latent(const Layer& l, const Mixer& m, Count hidden, const Names& parents = attention_names) {
  const Projections p(l, parents);
  const Latent& w = m.latent;
  const Count q = mul(m.heads, w.nope_dim + w.rope_dim);
  if (w.q_rank == 0) {
    p({"q_proj"}, q, hidden);
  } else {
    p({"q_a_proj"}, w.q_rank, hidden);
    p({"q_b_proj"}, q, w.q_rank);
  }
  p({"kv_a_proj_with_mqa"}, w.kv_rank + w.rope_dim, hidden);
  p({"kv_b_proj"}, mul(m.heads, w.nope_dim + w.v_dim), w.kv_rank);
  if (m.attention_gate == AttentionGate::per_channel) p({"g_proj"}, m.attention_width(), hidden);
  p({"o_proj", "dense"}, hidden, mul(m.heads, w.v_dim));
}

/// Matrices of a recurrence by the names of hf qwen3_next, qwen3_5, olmo_hybrid (whose queries, keys and values are
/// picked together), hub Kimi-Linear, hf mamba, granitemoehybrid,
/// falcon_h1, hub Nemotron-H, fla rwkv7 and hf lfm2. Convolutions and the vectors of heads are none.
void recurrent(const Layer& l, const Recurrent& r, Count hidden) {
  const Count values = r.width(), keys = mul(r.key_heads, r.key_dim);
  const Projections delta(l, {"linear_attn"}), kda(l, attention_names), ssm(l, {"mixer", "mamba"}), conv(l, {"conv"});
  const Projections rwkv(l, {"attn"});
  switch (r.kind) {
    case RecurrentKind::none:
      return;
    case RecurrentKind::gated_delta_net:
      delta({"in_proj_qkv", "in_proj_qkvz", "q_proj"}, add(mul(2, keys), values), hidden);
      delta({"in_proj_z", "in_proj_qkvz", "g_proj"}, values, hidden);
      delta({"in_proj_b", "in_proj_ba", "b_proj"}, r.heads, hidden);
      delta({"in_proj_a", "in_proj_ba", "a_proj"}, r.heads, hidden);
      return delta({"out_proj", "o_proj"}, hidden, values);
    case RecurrentKind::kimi_delta:
      for (const char* name : {"q_proj", "k_proj", "v_proj"}) kda({name}, values, hidden);
      kda({"f_a_proj"}, r.rank, hidden);
      kda({"f_b_proj"}, values, r.rank);
      kda({"b_proj"}, r.heads, hidden);
      if (r.full_rank_gate) {
        kda({"g_proj"}, values, hidden);
      } else {
        kda({"g_a_proj"}, r.rank, hidden);
        kda({"g_b_proj"}, values, r.rank);
      }
      return kda({"o_proj"}, hidden, values);
    case RecurrentKind::mamba:
      ssm({"in_proj"}, mul(2, values), hidden);
      ssm({"x_proj"}, add(r.rank, mul(2, r.key_dim)), values);
      ssm({"dt_proj"}, values, r.rank);
      return ssm({"out_proj"}, hidden, values);
    case RecurrentKind::mamba2:
      ssm({"in_proj"}, add(add(mul(2, values), mul(2, keys)), r.heads), hidden);
      return ssm({"out_proj"}, hidden, values);
    case RecurrentKind::rwkv7:
      for (const char* name : {"r_proj", "k_proj", "v_proj"}) rwkv({name}, values, hidden);
      for (const auto& [name, rank] : {std::pair{"w_lora", r.rank}, std::pair{"a_lora", r.step_rank},
                                       std::pair{"v_lora", r.value_rank}, std::pair{"g_lora", r.gate_rank}}) {
        if (rank == 0) continue;
        rwkv({std::string(name) + ".lora.0"}, rank, hidden);
        rwkv({std::string(name) + ".lora.2"}, values, rank);
      }
      return rwkv({"o_proj"}, hidden, values);
    case RecurrentKind::short_convolution:
      conv({"in_proj"}, mul(3, hidden), hidden);
      return conv({"out_proj"}, hidden, hidden);
  }
}

/// Queries and, where every token has one, the key of an indexer. The weights of a lightning indexer's heads stay in
/// the config's dtype. Blocks are chosen by projections of the layer's input (MiniMax-M3).
void indexer(const Layer& l, const Mixer& m, Count hidden) {
  if (!m.indexer.runs()) return;
  const Projections p(l, attention_names);
  const Indexer& i = m.indexer;
  if (i.kind == IndexerKind::blocks) {
    p({"index_q_proj"}, mul(i.heads, i.width), hidden);
    return p({"index_k_proj"}, i.width, hidden);
  }
  p({"indexer.wq_b", "indexer.q_b_proj"}, mul(i.heads, i.width), m.latent.q_rank);
  if (m.compressed.ratio == 0) p({"indexer.wk", "indexer.k_proj"}, i.width, hidden);
}

/// DeepSeek-V4's; what pools keys stays in the config's dtype.
void compressed(const Layer& l, const Mixer& m, Count hidden) {
  const Projections p(l, attention_names);
  const Count groups = m.compressed.out_groups, rank = m.compressed.out_rank;
  p({"wq_a", "q_a_proj"}, m.latent.q_rank, hidden);
  p({"wq_b", "q_b_proj"}, mul(m.heads, m.head_dim), m.latent.q_rank);
  p({"wkv", "kv_proj"}, m.head_dim, hidden);
  l.matrix(Component::attention, attention_names, {"wo_a", "o_a_proj"}, rank, mul(m.heads / groups, m.head_dim),
           groups);
  p({"wo_b", "o_b_proj"}, hidden, mul(groups, rank));
}

/// A decoder's second attention, to the encoder's result.
void cross(const Layer& l, const Mixer& m, Count hidden) {
  const Projections p(l, {"EncDecAttention", "layer.1.EncDecAttention", "encoder_attn", "cross_attn"});
  const Count q = mul(m.heads, m.head_dim);
  p({"q", "q_proj"}, q, hidden, m.qkv_bias);
  p({"k", "k_proj"}, mul(m.kv_heads, m.head_dim), hidden, m.qkv_bias);
  p({"v", "v_proj"}, mul(m.kv_heads, m.v_dim()), hidden, m.qkv_bias);
  p({"o", "out_proj"}, hidden, m.attention_width(), m.attention_out_bias);
}

void mix(const Layer& l, const Mixer& m, Count hidden) {
  if (m.attention == AttentionKind::latent) latent(l, m, hidden);
  if (m.attention == AttentionKind::grouped) grouped(l, m, hidden);
  if (m.attention == AttentionKind::compressed) compressed(l, m, hidden);
  if (m.cross_attention) cross(l, m, hidden);
  indexer(l, m, hidden);
  recurrent(l, m.recurrent, hidden);
}

/// `in`: the width of the MLP's input and output.
void feed_forward(const Layer& l, const Arch& a, Component c, const Names& parents, Count width, Count in,
                  Count groups = 1) {
  const bool biased = c == Component::experts ? a.moe.expert_bias : a.mlp_bias;
  const Names up{"up_proj", "gate_up_proj", "input_linear", "w3", "c_fc", "fc1", "fc11", "dense_h_to_4h", "key"};
  const Names gate{"gate_proj", "gate_up_proj", "input_linear", "w1", "fc12"};
  const Names down{"down_proj", "output_linear", "w2", "c_proj", "fc2", "dense_4h_to_h", "value"};
  if (a.mlp == MlpKind::gated) l.matrix(c, parents, gate, width, in, groups, biased);
  l.matrix(c, parents, up, width, in, groups, biased);
  l.matrix(c, parents, down, in, width, groups, biased || (c == Component::mlp && a.mlp_out_bias));
}

void mixture(const Layer& l, const Arch& a) {
  const Moe& m = a.moe;
  const Count in = m.latent_width > 0 ? m.latent_width : a.hidden;
  const Names usual{"mlp.experts.0",    "mlp.experts",          "block_sparse_moe.experts.0",
                    "block_sparse_moe", "feed_forward.experts", "feed_forward.experts.0",
                    "ffn.experts.0",    "mixer.experts.0",      "moe"};
  const Names beside_dense{"experts", "experts.0", "moe.experts"};  // Gemma 4, whose mlp is the dense one
  feed_forward(l, a, Component::experts, m.beside_dense ? beside_dense : usual, m.width, in, m.experts);
  if (m.latent_width > 0) {
    l.matrix(Component::mlp, {"mixer"}, {"fc1_latent_proj"}, m.latent_width, a.hidden);
    l.matrix(Component::mlp, {"mixer"}, {"fc2_latent_proj"}, a.hidden, m.latent_width);
  }
  if (m.shared_experts > 0)
    feed_forward(
        l, a, Component::shared_experts,
        {"mlp.shared_experts", "mlp.shared_expert", "block_sparse_moe.shared_experts", "feed_forward.shared_expert",
         "ffn.shared_experts", "mixer.shared_experts", "share_expert", "shared_mlp"},
        mul(m.shared_experts, m.shared_width), a.hidden);
}

}  // namespace

Matrix token_table(const Arch& a) {
  return {.component = Component::embedding,
          .paths = {"embed_tokens", "wte", "word_embeddings", "embed_in", "tok_embeddings", "embeddings"},
          .rows = a.vocabulary,
          .columns = a.embedding_width,
          .is_table = true};
}

namespace {

void dense(const Layer& l, const Arch& a, const LayerKind& kind) {
  if (kind.mlp_width == 0) return;
  feed_forward(l, a, Component::mlp, {"mlp", "feed_forward", "ffn", "mixer", "shared_mlp"}, kind.mlp_width, a.hidden);
}

/// Attention and a dense MLP twice, the experts beside them (LongCat).
void shortcut_layer(const Layer& l, const Arch& a, const LayerKind& kind) {
  for (const char* half : {"0", "1"}) {
    latent(l, a.mixer(kind.mixer), a.hidden, {fmt::format("self_attn.{}", half)});
    feed_forward(l, a, Component::mlp, {fmt::format("mlps.{}", half)}, a.mlp_width, a.hidden);
  }
  if (kind.experts) mixture(l, a);
}

/// What a layer has besides mixing tokens and its MLP: a low rank of its input, and an input of its own.
void extras(const Layer& l, const Arch& a) {
  const Count rank = a.laurel_rank, width = a.per_layer.width;
  if (rank > 0) l.matrix(Component::mlp, {"laurel"}, {"linear_left"}, rank, a.hidden);
  if (rank > 0) l.matrix(Component::mlp, {"laurel"}, {"linear_right"}, a.hidden, rank);
  if (width > 0) l.matrix(Component::mlp, {}, {"per_layer_input_gate"}, width, a.hidden);
  if (width > 0) l.matrix(Component::mlp, {}, {"per_layer_projection"}, a.hidden, width);
}

void second_half(const Layer& l, const Arch& a, const LayerKind& kind) {
  if (kind.experts) mixture(l, a);
  if (!kind.experts || a.moe.beside_dense) dense(l, a, kind);
  extras(l, a);
}

void layer(const Layer& l, const Arch& a, const LayerKind& kind) {
  if (a.block == BlockKind::shortcut) return shortcut_layer(l, a, kind);
  if (kind.linear)
    lightning(l, a.mixer(kind.mixer), a.hidden);
  else
    mix(l, a.mixer(kind.mixer), a.hidden);
  second_half(l, a, kind);
}

/// Logits, and the dense layers before them.
void heads(const Arch& a, const std::function<void(const Matrix&)>& visit) {
  const auto square = [&](Names names, Count groups, bool biased) {
    visit({Component::lm_head, std::move(names), groups, a.hidden, a.hidden, biased});
  };
  if (a.head.pooler) square({"pooler.dense", "bert.pooler.dense"}, 1, true);
  if (a.head.kind == HeadKind::masked_token)
    square({"cls.predictions.transform.dense", "lm_head.dense", "vocab_transform"}, 1, true);
  if (a.altup) square({"altup_unembed_projections.0", "altup_unembed_projections"}, a.streams - 1, false);
  if (!a.tied_head && a.head.has_logits())
    visit({Component::lm_head, {"lm_head", "embed_out", "output", "head"}, 1, a.vocabulary, a.hidden, a.head_bias});
}

}  // namespace

namespace {

void routers(const Layer& l, const Arch& a) {
  l.matrix(Component::router, {"mlp", "block_sparse_moe", "feed_forward", "ffn", "mixer"},
           {"gate", "router", "primary_router"}, a.moe.choices(), a.hidden, 1, a.moe.router_bias);
  if (a.moe.shared_gate) l.matrix(Component::router, {"mlp"}, {"shared_expert_gate"}, 1, a.hidden);
}

/// Names in the modules that predict further tokens, {} being a number: of a module's layer, and of the matrix that
/// joins a result and the next token's embedding.
struct MtpNames {
  std::string_view family;  ///< what its model_type begins with
  std::string_view layer, join;
  std::string_view token = "";  ///< of the token's half, where the join is two matrices
  bool counts_on = false;       ///< numbers go on behind those of the model's layers
  Count layers = 1;  ///< that a module is: with two, attention is the first and the MLP or experts the second
};

/// hub deepseek-ai/DeepSeek-V3, README_WEIGHTS.md; vLLM, model_executor/models: deepseek_mtp.py, qwen3_next_mtp.py,
/// mimo_mtp.py, mimo_v2_mtp.py, ernie_mtp.py, nemotron_h_mtp.py, step3p5_mtp.py, longcat_flash_mtp.py; hub
/// deepseek-ai/DeepSeek-V4-Flash, inference/model.py. Families that are not here name their modules as DeepSeek-V3
/// does.
constexpr MtpNames usual_mtp_names{
    .family = "deepseek", .layer = "layers.{}.", .join = "layers.{}.eh_proj", .counts_on = true};
constexpr std::array mtp_names{
    MtpNames{.family = "deepseek_v4", .layer = "mtp.{}.", .join = "mtp.{}.h_proj", .token = "mtp.{}.e_proj"},
    MtpNames{.family = "longcat", .layer = "mtp.layers.{}.", .join = "mtp.layers.{}.eh_proj"},
    MtpNames{.family = "qwen3_", .layer = "mtp.layers.{}.", .join = "mtp.fc"},
    MtpNames{.family = "mimo_v2", .layer = "mtp.layers.{}.", .join = "mtp.layers.{}.eh_proj"},
    MtpNames{.family = "mimo", .layer = "mtp_layers.{}.", .join = "mtp_layers.{}.input_proj"},
    MtpNames{.family = "ernie4_5", .layer = "mtp_block.{}.", .join = "mtp_linear_proj.{}"},
    MtpNames{.family = "nemotron_h", .layer = "mtp.layers.{}.", .join = "mtp.layers.{}.eh_proj", .layers = 2}};

const MtpNames& mtp_names_of(std::string_view model_type) {
  for (const MtpNames& n : mtp_names)
    if (model_type.starts_with(n.family)) return n;
  return usual_mtp_names;
}

/// One module by its names.
struct MtpModule {
  std::string mixer, mlp;   ///< prefixes of the layer's two halves
  std::string join, token;  ///< the name of the join, or of its halves
};

std::vector<MtpModule> mtp_modules(const Arch& a, std::string_view model_type) {
  const MtpNames& n = mtp_names_of(model_type);
  const auto named = [](std::string_view name, Count number) { return fmt::format(fmt::runtime(name), number); };
  std::vector<MtpModule> all;
  for (Count k = 0; k < a.mtp.modules; ++k) {
    const Count first = add(n.counts_on ? a.layers : 0, mul(k, n.layers));
    all.push_back(
        {named(n.layer, first), named(n.layer, first + n.layers - 1), named(n.join, first), named(n.token, first)});
  }
  return all;
}

/// One matrix of both inputs, or two that are packed like others.
void join(const Arch& a, const MtpModule& m, const std::function<void(const Matrix&)>& visit) {
  const bool apart = !m.token.empty();
  for (const std::string& name : {m.join, m.token})
    if (!name.empty())
      visit({.component = Component::embedding,
             .paths = {name},
             .rows = a.hidden,
             .columns = mul(apart ? 1 : 2, a.hidden),
             .by_name = !apart});
}

}  // namespace

void for_each_router(const Arch& a, const std::function<void(const Matrix&)>& visit) {
  for (Count i = 0; i < a.layers; ++i)
    if (a.moe.layers.contains(i)) routers(Layer(i, visit), a);
}

void for_each_matrix(const Arch& a, const std::function<void(const Matrix&)>& visit) {
  const LayerKinds kinds = layer_kinds(a);
  for (Count i = 0; i < a.layers; ++i) layer(Layer(i, visit), a, kinds[kind_index(kinds, i)]);
  heads(a, visit);
}

void for_each_mtp_router(const Arch& a, std::string_view model_type, const std::function<void(const Matrix&)>& visit) {
  if (a.mtp.modules == 0 || !mtp_layer(a).experts) return;
  for (const MtpModule& m : mtp_modules(a, model_type)) routers(Layer(m.mlp, visit), a);
}

void for_each_mtp_matrix(const Arch& a, std::string_view model_type, const std::function<void(const Matrix&)>& visit) {
  if (a.mtp.modules == 0) return;
  const LayerKind kind = mtp_layer(a);
  for (const MtpModule& m : mtp_modules(a, model_type)) {
    mix(Layer(m.mixer, visit), a.mixer(kind.mixer), a.hidden);
    second_half(Layer(m.mlp, visit), a, kind);
    join(a, m, visit);
    if (a.mtp.own_head)
      visit({.component = Component::lm_head,
             .paths = {m.mlp + "shared_head.head", m.mlp + "shared_head.output", m.mlp + "transformer.shared_head"},
             .rows = a.vocabulary,
             .columns = a.hidden,
             .biased = a.head_bias});
  }
}

}  // namespace llmcalc::import
