#include "calc/arch/layer_kinds.hpp"
#include "model/storage/halves.hpp"
#include "model/weights.hpp"

namespace llmcalc::model {
namespace {

/// Collects the parameters of one model.
class Shapes {
 public:
  explicit Shapes(const Arch& a) : a_(a), kinds_(layer_kinds(a)) {}

  std::vector<ParameterShape> list(Count modules) {
    embedding();
    for (Count i = 0; i < a_.layers; ++i) layer(i, kinds_[kind_index(kinds_, i)]);
    head();
    for (Count i = 0; i < modules; ++i) module(a_.layers + i);
    return std::move(all_);
  }

 private:
  void matrix(const std::string& name, Count out, Count in, bool bias, Start start = Start::normal, Count groups = 1) {
    all_.push_back({prefix_ + name + ".weight", groups, out, in, start});
    if (bias) all_.push_back({prefix_ + name + ".bias", groups, out, 0, Start::zero});
  }
  void scale(const std::string& name, Count width, bool bias) {
    all_.push_back({prefix_ + name + ".weight", 1, width, 0, Start::one});
    if (bias) all_.push_back({prefix_ + name + ".bias", 1, width, 0, Start::zero});
  }
  void vector(const std::string& name, Count numbers, Start start) {
    all_.push_back({prefix_ + name, 1, numbers, 0, start});
  }
  void norm(const std::string& name) { norm(name, a_.hidden); }
  void norm(const std::string& name, Count width) {
    if (a_.norm != NormKind::weight_free) scale(name, width, a_.norm == NormKind::layer_norm);
  }

  void embedding() {
    matrix("embedding.tokens", a_.vocabulary, a_.embedding_width, false);
    if (a_.embedding_width != a_.hidden) matrix("embedding.project", a_.hidden, a_.embedding_width, a_.narrow_ends);
    if (a_.learned_rows() > 0) matrix("embedding.positions", a_.learned_rows(), a_.summed_width(), false);
    if (a_.token_types > 0) matrix("embedding.types", a_.token_types, a_.summed_width(), false);
    if (a_.embedding_norm) norm("embedding.norm", a_.summed_width());
    if (a_.position == Position::relative && !a_.layer_distances) distances();
    if (a_.per_layer.width > 0) layer_inputs();
    if (a_.altup) matrix("embedding.streams", a_.hidden, a_.hidden, false, Start::normal, a_.streams - 1);
  }
  /// Adds one bias per head and distance bucket, with separate tables for the encoder and for the other stack.
  void distances() {
    if (a_.bidirectional) matrix("embedding.encoder_distances", a_.position_rows, a_.heads, false);
    const Mixer& own = a_.mixer(a_.mixers.size());
    if (!a_.is_encoder()) matrix("embedding.distances", a_.position_rows, own.heads, false);
  }
  void layer_inputs() {
    const Count each = a_.per_layer.width, all = a_.layers * each;
    matrix("embedding.per_layer", a_.per_layer.rows, all, false);
    matrix("embedding.per_layer_project", all, a_.hidden, false);
    scale("embedding.per_layer_norm", each, false);
  }
  void layer_input() {
    matrix("per_layer.gate", a_.per_layer.width, a_.hidden, false);
    matrix("per_layer.project", a_.hidden, a_.per_layer.width, false, Start::residual);
    norm("per_layer.norm");
  }
  void head() {
    prefix_.clear();
    streams("head", a_.streams, 1);
    if (a_.altup) matrix("head.streams", a_.hidden, a_.hidden, false, Start::normal, a_.streams - 1);
    if (a_.head.pooler) matrix("head.pooler", a_.hidden, a_.hidden, true);
    if (a_.head.sentence_pair) matrix("head.sentence_pair", 2, a_.hidden, true);
    if (a_.head.kind == HeadKind::masked_token) {
      matrix("head.transform", a_.summed_width(), a_.hidden, a_.head.transform_bias);
      norm("head.transform_norm", a_.summed_width());
    }
    if (a_.final_norm) norm("head.norm");
    if (a_.head.exit_gate) matrix("head.exit_gate", 1, a_.hidden, true);
    if (!a_.head.has_logits()) return;
    if (a_.narrows_head()) matrix("head.project", a_.embedding_width, a_.hidden, false);
    if (!a_.tied_head) matrix("head.logits", a_.vocabulary, a_.embedding_width, false);
    if (a_.head_bias) vector("head.logits.bias", a_.vocabulary, Start::zero);
  }

