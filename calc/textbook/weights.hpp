#pragma once
/// A model's weights as a table of matrices and vectors, for the whole model or for one of T tensor-parallel ranks.
/// Parameters, multiply-adds, Adafactor's state and bytes (calc/textbook/weight_bytes.hpp) follow from it.

#include "calc/textbook/recurrent_weights.hpp"

namespace llmcalc::textbook {

template <class N, class Visit>
class WeightTable : WeightRows<N, Visit> {
 public:
  WeightTable(const Arch& a, const Sizes<N>& s, Visit& visit)
      : WeightRows<N, Visit>(visit), a_(a), m_(s.mixer), s_(s) {}

  void each() {
    embedding();
    blocks();
    for (const Sizes<N>& other : s_.others) WeightTable(a_, other, visit_).blocks();
    norms_outside();
    head();
  }

 private:
  using Rows = WeightRows<N, Visit>;
  using Rows::has, Rows::inner_norm, Rows::matrix, Rows::vector, Rows::visit_;

  /// Weights of the layers that share this mixer.
  void blocks() {
    if (has(s_.L_s)) attention();
    if (has(s_.L_l)) linear();
    if (has(s_.L_r)) RecurrentWeights<N, Visit>(s_, visit_).each();
    if (has(s_.L_d)) dense(s_.L_d, s_.F);
    for (const MlpLayers<N>& mlp : s_.mlps)
      if (has(mlp.L)) dense(mlp.L, mlp.F);
    if (has(s_.L_m)) experts();
    norms();
    ends();
  }
  void attention() {
    if (m_.attention == AttentionKind::compressed) return compressed();
    m_.attention == AttentionKind::latent ? latent() : grouped();
  }
  void embedding() {
    const Component c = Component::embedding;
    visit_(Weight<N>{.component = c, .matrix = true, .in = s_.D_e, .out = s_.cut(s_.V), .lookup = true});
    if (!(s_.D_e == s_.D)) {
      matrix(c, 1, 1, s_.D_e, s_.D, Place::whole);
      s_.narrows_head ? matrix(c, 1, 1, s_.D, s_.D_e, Place::whole) : vector(c, 1, 1, s_.D, Place::whole);
    }
    if (a_.position == Position::relative && !a_.layer_distances) distances(1, a_.is_encoder_decoder() ? 2 : 1);
    if (a_.learned_rows() > 0)
      visit_(Weight<N>{.component = Component::position,
                       .matrix = true,
                       .in = s_.D_w,
                       .out = s_.K_a,
                       .place = Place::whole,
                       .lookup = true});
    if (a_.token_types > 0)
      visit_(Weight<N>{
          .component = c, .matrix = true, .in = s_.D_w, .out = s_.n_T, .place = Place::whole, .lookup = true});
    if (a_.per_layer.width > 0) per_layer_inputs();
    if (a_.altup) stream_projections(c);
  }
  /// Tables of relative positions with K distance buckets: one per stack, or one per layer.
  void distances(const N& layers, Count times) {
    visit_(Weight<N>{.component = Component::position,
                     .layers = layers,
                     .times = times,
                     .matrix = true,
                     .in = s_.cut(s_.A),
                     .out = s_.K,
                     .lookup = true});
  }
  /// A table of V_p rows and a projection, both for all layers, and one norm (hf gemma3n/modeling_gemma3n.py).
  void per_layer_inputs() {
    const Component c = Component::embedding;
    const N all = s_.L * s_.D_p;
    visit_(Weight<N>{.component = c, .matrix = true, .in = all, .out = s_.cut(s_.V_p), .lookup = true});
    matrix(c, 1, 1, s_.D, all, Place::whole);
    vector(Component::norm, 1, 1, s_.D_p, Place::whole);
  }
  /// Gate, projection and norm of the per-layer input, and the factor that scales the layer's result.
  void ends() {
    if (a_.per_layer.width > 0) {
      matrix(Component::mlp, s_.L_p, 1, s_.D, s_.D_p, Place::whole);
      matrix(Component::mlp, s_.L_p, 1, s_.D_p, s_.D, Place::whole);
      if (a_.norm != NormKind::weight_free)
        vector(Component::norm, s_.L_p, a_.norm == NormKind::layer_norm ? 2 : 1, s_.D, Place::whole);
    }
    if (a_.output_scale) vector(Component::norm, s_.L_p, 1, 1, Place::whole);
    if (has(s_.L_e) && a_.norm != NormKind::weight_free)  // the final norm, repeated
      visit_(Weight<N>{.component = Component::norm,
                       .layers = s_.L_e,
                       .times = a_.norm == NormKind::layer_norm ? 2 : 1,
                       .out = s_.D,
                       .place = Place::whole,
                       .tied = true});
  }

