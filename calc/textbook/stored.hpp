#pragma once
/// Table of the tensors saved for backward: the inputs of every operator, each counted once (Goon (2.5), (2.6);
/// Korthikanti et al. 2022, arXiv:2205.05198). Dropout masks have one byte per element; additions save no tensors.

#include <array>

#include "calc/textbook/recurrent_stored.hpp"

namespace llmcalc::textbook {

template <class N, class Visit>
class StoredTable : StoredRows<N, Visit> {
 public:
  StoredTable(const Arch& a, const Sizes<N>& s, const MicroBatch<N>& m, Visit& visit)
      : StoredRows<N, Visit>(m, visit), a_(a), mixer_(s.mixer), s_(s) {}

  void each() {
    embedding();
    blocks();
    for (const Sizes<N>& other : s_.others) StoredTable(a_, other, m_, visit_).blocks();
    if (!a_.first_norm) without_first_norm();
    head();
  }

 private:
  using Rows = StoredRows<N, Visit>;
  using Rows::bytes, Rows::has, Rows::m_, Rows::numbers, Rows::statistic, Rows::statistics, Rows::visit_;

  /// Subtracts the input of the first layer's first norm. Without this norm, the mixer and the residual addition read
  /// the same tensor, which is saved once.
  void without_first_norm() {
    numbers(N(-1), Tokens::mine, s_.D);
    statistics(N(-1), Tokens::mine, 1, centered());
  }
  /// Tensors of the layers that share this mixer.
  void blocks() {
    residual();
    if (has(s_.L_e)) run_norms();
    if (has(s_.L_s)) attention();
    if (has(s_.L_l)) linear();
    if (has(s_.L_r)) RecurrentStored<N, Visit>(s_, m_, visit_).each();
    if (has(s_.L_d)) dense(s_.L_d, s_.cut(s_.F));
    for (const MlpLayers<N>& other : s_.mlps)
      if (has(other.L)) dense(other.L, s_.cut(other.F));
    if (has(s_.L_m)) experts();
    if (a_.per_layer.width > 0) per_layer_input();
    if (a_.altup) alternating();
  }
  /// Input of the final norm between two loops over the layers.
  void run_norms() {
    numbers(s_.L_e, Tokens::mine, s_.D);
    statistics(s_.L_e, Tokens::mine, 1, centered());
  }
  /// The residual stream before the gate; gate, act(gate) and product, or fewer if fused or recomputed; the projection
  /// before the norm.
  void per_layer_input() {
    const Count inside = m_.glu == GluStore::recompute ? 1 : m_.glu == GluStore::all ? 3 : 2;
    numbers(s_.L_p, Tokens::mine, N(2) * s_.D + N(inside) * s_.D_p);
    statistics(s_.L_p, Tokens::mine, 1, centered());
  }
  /// AltUp: streams and predictions; for both routers, the norm's input, and the router values before and after tanh;
  /// the mixing weights; the layer's result before and after its norm; the first stream before scaling, instead of
  /// the residual stream before the gate. LAuReL: low-rank activation and its projection.
  void alternating() {
    const N n = s_.n_h;
    numbers(s_.L_p, Tokens::mine, N(2) * n * s_.D - s_.D);
    numbers(s_.L_p, Tokens::mine, N(4) * s_.D + N(5) * n + n * n);
    statistics(s_.L_p, Tokens::mine, 2, false);
    if (a_.laurel_rank == 0) return;
    numbers(s_.L_p, Tokens::mine, s_.r_l + s_.D);
    statistics(s_.L_p, Tokens::mine, 1, centered());
  }
  /// Projections of all streams except the first, sharded by rows.
  void projected_streams() {
    const N rows = m_.B * m_.S * (s_.n_h - N(1));
    visit_(StoredActivation<N>{
        .layers = 1, .each = s_.D, .in_block = false, .rows = m_.sequence_parallel ? quotient_up(rows, s_.T) : rows});
  }
  void attention() {
    if (mixer_.attention == AttentionKind::compressed) return compressed();
    mixer_.attention == AttentionKind::latent ? latent() : grouped();
  }
  void once(Tokens tokens, bool number, const N& each) { visit_(StoredActivation<N>{1, tokens, number, each, false}); }
  void core(bool number, const N& each) { visit_(StoredActivation<N>{s_.L_s, Tokens::all, number, each, true, true}); }
  bool centered() const { return a_.norm != NormKind::rms_norm; }