  /// Adds an MTP module's input projections, its layer, and the parameters it does not share with the model.
  void module(Count i) {
    prefix_ = "layers." + std::to_string(i * halves(a_)) + ".";
    if (a_.mtp.own_embedding) matrix("mtp.tokens", a_.vocabulary, a_.hidden, false);
    norm("mtp.token_norm");
    matrix("mtp.project_token", a_.hidden, a_.hidden, false);
    norm("mtp.result_norm");
    matrix("mtp.project_result", a_.hidden, a_.hidden, false);
    streams("head", a_.streams, 1);
    if (a_.mtp.own_norm) norm("head.norm");
    if (a_.mtp.own_head) matrix("head.logits", a_.vocabulary, a_.hidden, a_.head_bias);
    layer(i, mtp_layer(a_));
  }

  void layer(Count i, const LayerKind& kind) {
    for (Count half = 0; half < (kind.half ? 1 : halves(a_)); ++half) part(i * halves(a_) + half, kind);
  }
  /// Adds a layer, or one half of a shortcut block.
  void part(Count i, const LayerKind& kind) {
    if (kind.repeats) return;
    prefix_ = "layers." + std::to_string(i) + ".";
    const Mixer& m = a_.mixer(kind.mixer);
    const bool parallel = a_.block == BlockKind::parallel;
    const NormPlacement p = a_.norm_placement;
    const bool before = parallel || p == NormPlacement::pre || p == NormPlacement::both;
    const bool after = !parallel && p != NormPlacement::pre;
    const bool mixes = parallel || !m.is_empty(), has_mlp = parallel || kind.has_mlp();
    const Count weights = mul(a_.streams, a_.streams + 2);
    if (a_.altup) alternating();
    if (mixes) streams("attn", weights, 3);
    if (before && mixes && !kind.bare) norm("attn.norm");
    kind.linear ? lightning() : mixer(m);
    if (after && mixes) norm("attn.post_norm");
    if (m.cross_attention) cross(m, before, after);
    if (has_mlp) streams("mlp", weights, 3);
    if (before && has_mlp && (!parallel || a_.norms_per_layer == 2)) norm("mlp.norm");
    const bool shortcut = a_.block == BlockKind::shortcut && !kind.half, both = kind.experts && a_.moe.with_dense_mlp;
    if (both) norm("mlp.expert_norm");
    if (kind.experts && i % halves(a_) == 0) experts();
    if (both) norm("mlp.combined_norm");
    if (a_.mlp_shift && has_mlp) vector("mlp.shift.shares", (a_.mlp_receptance ? 2 : 1) * a_.hidden, Start::half);
    if (a_.mlp_receptance && has_mlp) matrix("mlp.receptance", a_.hidden, a_.hidden, false);
    if (shortcut || (has_mlp && (both || !kind.experts)))
      mlp("", shortcut ? a_.mlp_width : kind.mlp_width, a_.hidden, a_.mlp_bias);
    if (both) norm("mlp.dense_norm");
    if (after && has_mlp) norm("mlp.post_norm");
    if (a_.per_layer.width > 0) layer_input();
    if (a_.output_scale) vector("block.scale.factor", 1, Start::one);
    if (kind.closes_encoder && a_.final_norm) norm("encoder.norm");
  }
  /// Adds cross attention to the encoder's result.
  void cross(const Mixer& m, bool before, bool after) {
    if (before) norm("cross.norm");
    matrix("cross.q", m.heads * m.head_dim, a_.hidden, m.qkv_bias);
    matrix("cross.k", m.kv_heads * m.head_dim, a_.hidden, m.qkv_bias);
    matrix("cross.v", m.kv_heads * m.v_dim(), a_.hidden, m.qkv_bias);
    matrix("cross.out", a_.hidden, m.attention_width(), m.attention_out_bias, Start::residual);
    if (after) norm("cross.post_norm");
  }