  /// Weights of attention and, if present, of cross-attention.
  void grouped() {
    if (a_.layer_distances) distances(s_.L_s, 1);
    one_grouped(false);
    if (m_.cross_attention) one_grouped(true);
  }
  void one_grouped(bool again) {
    const Component c = Component::attention;
    const N q = s_.cut(s_.A) * s_.d_h, kv = s_.cut(s_.G) * s_.d_h, v = s_.cut(s_.G) * s_.d_v;
    const bool alike = s_.d_v == s_.d_h && !m_.key_is_value, own_values = !alike && !m_.key_is_value;
    m_.latent.q_rank > 0 ? low_rank_queries(q) : matrix(c, s_.L_s, 1, s_.D, q);
    if (m_.qkv_bias && m_.latent.q_rank == 0) vector(c, s_.L_s, 1, q);
    if (m_.query_scale) vector(c, s_.L_s, 1, s_.d_h, Place::shared);
    if (!m_.shared_kv) {
      matrix(c, s_.L_s, alike ? 2 : 1, s_.D, kv);
      if (own_values) matrix(c, s_.L_s, 1, s_.D, v);
      if (m_.qkv_bias) vector(c, s_.L_s, alike ? 2 : 1, kv);
      if (m_.qkv_bias && own_values) vector(c, s_.L_s, 1, v);
    }
    matrix(c, s_.L_s, 1, s_.cut(s_.A) * s_.d_v, s_.D);
    if (m_.attention_out_bias) vector(c, s_.L_s, 1, s_.D, Place::after);
    if (m_.attention_sinks) vector(c, s_.L_s, 1, s_.cut(s_.A));
    qk_norms(s_.L_s, q, kv, m_.shared_kv);
    gate();
    indexer();
    if (a_.sub_norms && !again) inner_norm(s_.L_s, 1, s_.cut(s_.A) * s_.d_v);
  }
  /// Down-projection, norm, and up-projection to `q` values for all heads.
  void low_rank_queries(const N& q) {
    const Component c = Component::attention;
    matrix(c, s_.L_s, 1, s_.D, s_.r_q, Place::whole);
    inner_norm(s_.L_s, 1, s_.r_q, Place::whole);
    matrix(c, s_.L_s, 1, s_.r_q, q);
    if (m_.qkv_bias) vector(c, s_.L_s, 1, s_.r_q, Place::whole);
  }
  /// The weights of an indexer, replicated on every rank.
  void indexer() {
    const IndexerSizes<N>& i = s_.i;
    if (!has(i.L)) return;
    const bool lightning = m_.indexer.kind == IndexerKind::lightning;
    matrix(Component::attention, i.L, 1, lightning ? s_.r_q : s_.D, i.A * i.d);
    if (has(s_.c.ratio)) {
      matrix(Component::attention, i.L, 1, s_.D, i.A);
      return pool(i.L, i.d, Place::cut);
    }
    matrix(Component::attention, i.L, 1, s_.D, i.d);
    if (lightning) matrix(Component::attention, i.L, 1, s_.D, i.A);
    inner_norm(i.L, 2, i.d);  // LayerNorm of the key; or RMSNorms of queries and key
  }
  void gate() {
    if (m_.attention_gate == AttentionGate::none) return;
    const bool per_head = m_.attention_gate == AttentionGate::per_head;
    matrix(Component::attention, s_.L_s, 1, s_.D, s_.cut(s_.A) * (per_head ? N(1) : s_.d_v));
  }
  void qk_norms(const N& layers, const N& q, const N& kv, bool shared_kv) {
    const bool bias = m_.qk_norm == QkNorm::per_head_bias || m_.qk_norm == QkNorm::full_bias;
    switch (m_.qk_norm) {
      case QkNorm::none:
      case QkNorm::weight_free:
        break;
      case QkNorm::per_head:
      case QkNorm::per_head_bias:
        inner_norm(layers, (bias ? 2 : 1) * (shared_kv ? 1 : 2), s_.d_h, Place::shared);
        break;
      case QkNorm::each_head:
      case QkNorm::each_head_rms:
      case QkNorm::full:
      case QkNorm::full_bias:
        inner_norm(layers, bias ? 2 : 1, q);
        if (!shared_kv) inner_norm(layers, bias ? 2 : 1, kv);
        break;
    }
  }