  /// Number of layer stacks with an embedding.
  Count stacks() const { return a_.is_encoder_decoder() ? 2 : 1; }

  void embedding() {
    once(Tokens::all, false, N(8 * stacks()));  // 64-bit ids for each stack
    if (a_.position == Position::relative &&
        !a_.layer_distances)  // one value per pair and head, the same for all sequences
      once(Tokens::all, true, N(stacks()) * m_.S * s_.cut(s_.A) / m_.B);
    if (a_.is_encoder_decoder()) encoded();
    const Tokens looked_up = a_.learned_rows() == 0 && !s_.narrows_head ? Tokens::scattered : Tokens::mine;
    if (s_.narrows_head) once(Tokens::scattered, true, s_.D_e);
    if (a_.embedding_norm) {
      once(looked_up, true, s_.D_w);
      if (m_.norm_stats) once(Tokens::mine, false, statistic(centered()));
    }
    if (a_.narrow_ends) once(a_.embedding_norm ? Tokens::mine : looked_up, true, s_.D_w);
    if (m_.hidden_dropout) once(Tokens::mine, false, N(stacks()) * s_.D_w);
    if (a_.altup) {  // the embedding and its projections
      once(Tokens::scattered, true, s_.D);
      projected_streams();
    }
    if (a_.per_layer.width == 0) return;
    once(Tokens::mine, true, N(2) * s_.L * s_.D_p);  // the projection before its norm, and the sum
    if (m_.norm_stats)                               // a float32 per token and layer, sharded by rows
      for (int byte = 0; byte < 4; ++byte) once(Tokens::scattered, false, s_.L);
  }

  /// The encoder's output, which all decoder layers read, and the input of its norm.
  void encoded() {
    visit_(StoredActivation<N>{.layers = 1, .tokens = Tokens::mine, .each = s_.D, .cross_layer_tensors = true});
    if (!a_.final_norm) return;
    numbers(1, Tokens::mine, s_.D);
    statistics(1, Tokens::mine, 1, centered());
  }

  /// Tensors of the residual stream: inputs of norms, of the mixer and of the MLP; dropout masks.
  void residual() {
    if (a_.block == BlockKind::parallel) {
      numbers(s_.L_p, Tokens::mine, N(1 + a_.norms_per_layer) * s_.D);
      statistics(s_.L_p, Tokens::mine, N(a_.norms_per_layer), centered());
      if (m_.hidden_dropout) bytes(s_.L_p, Tokens::mine, N(2) * s_.D);
      return;
    }
    if (a_.block == BlockKind::shortcut) return halves(s_.L_p, 4);
    const N with_mlp = layers_with_mlp(s_);
    const bool mixes = !mixer_.is_empty();
    const bool beside = a_.moe.with_dense_mlp && has(s_.L_m);
    if (mixes && with_mlp == s_.L_p && !beside) return halves(s_.L_p, mixer_.cross_attention ? 3 : 2);
    if (mixes) halves(s_.L_p, 1);
    if (beside) {  // the sum after two norms is sharded by tokens
      halves(s_.L_m, 1, Tokens::mine);
      if (has(s_.L_d)) halves(s_.L_d, 1);
    } else if (has(with_mlp)) {
      halves(with_mlp, 1);
    }
  }
  /// Tensors of the sub-layers of serial blocks: `each` sub-layers in each of `layers` layers.
  void halves(const N& layers, Count each, Tokens result = Tokens::scattered) {
    if (a_.hyper_connected()) {  // the streams, their weights, and the result to be added to them
      numbers(layers, Tokens::mine, N(each) * s_.n_h * (s_.D + s_.n_h + N(2)));
      numbers(layers, Tokens::scattered, N(each) * s_.D);
    }
    const bool both = a_.norm_placement == NormPlacement::both, after = a_.norm_placement == NormPlacement::output;
    numbers(layers, Tokens::mine, N(each * (after ? 1 : 2)) * s_.D);
    if (both || after) numbers(layers, result, N(each) * s_.D);                // the summed result before its norm
    if (a_.residual_block > 0) numbers(layers, Tokens::mine, N(each) * s_.D);  // the stream before the mix
    statistics(layers, Tokens::mine, N(each * (both ? 2 : 1)), centered());
    if (m_.hidden_dropout) bytes(layers, Tokens::mine, N(each) * s_.D);
  }