  /// Adds parameters that combine the residual streams for one sub-layer: a mix, or for hyper-connections the matrix
  /// that computes the weights of all streams, with scales and biases.
  void streams(const std::string& part, Count weights, Count scales) {
    if (a_.residual_block > 0) {
      vector(part + ".mix.query", a_.hidden, Start::normal);
      vector(part + ".mix.norm", a_.hidden, Start::one);
    }
    if (!a_.hyper_connected()) return;
    matrix(part + ".stream_weights", weights, mul(a_.streams, a_.hidden), false);
    vector(part + ".gather.scales", scales, Start::one);
    vector(part + ".gather.bias", weights, Start::zero);
  }

  /// Adds the parameters of the alternating updates and of the low-rank path parallel to the mixer.
  void alternating() {
    scale("altup.norm", a_.hidden, false);
    matrix("altup.router", a_.streams, a_.hidden, false);
    matrix("altup.predict_weights", mul(a_.streams, a_.streams), a_.streams, false);
    matrix("altup.correct_weights", a_.streams, a_.streams, false);
    vector("altup.scale.factors", a_.hidden, Start::one);
    if (a_.laurel_rank == 0) return;
    matrix("laurel.down", a_.laurel_rank, a_.hidden, false);
    matrix("laurel.up", a_.hidden, a_.laurel_rank, false);
    norm("laurel.norm");
  }

  void mixer(const Mixer& m) {
    recurrence(m.recurrent);
    if (m.attention == AttentionKind::grouped) grouped(m);
    if (m.attention == AttentionKind::latent) latent(m);
    if (m.attention == AttentionKind::compressed) compressed(m);
  }

  void grouped(const Mixer& m) {
    if (a_.layer_distances) matrix("attn.distances", a_.position_rows, m.heads, false);
    const Count q = m.heads * m.head_dim, k = m.kv_heads * m.head_dim, v = m.kv_heads * m.v_dim();
    m.latent.q_rank > 0 ? low_rank_queries(m, q) : matrix("attn.q", q, a_.hidden, m.qkv_bias);
    if (!m.shared_kv) matrix("attn.k", k, a_.hidden, m.qkv_bias);
    if (!m.shared_kv && !m.key_is_value) matrix("attn.v", v, a_.hidden, m.qkv_bias);
    if (m.latent.q_rank == 0) qk_norm("attn.q_norm", m, m.heads);
    if (m.query_scale) vector("attn.q_scale.factors", m.head_dim, Start::one);
    if (!m.shared_kv) qk_norm("attn.k_norm", m, m.kv_heads);
    indexer(m);
    if (m.attention_sinks) vector("attn.core.sinks", m.heads, Start::zero);
    if (a_.sub_norms) scale("attn.sub_norm", m.attention_width(), false);
    gate_and_out(m);
  }
  /// Adds the matrices and the norm of W_up norm(W_down x), with `width` values over all heads.
  void low_rank_queries(const Mixer& m, Count width) {
    matrix("attn.q_down", m.latent.q_rank, a_.hidden, m.qkv_bias);
    scale("attn.q_norm", m.latent.q_rank, false);
    matrix("attn.q_up", width, m.latent.q_rank, false);
  }
  void gate_and_out(const Mixer& m) {
    if (m.attention_gate == AttentionGate::per_head) matrix("attn.gate", m.heads, a_.hidden, false);
    if (m.attention_gate == AttentionGate::per_channel) matrix("attn.gate", m.attention_width(), a_.hidden, false);
    matrix("attn.out", a_.hidden, m.attention_width(), m.attention_out_bias, Start::residual);
  }
  void qk_norm(const std::string& name, const Mixer& m, Count heads) {
    const bool bias = m.qk_norm == QkNorm::per_head_bias || m.qk_norm == QkNorm::full_bias;
    const bool per_head = m.qk_norm == QkNorm::per_head || m.qk_norm == QkNorm::per_head_bias;
    if (m.qk_norm != QkNorm::none && m.qk_norm != QkNorm::weight_free)
      scale(name, per_head ? m.head_dim : heads * m.head_dim, bias);
  }