  /// DeepSeek-V2's latent attention (arXiv:2405.04434): down-projection, norm and up-projection for keys and values,
  /// and for queries unless they are projected directly.
  void latent() {
    const Component c = Component::attention;
    const N heads = s_.cut(s_.A), q = heads * (s_.d_n + s_.d_r), down = s_.r_kv + s_.d_r;
    m_.latent.q_rank > 0 ? low_rank_queries(q) : matrix(c, s_.L_s, 1, s_.D, q);
    matrix(c, s_.L_s, 1, s_.D, down, Place::whole);
    inner_norm(s_.L_s, 1, s_.r_kv, Place::whole);
    if (m_.qkv_bias) vector(c, s_.L_s, 1, down, Place::whole);
    matrix(c, s_.L_s, 1, s_.r_kv, heads * (s_.d_n + s_.d_v));
    matrix(c, s_.L_s, 1, heads * s_.d_v, s_.D);
    if (m_.attention_out_bias) vector(c, s_.L_s, 1, s_.D, Place::after);
    if (m_.attention_sinks) vector(c, s_.L_s, 1, heads);
    gate();
    indexer();
  }

  /// DeepSeek-V4's attention (hf deepseek_v4): low-rank queries, one key head whose keys are also the values, and a
  /// low-rank output projection per group of heads.
  void compressed() {
    const Component c = Component::attention;
    matrix(c, s_.L_s, 1, s_.D, s_.r_q, Place::whole);
    inner_norm(s_.L_s, 1, s_.r_q, Place::whole);
    matrix(c, s_.L_s, 1, s_.r_q, s_.cut(s_.A) * s_.d_h);
    matrix(c, s_.L_s, 1, s_.D, s_.d_h, Place::whole);
    inner_norm(s_.L_s, 1, s_.d_h, Place::whole);
    const N groups = s_.cut(s_.c.groups);
    visit_(Weight<N>{.component = c,
                     .layers = s_.L_s,
                     .copies = groups,
                     .visited = groups,
                     .matrix = true,
                     .in = s_.A * s_.d_h / s_.c.groups,
                     .out = s_.c.rank});
    matrix(c, s_.L_s, 1, groups * s_.c.rank, s_.D);
    if (m_.attention_sinks) vector(c, s_.L_s, 1, s_.cut(s_.A));
    if (has(s_.c.ratio)) pool(s_.L_s, s_.d_h, Place::whole);
    indexer();
  }
  /// Key and gate projections of a pool, a bias per position in the group, and the norm of the pooled keys.
  void pool(const N& layers, const N& width, Place place) {
    matrix(Component::attention, layers, 2, s_.D, s_.c.wide * width, place);
    vector(Component::attention, layers, 1, s_.c.ratio * s_.c.wide * width, place);
    inner_norm(layers, 1, width, place);
  }

  /// Lightning attention (MiniMax-01, arXiv:2501.08313): query, key, value, gate, output, a norm of the core's output,
  /// and the query and key norms if the model's attention has them.
  void linear() {
    const N width = s_.cut(s_.A) * s_.d_h;
    matrix(Component::attention, s_.L_l, 4, s_.D, width);
    matrix(Component::attention, s_.L_l, 1, width, s_.D);
    qk_norms(s_.L_l, width, width, false);
    inner_norm(s_.L_l, 1, width);
  }