  /// Tensors inside the attention core: log-sum-exps (flash), or S x S scores.
  void scores() {
    const N heads = s_.cut(s_.A), keys = has(s_.c.ratio) ? m_.S + quotient_up(m_.S, s_.c.ratio) : m_.S;
    if (m_.attention == AttentionImpl::flash) {
      core(false, N(4) * heads);
      return;
    }
    const bool twice = m_.softmax == SoftmaxStore::seed || m_.attention_dropout;
    core(true, N(twice ? 2 : 1) * heads * keys);
    if (m_.attention_dropout) core(false, heads * keys);
  }

  /// Tensors of attention and, in a decoder with cross-attention, of a second attention over the same number of tokens.
  void grouped() {
    if (a_.layer_distances) numbers(s_.L_s, Tokens::all, m_.S * s_.cut(s_.A) / m_.B);  // biases shared by sequences
    one_grouped();
    if (mixer_.cross_attention) one_grouped();
    low_rank_queries();
    if (mixer_.query_scale) numbers(s_.L_s, Tokens::all, s_.cut(s_.A) * s_.d_h);  // the queries before scaling
    if (!a_.sub_norms) return;
    numbers(s_.L_s, Tokens::all, s_.cut(s_.A) * s_.d_v);  // the output before its norm
    statistics(s_.L_s, Tokens::all, 1, false);
  }
  /// Low-rank queries before and after their norm.
  void low_rank_queries() {
    if (mixer_.latent.q_rank == 0) return;
    numbers(s_.L_s, Tokens::mine, N(2) * s_.r_q);
    statistics(s_.L_s, Tokens::mine, 1, false);
  }
  void one_grouped() {
    const N heads = s_.cut(s_.A), groups = s_.cut(s_.G);
    const bool normed = mixer_.qk_norm != QkNorm::none, alike = s_.d_v == s_.d_h;
    const Count before = normed ? 2 : 1;  // queries and keys before and after a norm; values, output
    const Count values = mixer_.value_norm && !mixer_.key_is_value ? 2 : 1;
    numbers(s_.L_s, Tokens::all, N(before + (alike ? 1 : 0)) * heads * s_.d_h);
    if (!mixer_.shared_kv) numbers(s_.L_s, Tokens::all, N(before + (alike ? values : 0)) * groups * s_.d_h);
    if (!alike) numbers(s_.L_s, Tokens::all, (mixer_.shared_kv ? heads : heads + N(values) * groups) * s_.d_v);
    if (mixer_.value_norm && !mixer_.shared_kv) statistics(s_.L_s, Tokens::all, groups, false);
    if (normed) qk_statistics(s_.L_s, heads, groups, mixer_.shared_kv);
    scores();
    gate();
    indexer();
  }
  /// Queries and key of an indexer before and after their norms, its head weights, and the selected indices, 4 bytes
  /// each.
  void indexer() {
    const IndexerSizes<N>& i = s_.i;
    if (!has(i.L)) return;
    const bool lightning = mixer_.indexer.kind == IndexerKind::lightning;
    if (has(s_.c.ratio)) {
      numbers(i.L, Tokens::all, i.A * i.d + i.A);
      pool(i.L, i.d, Tokens::all);
      return choice(N(4) * min(i.keys, quotient_up(m_.S, s_.c.ratio)));
    }
    numbers(i.L, Tokens::all, lightning ? i.A * i.d + N(2) * i.d + i.A : N(2) * (i.A + N(1)) * i.d);
    if (lightning)
      statistics(i.L, Tokens::all, 1, true);
    else
      statistics(i.L, Tokens::all, i.A + N(1), false);
    choice(N(4) * (lightning ? min(i.keys, m_.S) : min(i.keys / i.block, quotient_up(m_.S, i.block))));
  }
  void choice(const N& each) {
    visit_(StoredActivation<N>{
        .layers = s_.i.L, .numbers = false, .each = each, .cross_layer_tensors = a_.shares_choices()});
  }
  /// The gate, and the gated output.
  void gate() {
    if (mixer_.attention_gate == AttentionGate::none) return;
    const N heads = s_.cut(s_.A);
    numbers(s_.L_s, Tokens::all,
            heads * s_.d_v + (mixer_.attention_gate == AttentionGate::per_head ? heads : heads * s_.d_v));
  }
  void qk_statistics(const N& layers, const N& heads, const N& groups, bool shared_kv) {
    const QkNorm k = mixer_.qk_norm;
    const bool two = k == QkNorm::per_head_bias || k == QkNorm::each_head || k == QkNorm::full_bias;
    if (k == QkNorm::full || k == QkNorm::full_bias) {
      statistics(layers, Tokens::all, shared_kv ? 1 : 2, two);  // one statistic for all heads
      return;
    }
    statistics(layers, Tokens::all, heads, two);
    if (!shared_kv) statistics(layers, Tokens::all, groups, two);
  }

