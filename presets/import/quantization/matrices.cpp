#include "presets/import/quantization/matrices.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "calc/arch/layer_kinds.hpp"
#include "presets/import/quantization/mtp_names.hpp"
#include "presets/import/quantization/recurrent_matrices.hpp"

namespace llmcalc::import {

namespace {

const NameChoices fused_names{"qkv_proj", "query_key_value", "W_pack", "c_attn", "Wqkv", "wqkv"};

void queries_keys_values(const NamedLayer& l, const Mixer& m, Count hidden) {
  const Projections p(l, attention_names);
  const bool with_gate = m.attention_gate == AttentionGate::per_channel && !l.fused().own_gate;
  const Count q = add(mul(m.heads, m.head_dim), with_gate ? m.attention_width() : 0);
  const Count k = m.shared_kv ? 0 : mul(m.kv_heads, m.head_dim);
  const Count v = m.shared_kv || m.key_is_value ? 0 : mul(m.kv_heads, m.v_dim());
  if (m.latent.q_rank > 0) {  // low-rank queries (Step 3)
    p({"q_proj"}, m.latent.q_rank, hidden, m.qkv_bias);
    p({"wq"}, q, m.latent.q_rank);
  } else if (l.fused().qkv) {
    return p(both(fused_names, {"q_proj", "k_proj", "v_proj"}), add(q, add(k, v)), hidden, m.qkv_bias);
  } else {
    p(both({"q_proj", "wq"}, fused_names), q, hidden, m.qkv_bias);
  }
  if (k > 0) p(both({"k_proj", "wk"}, fused_names), k, hidden, m.qkv_bias);
  if (v > 0) p(both({"v_proj", "wv"}, fused_names), v, hidden, m.qkv_bias);
}

/// Grouped attention. A gate per channel is fused with the queries (Qwen3-Next) or stored as a separate matrix (AFMoE),
/// like a gate per head (Step 3.5).
void grouped(const NamedLayer& l, const Mixer& m, Count hidden) {
  const Projections p(l, attention_names);
  queries_keys_values(l, m, hidden);
  p({"o_proj", "out_proj", "dense", "c_proj", "wo"}, hidden, m.attention_width(), m.attention_out_bias);
  if (m.attention_gate == AttentionGate::per_head) p({"g_proj"}, m.heads, hidden);
  if (m.attention_gate == AttentionGate::per_channel && l.fused().own_gate)
    p({"gate_proj", "g_proj", "o_gate"}, m.attention_width(), hidden);
}

/// Lightning attention, with the names in hub MiniMax-Text-01, Ring-mini-linear and MiniCPM-SALA.
void lightning(const NamedLayer& l, const Mixer& m, Count hidden) {
  const Projections p(l, attention_names);
  const Count width = mul(m.heads, m.head_dim);
  const NameChoices each{"q_proj", "k_proj", "v_proj"}, fused{"qkv_proj", "query_key_value"};
  if (l.fused().lightning_qkv)
    p(both(fused, each), mul(3, width), hidden);
  else
    for (const std::string& name : each) p(both({name}, fused), width, hidden);
  p({"output_gate", "g_proj", "z_proj"}, width, hidden);
  p({"out_proj", "dense", "o_proj"}, hidden, width);
}

void latent(const NamedLayer& l, const Mixer& m, Count hidden, const NameChoices& parents = attention_names) {
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

/// An indexer's query matrix, and its key matrix if every token has a key. The head weights of a lightning indexer
/// stay in the config's dtype. A block indexer projects the layer's input (MiniMax-M3).
void indexer(const NamedLayer& l, const Mixer& m, Count hidden) {
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

/// DeepSeek-V4's attention. The matrices that pool keys stay in the config's dtype.
void compressed(const NamedLayer& l, const Mixer& m, Count hidden) {
  const Projections p(l, attention_names);
  const Count groups = m.compressed.out_groups, rank = m.compressed.out_rank;
  p({"wq_a", "q_a_proj"}, m.latent.q_rank, hidden);
  p({"wq_b", "q_b_proj"}, mul(m.heads, m.head_dim), m.latent.q_rank);
  p({"wkv", "kv_proj"}, m.head_dim, hidden);
  l.matrix(Component::attention, attention_names, {"wo_a", "o_a_proj"}, rank, mul(m.heads / groups, m.head_dim),
           groups);
  p({"wo_b", "o_b_proj"}, hidden, mul(groups, rank));
}

/// A decoder's cross-attention to the encoder's output.
void cross(const NamedLayer& l, const Mixer& m, Count hidden) {
  const Projections p(l, {"EncDecAttention", "layer.1.EncDecAttention", "encoder_attn", "cross_attn"});
  const Count q = mul(m.heads, m.head_dim);
  p({"q", "q_proj"}, q, hidden, m.qkv_bias);
  p({"k", "k_proj"}, mul(m.kv_heads, m.head_dim), hidden, m.qkv_bias);
  p({"v", "v_proj"}, mul(m.kv_heads, m.v_dim()), hidden, m.qkv_bias);
  p({"o", "out_proj"}, hidden, m.attention_width(), m.attention_out_bias);
}

void mix(const NamedLayer& l, const Mixer& m, Count hidden) {
  if (m.attention == AttentionKind::latent) latent(l, m, hidden);
  if (m.attention == AttentionKind::grouped) grouped(l, m, hidden);
  if (m.attention == AttentionKind::compressed) compressed(l, m, hidden);
  if (m.cross_attention) cross(l, m, hidden);
  indexer(l, m, hidden);
  recurrent_matrices(l, m.recurrent, hidden);
}

/// Matrices of an MLP, or of all experts. `in`: width of its input and output.
void feed_forward(const NamedLayer& l, const Arch& a, Component c, const NameChoices& parents, Count width, Count in,
                  Count groups = 1) {
  const bool biased = c == Component::experts ? a.moe.expert_bias : a.mlp_bias;
  const NameChoices up{"up_proj", "proj_up", "gate_up_proj", "input_linear",  "w3",
                       "c_fc",    "fc1",     "fc11",         "dense_h_to_4h", "key"};
  const NameChoices gate{"gate_proj", "proj_up_gate", "gate_up_proj", "input_linear", "w1", "fc12"};
  const NameChoices down{"down_proj", "proj_down", "output_linear", "w2", "c_proj", "fc2", "dense_4h_to_h", "value"};
  const bool fused = a.mlp == MlpKind::gated && l.fused().gate_up && c != Component::experts;
  if (fused) l.matrix(c, parents, both(gate, both({"Wi"}, up)), mul(2, width), in, groups, biased);
  if (!fused && a.mlp == MlpKind::gated) l.matrix(c, parents, gate, width, in, groups, biased);
  if (!fused) l.matrix(c, parents, up, width, in, groups, biased);
  l.matrix(c, parents, down, in, width, groups, biased || (c == Component::mlp && a.mlp_out_bias));
}

void mixture(const NamedLayer& l, const Arch& a) {
  const Moe& m = a.moe;
  const Count in = m.latent_width > 0 ? m.latent_width : a.hidden;
  const NameChoices usual{"mlp.experts.0",    "mlp.experts",          "block_sparse_moe.experts.0",
                          "block_sparse_moe", "feed_forward.experts", "feed_forward.experts.0",
                          "ffn.experts.0",    "mixer.experts.0",      "moe"};
  const NameChoices with_dense_mlp{"experts", "experts.0", "moe.experts"};  // Gemma 4, where "mlp" is the dense MLP
  feed_forward(l, a, Component::experts, m.with_dense_mlp ? with_dense_mlp : usual, m.width, in, m.experts);
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

Matrix token_embedding(const Arch& a) {
  return {.component = Component::embedding,
          .paths = {"embed_tokens", "wte", "word_embeddings", "embed_in", "tok_embeddings", "embeddings"},
          .rows = a.vocabulary,
          .columns = a.embedding_width,
          .is_table = true};
}

namespace {

void dense(const NamedLayer& l, const Arch& a, const LayerKind& kind) {
  if (kind.mlp_width == 0) return;
  feed_forward(l, a, Component::mlp, {"mlp", "mlp_block", "feed_forward", "ffn", "mixer", "shared_mlp"}, kind.mlp_width,
               a.hidden);
  if (a.mlp_receptance) l.matrix(Component::mlp, {"feed_forward"}, {"receptance"}, a.hidden, a.hidden);
}

/// Two pairs of attention and dense MLP, and experts parallel to them (LongCat).
void shortcut_layer(const NamedLayer& l, const Arch& a, const LayerKind& kind) {
  for (const char* half : {"0", "1"}) {
    latent(l, a.mixer(kind.mixer), a.hidden, {fmt::format("self_attn.{}", half)});
    feed_forward(l, a, Component::mlp, {fmt::format("mlps.{}", half)}, a.mlp_width, a.hidden);
  }
  if (kind.experts) mixture(l, a);
}

/// Other matrices of a layer: LAuReL's low-rank branch, and the per-layer input.
void extras(const NamedLayer& l, const Arch& a) {
  const Count rank = a.laurel_rank, width = a.per_layer.width;
  if (rank > 0) l.matrix(Component::mlp, {"laurel"}, {"linear_left"}, rank, a.hidden);
  if (rank > 0) l.matrix(Component::mlp, {"laurel"}, {"linear_right"}, a.hidden, rank);
  if (width > 0) l.matrix(Component::mlp, {}, {"per_layer_input_gate"}, width, a.hidden);
  if (width > 0) l.matrix(Component::mlp, {}, {"per_layer_projection"}, a.hidden, width);
}

void second_half(const NamedLayer& l, const Arch& a, const LayerKind& kind) {
  if (kind.experts) mixture(l, a);
  if (!kind.experts || a.moe.with_dense_mlp) dense(l, a, kind);
  extras(l, a);
}

void layer(const NamedLayer& l, const Arch& a, const LayerKind& kind) {
  if (a.block == BlockKind::shortcut) return shortcut_layer(l, a, kind);
  if (kind.linear)
    lightning(l, a.mixer(kind.mixer), a.hidden);
  else
    mix(l, a.mixer(kind.mixer), a.hidden);
  second_half(l, a, kind);
}

/// Matrices of the head, and of the dense layers before it.
void heads(const Arch& a, const std::function<void(const Matrix&)>& visit) {
  const auto square = [&](NameChoices names, Count groups, bool biased) {
    visit({Component::lm_head, std::move(names), groups, a.hidden, a.hidden, biased});
  };
  if (a.head.pooler) square({"pooler.dense", "bert.pooler.dense"}, 1, true);
  if (a.head.kind == HeadKind::masked_token)
    square({"cls.predictions.transform.dense", "lm_head.dense", "vocab_transform"}, 1, true);
  if (a.head.exit_gate) visit({Component::lm_head, {"early_exit_gate", "model.early_exit_gate"}, 1, 1, a.hidden, true});
  if (a.altup) square({"altup_unembed_projections.0", "altup_unembed_projections"}, a.streams - 1, false);
  if (!a.tied_head && a.head.has_logits())
    visit({Component::lm_head, {"lm_head", "embed_out", "output", "head"}, 1, a.vocabulary, a.hidden, a.head_bias});
}

void routers(const NamedLayer& l, const Arch& a) {
  l.matrix(Component::router, {"mlp", "block_sparse_moe", "feed_forward", "ffn", "mixer"},
           {"gate", "router", "primary_router"}, a.moe.choices(), a.hidden, 1, a.moe.router_bias);
  if (a.moe.shared_gate) l.matrix(Component::router, {"mlp"}, {"shared_expert_gate"}, 1, a.hidden);
}

/// The projection that combines an MTP module's inputs: one matrix for both inputs, or two matrices that are packed
/// like all other matrices.
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
  const FusedMatrices apart;
  for (Count i = 0; i < a.layers; ++i)
    if (a.moe.layers.contains(i) && !a.repeats.layers.contains(i)) routers(NamedLayer(i, apart, visit), a);
}

void for_each_matrix(const Arch& a, std::string_view family, const std::function<void(const Matrix&)>& visit) {
  const LayerKinds kinds = layer_kinds(a);
  const FusedMatrices fused = fused_matrices(family);
  for (Count i = 0; i < a.layers; ++i)
    if (!a.repeats.layers.contains(i)) layer(NamedLayer(i, fused, visit), a, kinds[kind_index(kinds, i)]);
  heads(a, visit);
}

void for_each_mtp_router(const Arch& a, std::string_view family, const std::function<void(const Matrix&)>& visit) {
  if (a.mtp.modules == 0 || !mtp_layer(a).experts) return;
  const FusedMatrices apart;
  for (const MtpModule& m : mtp_modules(a, family)) routers(NamedLayer(m.mlp, apart, visit), a);
}

void for_each_mtp_matrix(const Arch& a, std::string_view family, const std::function<void(const Matrix&)>& visit) {
  if (a.mtp.modules == 0) return;
  const LayerKind kind = mtp_layer(a);
  const FusedMatrices fused = fused_matrices(family);
  for (const MtpModule& m : mtp_modules(a, family)) {
    mix(NamedLayer(m.mixer, fused, visit), a.mixer(kind.mixer), a.hidden);
    second_half(NamedLayer(m.mlp, fused, visit), a, kind);
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