  /// Up (and gate) and down matrices, with biases. `one` specifies the layers and the number of copies.
  void mlp(Weight<N> one, const N& outer, const N& width, bool bias) {
    const Count ups = a_.mlp == MlpKind::gated ? 2 : 1;
    const auto add = [&](Count times, bool is_matrix, const N& in, const N& out, Place place) {
      one.times = times;
      one.matrix = is_matrix;
      one.in = in;
      one.out = out;
      one.place = place;
      visit_(one);
    };
    add(ups, true, outer, width, Place::cut);
    add(1, true, width, outer, Place::cut);
    if (!bias) return;
    add(ups, false, 1, width, Place::cut);
    add(1, false, 1, outer, Place::after);
  }
  void learned_activation(Component c, const N& layers) {
    if (a_.activation == Activation::xielu) vector(c, layers, 1, 2);
  }
  void dense(const N& layers, const N& width) {
    if (a_.mlp_shift) vector(Component::mlp, layers, a_.mlp_receptance ? 2 : 1, s_.D, Place::shared);
    if (a_.mlp_receptance) matrix(Component::mlp, layers, 1, s_.D, s_.D, Place::shared);
    mlp({.component = Component::mlp, .layers = layers}, s_.D, s_.cut(width), a_.mlp_bias);
    if (a_.mlp_out_bias) vector(Component::mlp, layers, 1, s_.D, Place::after);
    if (a_.sub_norms)
      visit_(Weight<N>{.component = Component::mlp, .layers = layers, .out = s_.cut(width), .norm = true});
    learned_activation(Component::mlp, layers);
  }
  void experts() {
    const Moe& m = a_.moe;
    matrix(Component::router, s_.L_m, 1, s_.D, s_.n_E + s_.n_I, Place::whole);
    if (m.router_bias) vector(Component::router, s_.L_m, 1, s_.n_E + s_.n_I, Place::whole);
    if (m.router_scales) {
      vector(Component::mlp, s_.L_m, 1, s_.n_E, Place::whole);
      visit_(Weight<N>{
          .component = Component::router, .layers = s_.L_m, .out = s_.D, .place = Place::whole, .norm = true});
    }
    if (m.with_dense_mlp) dense(s_.L_m, s_.F);
    mlp({.component = Component::experts, .layers = s_.L_m, .copies = s_.n_E, .visited = s_.k, .routed = true}, s_.D_l,
        s_.cut(s_.F_e), m.expert_bias);
    learned_activation(Component::experts, s_.L_m);
    if (m.latent_width > 0) {
      matrix(Component::mlp, s_.L_m, 1, s_.D, s_.D_l, Place::shared);
      matrix(Component::mlp, s_.L_m, 1, s_.D_l, s_.D, Place::shared);
      if (m.latent_norm)
        visit_(Weight<N>{
            .component = Component::mlp, .layers = s_.L_m, .out = s_.D_l, .place = Place::shared, .norm = true});
    }
    if (m.shared_experts == 0) return;
    mlp({.component = Component::shared_experts, .layers = s_.L_m}, s_.D, s_.cut(s_.n_s * s_.F_s), false);
    learned_activation(Component::shared_experts, s_.L_m);
    if (m.shared_gate) matrix(Component::router, s_.L_m, 1, s_.D, 1);
  }