  /// Low-rank queries; queries and keys before and after their norms; the output before and after its low-rank
  /// projection.
  void compressed() {
    const N heads = s_.cut(s_.A);
    numbers(s_.L_s, Tokens::mine, N(2) * (s_.r_q + s_.d_h));
    statistics(s_.L_s, Tokens::mine, 2, false);
    numbers(s_.L_s, Tokens::all, N(3) * heads * s_.d_h + s_.cut(s_.c.groups) * s_.c.rank);
    statistics(s_.L_s, Tokens::all, heads, false);
    scores();
    if (has(s_.c.ratio)) pool(s_.L_s, s_.d_h, Tokens::mine);
    indexer();
  }
  /// Keys and gates of a pool; pooled keys before and after their norm.
  void pool(const N& layers, const N& width, Tokens tokens) {
    numbers(layers, tokens, N(2) * s_.c.wide * width);
    const bool shared = tokens == Tokens::mine && m_.sequence_parallel;
    const N all = m_.B * quotient_up(m_.S, s_.c.ratio);
    const N made = shared ? m_.B * quotient_up(quotient_up(m_.S, s_.T), s_.c.ratio) : all;
    const N normed = shared ? quotient_up(all, s_.T) : all;
    pooled(layers, made, true, width);
    pooled(layers, normed, true, width);
    if (m_.norm_stats) pooled(layers, normed, false, statistic(false));
  }
  void pooled(const N& layers, const N& rows, bool number, const N& each) {
    visit_(StoredActivation<N>{.layers = layers, .numbers = number, .each = each, .rows = rows});
  }

  void latent() {
    const N heads = s_.cut(s_.A);
    low_rank_queries();
    numbers(s_.L_s, Tokens::mine, N(2) * s_.r_kv);  // the latent row, before and after its norm
    numbers(s_.L_s, Tokens::mine, s_.d_r);
    statistics(s_.L_s, Tokens::mine, 1, false);
    numbers(s_.L_s, Tokens::all, heads * (s_.d_n + s_.d_r));
    const bool absorbed = m_.mla == Mla::absorbed;  // queries in the latent space and the core's latent output
    numbers(s_.L_s, Tokens::all, absorbed ? N(2) * heads * s_.r_kv : heads * (s_.d_n + s_.d_v));
    numbers(s_.L_s, Tokens::all, heads * s_.d_v);
    scores();
    gate();
    indexer();
  }