  void latent(const Mixer& m) {
    const Latent& l = m.latent;
    const Count head = l.nope_dim + l.rope_dim;
    l.q_rank > 0 ? low_rank_queries(m, m.heads * head) : matrix("attn.q", m.heads * head, a_.hidden, false);
    matrix("attn.kv_down", l.kv_rank + l.rope_dim, a_.hidden, m.qkv_bias);
    scale("attn.kv_norm", l.kv_rank, false);
    indexer(m);
    matrix("attn.kv_up", m.heads * (l.nope_dim + l.v_dim), l.kv_rank, false);
    gate_and_out(m);
  }

  void indexer(const Mixer& m) {
    const Indexer& i = m.indexer;
    if (!i.runs()) return;
    const bool lightning = i.kind == IndexerKind::lightning;
    matrix("attn.index_q", i.heads * i.width, lightning ? m.latent.q_rank : a_.hidden, false);
    if (m.compressed.ratio > 0) {
      pool(m, {"attn.index_keys", "attn.index_gate", "attn.index_pool.bias", "attn.index_k_norm"}, i.width);
    } else {
      matrix("attn.index_k", i.width, a_.hidden, false);
      if (!lightning) scale("attn.index_q_norm", i.width, false);
      scale("attn.index_k_norm", i.width, lightning);
    }
    if (lightning) matrix("attn.index_weights", i.heads, a_.hidden, false);
  }

  void compressed(const Mixer& m) {
    const Compressed& c = m.compressed;
    low_rank_queries(m, m.heads * m.head_dim);
    matrix("attn.kv", m.head_dim, a_.hidden, false);
    scale("attn.kv_norm", m.head_dim, false);
    if (c.ratio > 0) pool(m, {"attn.pool_keys", "attn.pool_gate", "attn.pool.bias", "attn.pool_norm"}, m.head_dim);
    indexer(m);
    if (m.attention_sinks) vector("attn.core.sinks", m.heads, Start::zero);
    matrix("attn.out_low", c.out_rank, m.heads / c.out_groups * m.head_dim, false, Start::normal, c.out_groups);
    out("attn.out", c.out_groups * c.out_rank);
  }
  struct PoolParameters {
    const char *keys, *gate, *bias, *norm;
  };
  void pool(const Mixer& m, const PoolParameters& names, Count width) {
    const Count wide = m.pool_width(width);
    matrix(names.keys, wide, a_.hidden, false);
    matrix(names.gate, wide, a_.hidden, false);
    vector(names.bias, m.compressed.ratio * wide, Start::zero);
    scale(names.norm, width, false);
  }