  /// Norms of the layers with this mixer: one or two for each sub-layer of a serial block.
  void norms() {
    if (a_.altup) alternating();
    if (a_.hyper_connected()) {  // hyper-connections of both sub-layers: a matrix; bias and three scales in one tensor
      const N n = s_.n_h, weights = n * (n + N(2));
      matrix(Component::norm, s_.L_p, 2, n * s_.D, weights, Place::whole);
      vector(Component::norm, s_.L_p, 2, weights + N(3), Place::whole);
    }
    if (a_.norm == NormKind::weight_free) return;
    const Count width = a_.norm == NormKind::layer_norm ? 2 : 1;
    if (a_.block == BlockKind::parallel)
      return vector(Component::norm, s_.L_p, a_.norms_per_layer * width, s_.D, Place::whole);
    const Count both = a_.norm_placement == NormPlacement::both ? 4 : a_.norms_per_layer;
    if (a_.residual_block > 0) mixes();
    if (a_.moe.with_dense_mlp && has(s_.L_m)) vector(Component::norm, s_.L_m, 3 * width, s_.D, Place::whole);
    if (m_.cross_attention) vector(Component::norm, s_.L_p, both / 2 * width, s_.D, Place::whole);
    const N with_mlp = layers_with_mlp(s_);
    const bool mixes = !m_.is_empty();
    if (mixes && with_mlp == s_.L_p) return vector(Component::norm, s_.L_p, both * width, s_.D, Place::whole);
    if (mixes) vector(Component::norm, s_.L_p, both / 2 * width, s_.D, Place::whole);
    if (has(with_mlp)) vector(Component::norm, with_mlp, both / 2 * width, s_.D, Place::whole);
  }
  /// AltUp: norm and router, prediction and correction weights, and one factor per channel. Also LAuReL's low-rank
  /// branch with its norm, if present.
  void alternating() {
    const N n = s_.n_h;
    for (const bool again : {false, true})
      visit_(Weight<N>{.component = Component::norm,
                       .layers = s_.L_p,
                       .matrix = true,
                       .in = s_.D,
                       .out = n,
                       .place = Place::whole,
                       .tied = again});
    matrix(Component::norm, s_.L_p, 1, n, n * n, Place::whole);
    matrix(Component::norm, s_.L_p, 1, n, n, Place::whole);
    vector(Component::norm, s_.L_p, 2, s_.D, Place::whole);
    if (a_.laurel_rank == 0) return;
    matrix(Component::mlp, s_.L_p, 1, s_.D, s_.r_l, Place::whole);
    matrix(Component::mlp, s_.L_p, 1, s_.r_l, s_.D, Place::whole);
    if (a_.norm != NormKind::weight_free)
      vector(Component::norm, s_.L_p, a_.norm == NormKind::layer_norm ? 2 : 1, s_.D, Place::whole);
  }
  /// A projection of each stream except the first.
  void stream_projections(Component c) {
    const N more = s_.n_h - N(1);
    visit_(Weight<N>{.component = c,
                     .copies = more,
                     .visited = more,
                     .matrix = true,
                     .in = s_.D,
                     .out = s_.D,
                     .place = Place::whole});
  }
  /// A vector and a norm for each sub-layer of a layer that mixes residual streams.
  void mixes() {
    if (!m_.is_empty()) vector(Component::norm, s_.L_p, 2, s_.D, Place::whole);
    const N with_mlp = layers_with_mlp(s_);
    if (has(with_mlp)) vector(Component::norm, with_mlp, 2, s_.D, Place::whole);
  }
  void norms_outside() {
    if (a_.residual_block > 0) vector(Component::norm, 1, 2, s_.D, Place::whole);
    const Count width = a_.norm == NormKind::layer_norm ? 2 : 1;
    const Count stacks = a_.is_encoder_decoder() ? 2 : 1;
    // norms() counts a first norm in every layer. If the first layer has no such norm, one is subtracted here.
    const bool narrow = a_.embedding_norm && a_.narrow_ends;
    const Count once = (a_.final_norm ? stacks : 0) + (a_.embedding_norm && !narrow ? 1 : 0) - (a_.first_norm ? 0 : 1);
    if (a_.norm == NormKind::weight_free) return;
    if (once != 0) vector(Component::norm, 1, once * width, s_.D, Place::whole);
    if (narrow) vector(Component::norm, 1, width, s_.D_w, Place::whole);
  }

  /// A dense layer outside the blocks.
  void dense_layer(const N& out, bool bias = true) {
    matrix(Component::lm_head, 1, 1, s_.D, out, Place::whole);
    if (bias) vector(Component::lm_head, 1, 1, out, Place::whole);
  }
  void head() {
    const ModelHead& h = a_.head;
    if (h.pooler) dense_layer(s_.D);
    if (h.sentence_pair) dense_layer(2);
    if (h.exit_gate) dense_layer(1);
    if (!h.has_logits()) return;
    if (h.kind == HeadKind::masked_token) {
      dense_layer(s_.D_w, h.transform_bias);
      if (a_.norm != NormKind::weight_free)
        vector(Component::norm, 1, a_.norm == NormKind::layer_norm ? 2 : 1, s_.D_w, Place::whole);
    }
    const N rows = s_.cut(s_.V);
    if (a_.altup) stream_projections(Component::lm_head);
    if (a_.hyper_connected()) {
      matrix(Component::lm_head, 1, 1, s_.n_h * s_.D, s_.n_h, Place::whole);
      vector(Component::lm_head, 1, 1, s_.n_h + N(1), Place::whole);
    }
    visit_(Weight<N>{.component = Component::lm_head, .matrix = true, .in = s_.D_e, .out = rows, .tied = a_.tied_head});
    if (a_.head_bias) vector(Component::lm_head, 1, 1, rows);
  }