  /// Tensors of linear attention: q, k, v; the core's output before and after its norm; the gate; their product; q and
  /// k before their norms.
  void linear() {
    const bool normed = mixer_.qk_norm != QkNorm::none;
    numbers(s_.L_l, Tokens::all, N(normed ? 9 : 7) * s_.cut(s_.A) * s_.d_h);
    if (normed) qk_statistics(s_.L_l, s_.cut(s_.A), s_.cut(s_.A), false);
    statistics(s_.L_l, Tokens::all, 1, false);
  }

  /// Number of tensors inside an MLP. Plain: up, act(up). Gated: gate, act(gate), up, product, or fewer if fused or
  /// recomputed.
  Count inner() const {
    if (a_.mlp != MlpKind::gated || m_.glu == GluStore::recompute) return 2;
    return m_.glu == GluStore::all ? 4 : 3;
  }
  void mlp(const N& layers, const N& width) { numbers(layers, Tokens::all, N(inner()) * width); }
  /// Tensors of a dense MLP, including the token-shifted input that it reads.
  void dense(const N& layers, const N& width) {
    if (a_.mlp_shift) numbers(layers, Tokens::all, s_.D);
    if (a_.mlp_receptance) numbers(layers, Tokens::all, N(3) * s_.D);  // receptance's input, gate and gated value
    mlp(layers, width);
    if (!a_.sub_norms) return;
    numbers(layers, Tokens::all, width);  // the input of `down`, before its norm
    statistics(layers, Tokens::all, 1, false);
  }

  /// Tensors of the experts: router logits, probabilities and gates in float32; tokens as dispatched and as returned.
  void experts() {
    const Moe& m = a_.moe;
    numbers(s_.L_m, Tokens::all, N(2) * s_.k * s_.D_l);
    if (m.latent_width > 0) numbers(s_.L_m, Tokens::all, N(m.latent_norm ? 2 : 1) * s_.D_l);
    if (m.latent_norm) statistics(s_.L_m, Tokens::all, 1, false);
    mlp(s_.L_m, s_.k * s_.cut(s_.F_e));
    if (m.router_scales) {  // the router's input
      numbers(s_.L_m, Tokens::mine, s_.D);
      statistics(s_.L_m, Tokens::mine, 1, false);
    }
    if (m.with_dense_mlp) {  // both results before their norms
      dense(s_.L_m, s_.cut(s_.F));
      numbers(s_.L_m, Tokens::scattered, N(2) * s_.D);
      statistics(s_.L_m, Tokens::mine, 3, centered());
    }
    bytes(s_.L_m, Tokens::mine, N(8) * (s_.n_E + s_.n_I));  // every rank routes only its own tokens
    bytes(s_.L_m, Tokens::mine, N(4) * s_.k);
    if (m.shared_experts == 0) return;
    mlp(s_.L_m, s_.cut(s_.n_s * s_.F_s));
    if (m.shared_gate) numbers(s_.L_m, Tokens::all, s_.D + N(1));
  }

  /// Input of the pooler or of the last norm. Backward does not need their outputs, because no operator follows.
  void without_logits() {
    if (a_.head.pooler || a_.final_norm) once(Tokens::mine, true, s_.D);
    if (a_.final_norm && m_.norm_stats) once(Tokens::mine, false, statistic(centered()));
  }

  void head() {
    const ModelHead& h = a_.head;
    if (h.pooler) {  // input of tanh; its output if two logits follow; the input of the loss apart from vocabulary
                     // logits
      const N result = h.sentence_pair ? N(2) : s_.D;
      once(Tokens::first, true, N(h.sentence_pair ? 2 : 1) * s_.D + (h.has_logits() ? result : N(0)));
    }
    if (!h.has_logits()) return without_logits();
    if (h.kind == HeadKind::masked_token) {  // the dense layer's input and result, and its activation
      once(Tokens::mine, true, s_.D + N(2) * s_.D_w);
      if (m_.norm_stats) once(Tokens::mine, false, statistic(centered()));
    }
    if (a_.residual_block > 0) once(Tokens::mine, true, s_.D);
    const N read = h.kind == HeadKind::masked_token ? s_.D_w : s_.D;  // width of the logits' input
    once(Tokens::mine, true, a_.final_norm ? s_.D + read : read);
    if (a_.hyper_connected()) once(Tokens::mine, true, s_.n_h * (s_.D + N(1)));
    if (a_.altup) {
      once(Tokens::mine, true, s_.n_h * s_.D);
      projected_streams();
    }
    if (a_.final_norm && m_.norm_stats) once(Tokens::mine, false, statistic(centered()));
    if (s_.narrows_head) once(Tokens::mine, true, s_.D_e);
    if (h.exit_gate) once(Tokens::mine, true, 1);
    if (m_.log_sum_exps) once(Tokens::all, false, 4);
  }