  void recurrence(const Recurrent& r) {
    switch (r.kind) {
      case RecurrentKind::none:
        return;
      case RecurrentKind::rwkv7:
        return rwkv7(r);
      case RecurrentKind::gated_delta_net:
        return gated_delta_net(r);
      case RecurrentKind::kimi_delta:
        return kimi_delta(r);
      case RecurrentKind::mamba:
        return mamba(r);
      case RecurrentKind::mamba2:
        return mamba2(r);
      case RecurrentKind::short_convolution:
        return short_convolution(r);
      case RecurrentKind::rg_lru:
        return rg_lru(r);
      case RecurrentKind::rwkv6:
        return rwkv6(r);
      case RecurrentKind::mlstm:
        return mlstm(r);
    }
  }
  void gated_delta_net(const Recurrent& r) {
    const Count keys = r.key_heads * r.key_dim;
    convolved("delta.q", r, keys);
    convolved("delta.k", r, keys);
    convolved("delta.v", r, r.width());
    matrix("delta.decay", r.heads, a_.hidden, false);
    matrix("delta.beta", r.heads, a_.hidden, false);
    vector("delta.core.log_decay", r.heads, Start::zero);
    vector("delta.core.step_bias", r.heads, Start::step);
    matrix("delta.gate", r.width(), a_.hidden, false);
    scale("delta.o_norm", r.head_dim, false);
    out("delta.out", r.width());
  }
  void kimi_delta(const Recurrent& r) {
    for (const char* name : {"kda.q", "kda.k", "kda.v"}) convolved(name, r, r.width());
    through_rank("kda.decay", r);
    matrix("kda.beta", r.heads, a_.hidden, false);
    vector("kda.core.log_decay", r.decays > 0 ? r.decays : r.heads, Start::zero);
    vector("kda.core.step_bias", r.width(), Start::step);
    r.full_rank_gate ? matrix("kda.gate", r.width(), a_.hidden, false) : through_rank("kda.gate", r);
    scale("kda.o_norm", r.head_dim, false);
    out("kda.out", r.width());
  }
  void mamba(const Recurrent& r) {
    convolved("ssm.x", r, r.width());
    matrix("ssm.select", r.rank + 2 * r.key_dim, r.width(), false);
    if (r.inner_norms) {
      scale("ssm.step_norm", r.rank, false);
      scale("ssm.key_norm", r.key_dim, false);
      scale("ssm.query_norm", r.key_dim, false);
    }
    matrix("ssm.step", r.heads, r.rank, true);
    vector("ssm.core.log_decay", r.head_dim > 1 ? r.heads : r.heads * r.key_dim, Start::zero);
    vector("ssm.core.skip", r.heads, Start::one);
    matrix("ssm.gate", r.width(), a_.hidden, false);
    out("ssm.out", r.width());
  }
  void mamba2(const Recurrent& r) {
    convolved("ssm.x", r, r.width());
    convolved("ssm.select", r, 2 * r.key_heads * r.key_dim);
    matrix("ssm.step", r.heads, a_.hidden, false);
    vector("ssm.core.log_decay", r.heads, Start::zero);
    vector("ssm.core.step_bias", r.heads, Start::step);
    vector("ssm.core.skip", r.heads, Start::one);
    matrix("ssm.gate", r.width(), a_.hidden, false);
    if (r.gated_norm) scale("ssm.norm", r.width(), false);
    out("ssm.out", r.width());
  }
  void rwkv7(const Recurrent& r) {
    const Count w = r.width();
    vector("rwkv.shift.shares", 6 * a_.hidden, Start::half);
    for (const char* name : {"rwkv.r", "rwkv.k", "rwkv.v"}) matrix(name, w, a_.hidden, false);
    if (r.reads_values()) low_rank("rwkv.value", r.value_rank, w, true);
    low_rank("rwkv.decay", r.rank, w, true);
    low_rank("rwkv.step", r.step_rank, w, true);
    scale("rwkv.removed_key", w, false);
    vector("rwkv.key_gate.shares", w, Start::one);
    scale("rwkv.o_norm", w, true);
    low_rank("rwkv.gate", r.gate_rank, w, false);
    vector("rwkv.gate_mul.shares", w, Start::zero);
    out("rwkv.out", w);
  }
  void low_rank(const std::string& name, Count rank, Count width, bool bias) {
    matrix(name + "_down", rank, a_.hidden, false);
    matrix(name + "_up", width, rank, bias);
  }
  void short_convolution(const Recurrent& r) {
    for (const char* name : {"conv.in_gate", "conv.out_gate", "conv.x"}) matrix(name, r.width(), a_.hidden, false);
    matrix("conv.core", r.width(), r.taps, r.convolution_bias);
    out("conv.out", r.width());
  }
  void rg_lru(const Recurrent& r) {
    const Count w = r.width();
    matrix("lru.gate", w, a_.hidden, true);
    matrix("lru.x", w, a_.hidden, true);
    matrix("lru.x_conv", w, r.taps, r.convolution_bias);
    for (const char* name : {"lru.in_gate", "lru.decay"})
      matrix(name, r.head_dim, r.head_dim, false, Start::normal, r.heads);
    vector("lru.core.log_decay", w, Start::zero);
    vector("lru.core.step_bias", w, Start::zero);
    vector("lru.core.input_bias", w, Start::zero);
    matrix("lru.out", a_.hidden, w, true, Start::residual);
  }
  void rwkv6(const Recurrent& r) {
    const Count w = r.width(), rank = r.mix_rank;
    const bool moves = rank > 0;
    vector("rwkv.shift.shares", (moves ? 1 : 4) * a_.hidden, Start::half);
    if (moves) {
      matrix("rwkv.mix_down", 5 * rank, a_.hidden, false);
      matrix("rwkv.mix_up", a_.hidden, rank, false, Start::normal, 5);
      vector("rwkv.mix.shares", 5 * a_.hidden, Start::half);
      low_rank("rwkv.decay", r.rank, w, true);
    } else {
      vector("rwkv.core.log_decay", w, Start::zero);
    }
    for (const char* name : {"rwkv.r", "rwkv.k", "rwkv.v", "rwkv.gate"}) matrix(name, w, a_.hidden, false);
    vector("rwkv.core.bonus", w, Start::half);
    scale("rwkv.o_norm", w, true);
    out("rwkv.out", w);
  }
  void mlstm(const Recurrent& r) {
    for (const char* name : {"mlstm.q", "mlstm.k"}) matrix(name, r.heads * r.key_dim, a_.hidden, false);
    matrix("mlstm.v", r.width(), a_.hidden, false);
    for (const char* name : {"mlstm.in_gate", "mlstm.decay"}) matrix(name, r.heads, a_.hidden, true);
    scale("mlstm.o_norm", r.width(), false);
    matrix("mlstm.gate", r.width(), a_.hidden, false);
    out("mlstm.out", r.width());
  }
  /// Adds a projection, and a convolution of its result with `taps` weights per channel.
  void convolved(const std::string& name, const Recurrent& r, Count width) {
    matrix(name, width, a_.hidden, false);
    matrix(name + "_conv", width, r.taps, r.convolution_bias);
  }
  void through_rank(const std::string& name, const Recurrent& r) { low_rank(name, r.rank, r.width(), false); }
  void out(const char* name, Count width) { matrix(name, a_.hidden, width, false, Start::residual); }