  const Arch& a_;
  const Mixer& m_;
  const Sizes<N>& s_;
};

/// The sum over all weights of of(weight) times the weight's number of layers.
template <class N, class Of>
N sum_of_weights(const Arch& a, const Sizes<N>& s, const Of& of) {
  Layered<N> sum;
  const auto add = [&](const Weight<N>& w) { sum.add(w.layers, of(w)); };
  WeightTable<N, decltype(add)>(a, s, add).each();
  return sum.total();
}

/// Like sum_of_weights(), but counts only layers with their own weights.
template <class N, class Of>
N sum_of_own_weights(const Arch& a, const Sizes<N>& s, const Of& of) {
  return sum_of_weights(a, s.own.empty() ? s : s.own.front(), of);
}

/// Number of parameters in the weights for which `which` returns true.
template <class N, class Which>
N parameters_of(const Arch& a, const Sizes<N>& s, const Which& which) {
  return sum_of_own_weights(a, s, [&](const Weight<N>& w) { return w.tied || !which(w) ? N(0) : w.numbers(); });
}
/// Parameters of one component: attention includes projections, biases, latent norms, query and key norms, and sinks;
/// the MLP includes routers, experts, shared experts and gates.
template <class N>
N parameters_of(const Arch& a, const Sizes<N>& s, Component c) {
  return parameters_of(
      a, s, [c](const Weight<N>& w) { return w.component == c || (c == Component::mlp && in_mlp(w.component)); });
}
template <class N>
N all_parameters(const Arch& a, const Sizes<N>& s) {
  return parameters_of(a, s, [](const Weight<N>&) { return true; });
}
/// Parameters of the routed experts to which a token is not routed. `visited`: number of experts to which it is
/// routed.
template <class N>
N idle_parameters(const Arch& a, const Sizes<N>& s, const N& visited) {
  return sum_of_own_weights(
      a, s, [&](const Weight<N>& w) { return w.routed ? (w.copies - visited) * N(w.times) * w.in * w.out : N(0); });
}

/// Weights used in a matmul once per token. Includes the head even if tied; excludes tables and vectors.
template <class N>
N matmul_weights(const Arch& a, const Sizes<N>& s) {
  return sum_of_weights(a, s, [](const Weight<N>& w) {
    return (w.matrix && !w.lookup) || w.taps ? N(w.times) * w.visited * w.in * w.out : N(0);
  });
}

/// Head weights applied to every position with a loss: the table, the dense layer of an MLM head or of an exit gate,
/// and the matrices that combine the residual streams. Excludes the projection to a narrower table. pooled_weights():
/// weights applied to one position per sequence.
template <class N>
N head_weights(const Arch& a, const Sizes<N>& s) {
  if (!a.head.has_logits()) return 0;
  const N dense = a.head.kind == HeadKind::masked_token ? s.D * s.D_w : a.head.exit_gate ? s.D : N(0);
  const N head = s.V * s.D_e + dense;
  if (a.altup) return head + (s.n_h - N(1)) * s.D * s.D;
  return a.hyper_connected() ? head + s.n_h * s.n_h * s.D : head;
}
template <class N>
N pooled_weights(const Arch& a, const Sizes<N>& s) {
  return (a.head.pooler ? s.D * s.D : N(0)) + (a.head.sentence_pair ? N(2) * s.D : N(0));
}

/// Elements of Adafactor's state: rows + columns of each matrix, all elements of each vector (arXiv:1804.04235).
template <class N>
N factored_numbers(const Arch& a, const Sizes<N>& s) {
  return sum_of_own_weights(a, s, [](const Weight<N>& w) {
    if (w.tied) return N(0);
    return N(w.times) * w.copies * (w.matrix ? w.in + w.out : w.in * w.out);
  });
}

}  // namespace llmcalc::textbook