  const Arch& a_;
  const Mixer& mixer_;
  const Sizes<N>& s_;
};

/// A sum of stored tensors, tokens x layers x each, in which equal token counts are factored out.
template <class N>
class StoredSum {
 public:
  void add(const N& tokens, const StoredActivation<N>& x, const N& each) {
    std::size_t i = 0;
    while (i < size_ && !(tokens_[i] == tokens)) ++i;
    if (i == size_) tokens_[size_++] = tokens;
    (x.numbers ? numbers_ : bytes_)[i].add(x.layers, each);
  }
  N bytes(const N& p) const {
    N all = 0;
    for (std::size_t i = 0; i < size_; ++i) all = all + tokens_[i] * (p * numbers_[i].total() + bytes_[i].total());
    return all;
  }
  N numbers() const {
    N all = 0;
    for (std::size_t i = 0; i < size_; ++i) all = all + tokens_[i] * numbers_[i].total();
    return all;
  }

 private:
  std::array<N, 12> tokens_{};
  std::array<Layered<N>, 12> numbers_{}, bytes_{};
  std::size_t size_ = 0;
};

template <class N, class Which>
StoredSum<N> stored(const Arch& a, const Sizes<N>& s, const MicroBatch<N>& m, const Which& which) {
  StoredSum<N> sum;
  const auto add = [&](const StoredActivation<N>& x) {
    if (!which(x)) return;
    if (!(x.rows == N(0))) return sum.add(x.rows, x, x.each);
    const bool uneven = x.tokens == Tokens::scattered && m.sequence_parallel && !m.even;
    if (uneven)
      sum.add(1, x, quotient_up(m.B * m.S * x.each, s.T));
    else
      sum.add(tokens_of(m, s.T, x.tokens), x, x.each);
  };
  StoredTable<N, decltype(add)>(a, s, m, add).each();
  return sum;
}

/// Tensors saved under a recomputation mode. Full recomputation saves only block inputs and the tensors that later
/// layers read.
template <class N>
StoredSum<N> stored(const Arch& a, const Sizes<N>& s, const MicroBatch<N>& m, Recompute recompute) {
  StoredSum<N> sum = stored(a, s, m, [recompute](const StoredActivation<N>& x) {
    return recompute == Recompute::none ||
           (recompute == Recompute::selective ? !x.core : !x.in_block || x.cross_layer_tensors);
  });
  if (recompute != Recompute::full) return sum;
  const auto add = [&](const N& layers, Tokens tokens, const N& each) {
    sum.add(tokens_of(m, s.T, tokens), StoredActivation<N>{layers, tokens, true, each}, each);
  };
  add(s.L, Tokens::mine, s.n_h * s.D);
  over_parts(s, [&](const Sizes<N>& of) {
    if (has_states(of.mixer.recurrent) && !(of.L_k == N(0))) {  // values of a recurrence
      add(of.L_k, Tokens::all, of.cut(of.r.H) * of.r.P);
      return of.L_k;
    }
    const N each = of.d_v == of.d_h ? N(2) * of.cut(of.G) * of.d_h : of.cut(of.G) * (of.d_h + of.d_v);
    if (!(of.L_k == N(0))) add(of.L_k, Tokens::all, each);
    return of.L_k;
  });
  return sum;
}

}  // namespace llmcalc::textbook