  void lightning() {
    const Count w = a_.heads * a_.head_dim;
    for (const char* name : {"attn.q", "attn.k", "attn.v"}) matrix(name, w, a_.hidden, false);
    for (const char* name : {"attn.q_norm", "attn.k_norm"}) qk_norm(name, a_, a_.heads);
    scale("attn.o_norm", w, false);
    matrix("attn.gate", w, a_.hidden, false);
    out("attn.out", w);
  }

  /// kind: "", "expert_" or "shared_". outer: width of the input and output.
  void mlp(const std::string& kind, Count width, Count outer, bool bias, Count groups = 1) {
    if (a_.mlp == MlpKind::gated) matrix("mlp." + kind + "gate", width, outer, bias, Start::normal, groups);
    matrix("mlp." + kind + "up", width, outer, bias, Start::normal, groups);
    if (a_.activation == Activation::xielu) vector("mlp." + kind + "act.bends", 2, Start::zero);
    if (kind.empty() && a_.sub_norms) scale("mlp.sub_norm", width, false);
    matrix("mlp." + kind + "down", outer, width, bias || (kind.empty() && a_.mlp_out_bias), Start::residual, groups);
  }
  void experts() {
    const Moe& m = a_.moe;
    const bool narrow = m.latent_width > 0;
    const Count outer = narrow ? m.latent_width : a_.hidden;
    if (m.router_scales) scale("mlp.router_norm", a_.hidden, false);
    matrix("mlp.router", m.choices(), a_.hidden, m.router_bias);
    if (m.router_scales) vector("mlp.route.factors", m.experts, Start::one);
    if (narrow) matrix("mlp.latent_down", outer, a_.hidden, false);
    if (m.latent_norm) scale("mlp.latent_norm", outer, false);
    mlp("expert_", m.width, outer, m.expert_bias, m.experts);
    if (narrow) matrix("mlp.latent_up", a_.hidden, outer, false, Start::residual);
    if (m.shared_experts == 0) return;
    mlp("shared_", m.shared_experts * m.shared_width, a_.hidden, false);
    if (m.shared_gate) matrix("mlp.shared_weight", 1, a_.hidden, false);
  }

  const Arch& a_;
  const LayerKinds kinds_;
  std::string prefix_;
  std::vector<ParameterShape> all_;
};

}  // namespace

std::vector<ParameterShape> parameter_shapes(const Arch& arch, Count modules) { return Shapes(arch).list(modules); }

}  // namespace llmcalc::model
