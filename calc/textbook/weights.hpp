#pragma once
/// The weights of a model as a table of matrices and vectors. Parameters, bytes in any number format, multiply-adds and
/// Adafactor's state follow from it, of the whole model or of one of T tensor-parallel ranks.

#include "calc/dtype.hpp"
#include "calc/op.hpp"
#include "calc/textbook/sizes.hpp"

namespace llmcalc::textbook {

/// The place of a weight under tensor parallelism.
enum class Place : std::uint8_t {
  cut,     ///< a share of it on every rank
  whole,   ///< on every rank, for its tokens only
  shared,  ///< on every rank, for its heads only
  after    ///< on every rank: a bias that is added after the ranks' sum
};

/// `layers` x `times` x `copies` matrices (in, out), or vectors of `out` numbers.
template <class N>
struct Weight {
  Component component{};
  N layers = 1;
  Count times = 1;            ///< alike: keys and values
  N copies = 1, visited = 1;  ///< experts, and those of them that a token visits
  bool matrix = false;
  N in = 1, out = 1;
  Place place = Place::cut;
  bool routed = false;  ///< an expert's
  bool tied = false;    ///< the token table, counted there
  bool lookup = false;  ///< a table that is read, not multiplied
  bool taps = false;    ///< of a depthwise convolution: each multiplied once per token
  bool norm = false;    ///< of a norm inside attention, stored like other norms
  N numbers() const { return N(times) * copies * in * out; }
};

template <class N, class Visit>
class WeightTable {
 public:
  WeightTable(const Arch& a, const Sizes<N>& s, Visit& visit) : a_(a), m_(s.mixer), s_(s), visit_(visit) {}

  void each() {
    embedding();
    blocks();
    for (const Sizes<N>& other : s_.others) WeightTable(a_, other, visit_).blocks();
    norms_outside();
    head();
  }

 private:
  static bool has(const N& layers) { return !(layers == N(0)); }
  /// Layers with one mixer.
  void blocks() {
    if (has(s_.L_s)) attention();
    if (has(s_.L_l)) linear();
    if (has(s_.L_r)) recurrent();
    if (has(s_.L_d)) dense(s_.L_d, s_.F);
    for (const MlpLayers<N>& mlp : s_.mlps)
      if (has(mlp.L)) dense(mlp.L, mlp.F);
    if (has(s_.L_m)) experts();
    norms();
  }
  void attention() {
    if (m_.attention == AttentionKind::compressed) return compressed();
    m_.attention == AttentionKind::latent ? latent() : grouped();
  }
  void matrix(Component c, const N& layers, Count times, const N& in, const N& out, Place place = Place::cut) {
    visit_(Weight<N>{
        .component = c, .layers = layers, .times = times, .matrix = true, .in = in, .out = out, .place = place});
  }
  void vector(Component c, const N& layers, Count times, const N& size, Place place = Place::cut) {
    visit_(Weight<N>{.component = c, .layers = layers, .times = times, .out = size, .place = place});
  }
  /// Adds a norm's weights to attention's.
  void inner_norm(const N& layers, Count times, const N& size, Place place = Place::cut) {
    visit_(Weight<N>{.component = Component::attention,
                     .layers = layers,
                     .times = times,
                     .out = size,
                     .place = place,
                     .norm = true});
  }

  void embedding() {
    const Component c = Component::embedding;
    visit_(Weight<N>{.component = c, .matrix = true, .in = s_.D_e, .out = s_.cut(s_.V), .lookup = true});
    if (!(s_.D_e == s_.D)) {
      matrix(c, 1, 1, s_.D_e, s_.D, Place::whole);
      matrix(c, 1, 1, s_.D, s_.D_e, Place::whole);
    }
    if (a_.position == Position::learned)
      visit_(Weight<N>{.component = Component::position,
                       .matrix = true,
                       .in = s_.D,
                       .out = s_.K,
                       .place = Place::whole,
                       .lookup = true});
  }

  void grouped() {
    const Component c = Component::attention;
    const N q = s_.cut(s_.A) * s_.d_h, kv = s_.cut(s_.G) * s_.d_h, v = s_.cut(s_.G) * s_.d_v;
    const bool alike = s_.d_v == s_.d_h;
    matrix(c, s_.L_s, 1, s_.D, q);
    matrix(c, s_.L_s, alike ? 2 : 1, s_.D, kv);
    if (!alike) matrix(c, s_.L_s, 1, s_.D, v);
    matrix(c, s_.L_s, 1, s_.cut(s_.A) * s_.d_v, s_.D);
    if (m_.qkv_bias) {
      vector(c, s_.L_s, 1, q);
      vector(c, s_.L_s, alike ? 2 : 1, kv);
      if (!alike) vector(c, s_.L_s, 1, v);
    }
    if (m_.attention_out_bias) vector(c, s_.L_s, 1, s_.D, Place::after);
    if (m_.attention_sinks) vector(c, s_.L_s, 1, s_.cut(s_.A));
    qk_norms(q, kv);
    gate();
    indexer();
  }
  /// Whole on every rank.
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
  void qk_norms(const N& q, const N& kv) {
    const bool bias = m_.qk_norm == QkNorm::per_head_bias || m_.qk_norm == QkNorm::full_bias;
    switch (m_.qk_norm) {
      case QkNorm::none:
      case QkNorm::weight_free:
        break;
      case QkNorm::per_head:
      case QkNorm::per_head_bias:
        inner_norm(s_.L_s, bias ? 4 : 2, s_.d_h, Place::shared);
        break;
      case QkNorm::each_head:
      case QkNorm::full:
      case QkNorm::full_bias:
        inner_norm(s_.L_s, bias ? 2 : 1, q);
        inner_norm(s_.L_s, bias ? 2 : 1, kv);
        break;
    }
  }

  /// DeepSeek-V2's latent attention (arXiv:2405.04434): down, norm, up for keys and values, and for queries unless they
  /// are direct.
  void latent() {
    const Component c = Component::attention;
    const N heads = s_.cut(s_.A), q = heads * (s_.d_n + s_.d_r), down = s_.r_kv + s_.d_r;
    if (m_.latent.q_rank == 0) {
      matrix(c, s_.L_s, 1, s_.D, q);
    } else {
      matrix(c, s_.L_s, 1, s_.D, s_.r_q, Place::whole);
      inner_norm(s_.L_s, 1, s_.r_q, Place::whole);
      matrix(c, s_.L_s, 1, s_.r_q, q);
      if (m_.qkv_bias) vector(c, s_.L_s, 1, s_.r_q, Place::whole);
    }
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

  /// DeepSeek-V4's (hf deepseek_v4): queries through a low rank, one head of keys that are values, the output through a
  /// low rank per group of heads.
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
  /// Keys and gates of a pool, a bias for each place, the norm of the pooled keys.
  void pool(const N& layers, const N& width, Place place) {
    matrix(Component::attention, layers, 2, s_.D, s_.c.wide * width, place);
    vector(Component::attention, layers, 1, s_.c.ratio * s_.c.wide * width, place);
    inner_norm(layers, 1, width, place);
  }

  /// Lightning attention (MiniMax-01, arXiv:2501.08313): query, key, value, gate, output, and a norm of the core's
  /// output.
  void linear() {
    const N width = s_.cut(s_.A) * s_.d_h;
    matrix(Component::attention, s_.L_l, 4, s_.D, width);
    matrix(Component::attention, s_.L_l, 1, width, s_.D);
    inner_norm(s_.L_l, 1, width);
  }

  void projection(const N& width, Count times = 1) { matrix(Component::attention, s_.L_r, times, s_.D, width); }
  void learned(Count times, const N& size) { vector(Component::attention, s_.L_r, times, size); }
  /// Depthwise convolutions of `width` channels, their bias.
  void convolution(const N& width) {
    visit_(Weight<N>{.component = Component::attention, .layers = s_.L_r, .in = s_.r.K, .out = width, .taps = true});
    if (m_.recurrent.convolution_bias) learned(1, width);
  }
  /// Two matrices with a rank between them.
  void through_rank(const N& width) {
    matrix(Component::attention, s_.L_r, 1, s_.D, s_.r.R, Place::whole);
    matrix(Component::attention, s_.L_r, 1, s_.r.R, width);
  }
  void recurrent() {
    const RecurrentSizes<N>& r = s_.r;
    const N heads = s_.cut(r.H), values = heads * r.P, keys = s_.cut(r.G) * r.d;
    switch (m_.recurrent.kind) {
      case RecurrentKind::none:
        return;
      case RecurrentKind::gated_delta_net:  // q, k; v, z; a, b; A_log, dt_bias
        projection(keys, 2);
        projection(values, 2);
        projection(heads, 2);
        convolution(N(2) * keys + values);
        learned(2, heads);
        inner_norm(s_.L_r, 1, r.P, Place::shared);
        break;
      case RecurrentKind::kimi_delta:  // q, k, v; beta; decay; dt_bias and A_log
        projection(values, 3);
        projection(heads);
        through_rank(values);
        m_.recurrent.full_rank_gate ? projection(values) : through_rank(values);
        convolution(N(3) * values);
        learned(1, r.Z == N(0) ? values + heads : quotient_up((r.H * r.P + r.Z) * heads, r.H));
        inner_norm(s_.L_r, 1, r.P, Place::shared);
        break;
      case RecurrentKind::mamba:  // x, z; step, B, C of x; A_log, D
        projection(values, 2);
        convolution(values);
        matrix(Component::attention, s_.L_r, 1, values, r.R + N(2) * r.d);
        matrix(Component::attention, s_.L_r, 1, r.R, values);
        learned(1, values);
        learned(1, values * r.d + values);
        break;
      case RecurrentKind::mamba2:  // x, z; B, C; dt; A_log, D, dt_bias
        projection(values, 2);
        projection(N(2) * keys);
        projection(heads);
        convolution(values + N(2) * keys);
        learned(3, heads);
        if (m_.recurrent.gated_norm) inner_norm(s_.L_r, 1, values);
        break;
      case RecurrentKind::short_convolution:
        projection(values, 3);
        convolution(values);
        break;
    }
    matrix(Component::attention, s_.L_r, 1, values, s_.D);
  }

  /// Up (and gate) and down, their biases; `one` says which layers and how many copies.
  void mlp(Weight<N> one, const N& outer, const N& width, bool bias) {
    const Count ups = a_.mlp == MlpKind::gated ? 2 : 1;
    const auto add = [&](Count times, bool matrix, const N& in, const N& out, Place place) {
      one.times = times;
      one.matrix = matrix;
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
    mlp({.component = Component::mlp, .layers = layers}, s_.D, s_.cut(width), a_.mlp_bias);
    learned_activation(Component::mlp, layers);
  }
  void experts() {
    const Moe& m = a_.moe;
    matrix(Component::router, s_.L_m, 1, s_.D, s_.n_E + s_.n_I);
    if (m.router_bias) vector(Component::router, s_.L_m, 1, s_.n_E + s_.n_I);
    mlp({.component = Component::experts, .layers = s_.L_m, .copies = s_.n_E, .visited = s_.k, .routed = true}, s_.D_l,
        s_.cut(s_.F_e), m.expert_bias);
    learned_activation(Component::experts, s_.L_m);
    if (m.latent_width > 0) {
      matrix(Component::mlp, s_.L_m, 1, s_.D, s_.D_l, Place::whole);
      matrix(Component::mlp, s_.L_m, 1, s_.D_l, s_.D, Place::whole);
      if (m.latent_norm)
        visit_(Weight<N>{
            .component = Component::mlp, .layers = s_.L_m, .out = s_.D_l, .place = Place::whole, .norm = true});
    }
    if (m.shared_experts == 0) return;
    mlp({.component = Component::shared_experts, .layers = s_.L_m}, s_.D, s_.cut(s_.n_s * s_.F_s), false);
    learned_activation(Component::shared_experts, s_.L_m);
    if (m.shared_gate) matrix(Component::router, s_.L_m, 1, s_.D, 1);
  }

  /// Norms of the layers with this mixer: in serial blocks one or two for each half that they have.
  void norms() {
    if (a_.streams > 1) {  // hyper-connections of both halves: a matrix, its bias, and three scales
      const N n = s_.n_h, weights = n * (n + N(2));
      matrix(Component::norm, s_.L_p, 2, n * s_.D, weights, Place::whole);
      vector(Component::norm, s_.L_p, 2, weights, Place::whole);
      vector(Component::norm, s_.L_p, 2, N(3), Place::whole);
    }
    if (a_.norm == NormKind::weight_free) return;
    const Count width = a_.norm == NormKind::layer_norm ? 2 : 1;
    if (a_.block == BlockKind::parallel)
      return vector(Component::norm, s_.L_p, a_.norms_per_layer * width, s_.D, Place::whole);
    const Count both = a_.norm_placement == NormPlacement::both ? 4 : a_.norms_per_layer;
    const N with_mlp = layers_with_mlp(s_);
    const bool mixes = !m_.is_empty();
    if (mixes && with_mlp == s_.L_p) return vector(Component::norm, s_.L_p, both * width, s_.D, Place::whole);
    if (mixes) vector(Component::norm, s_.L_p, both / 2 * width, s_.D, Place::whole);
    if (has(with_mlp)) vector(Component::norm, with_mlp, both / 2 * width, s_.D, Place::whole);
  }
  void norms_outside() {
    const Count width = a_.norm == NormKind::layer_norm ? 2 : 1;
    const Count once = (a_.final_norm ? 1 : 0) + (a_.embedding_norm ? 1 : 0);
    if (a_.norm != NormKind::weight_free && once > 0) vector(Component::norm, 1, once * width, s_.D, Place::whole);
  }

  void head() {
    const N rows = s_.cut(s_.V);
    if (a_.streams > 1) {
      matrix(Component::lm_head, 1, 1, s_.n_h * s_.D, s_.n_h, Place::whole);
      vector(Component::lm_head, 1, 1, s_.n_h, Place::whole);
      vector(Component::lm_head, 1, 1, 1, Place::whole);
    }
    visit_(Weight<N>{.component = Component::lm_head, .matrix = true, .in = s_.D_e, .out = rows, .tied = a_.tied_head});
    if (a_.head_bias) vector(Component::lm_head, 1, 1, rows);
  }

  const Arch& a_;
  const Mixer& m_;
  const Sizes<N>& s_;
  Visit& visit_;
};

/// The sum over all weights of layers x of(weight).
template <class N, class Of>
N sum_of_weights(const Arch& a, const Sizes<N>& s, const Of& of) {
  Layered<N> sum;
  const auto add = [&](const Weight<N>& w) { sum.add(w.layers, of(w)); };
  WeightTable<N, decltype(add)>(a, s, add).each();
  return sum.total();
}

/// Number of learned numbers in the weights that `which` accepts.
template <class N, class Which>
N parameters_of(const Arch& a, const Sizes<N>& s, const Which& which) {
  return sum_of_weights(a, s, [&](const Weight<N>& w) { return w.tied || !which(w) ? N(0) : w.numbers(); });
}
/// Learned numbers of one component: attention has projections, biases, latent norms, norms of queries and keys, and
/// sinks; the MLP has router, experts, shared experts and gates.
template <class N>
N parameters_of(const Arch& a, const Sizes<N>& s, Component c) {
  return parameters_of(
      a, s, [c](const Weight<N>& w) { return w.component == c || (c == Component::mlp && in_mlp(w.component)); });
}
template <class N>
N all_parameters(const Arch& a, const Sizes<N>& s) {
  return parameters_of(a, s, [](const Weight<N>&) { return true; });
}
/// Learned numbers of the experts that a token does not visit, where it visits `visited` of them.
template <class N>
N idle_parameters(const Arch& a, const Sizes<N>& s, const N& visited) {
  return sum_of_weights(
      a, s, [&](const Weight<N>& w) { return w.routed ? (w.copies - visited) * N(w.times) * w.in * w.out : N(0); });
}

/// Weights that enter a matmul once per token: the head in even where it is tied, tables and vectors out.
template <class N>
N matmul_weights(const Arch& a, const Sizes<N>& s) {
  return sum_of_weights(a, s, [](const Weight<N>& w) {
    return (w.matrix && !w.lookup) || w.taps ? N(w.times) * w.visited * w.in * w.out : N(0);
  });
}

/// Numbers of Adafactor's state: rows and columns of a matrix, all of a vector (arXiv:1804.04235).
template <class N>
N factored_numbers(const Arch& a, const Sizes<N>& s) {
  return sum_of_weights(a, s, [](const Weight<N>& w) {
    if (w.tied) return N(0);
    return N(w.times) * w.copies * (w.matrix ? w.in + w.out : w.in * w.out);
  });
}

// ---- Bytes in a number format

/// The sizes of a format: bytes per number, per group and per outer group, their lengths, and bytes once per tensor.
template <class N>
struct FormatSizes {
  N each, group_bytes, group, outer_bytes, outer, tensor;
};

/// Bytes of `out` rows of `in` numbers, in groups along a row or in blocks of `group_rows` rows; without the bytes that
/// occur once per tensor.
template <class N>
N matrix_bytes(const Format& f, const FormatSizes<N>& s, const N& in, const N& out) {
  const N rows = f.group_rows > 1 ? quotient_up(out, N(f.group_rows)) : out;
  const N groups = f.group > 0 ? rows * quotient_up(in, s.group) : rows;
  N b = f.element_bits > 0 ? s.each * out * in : N(0);
  if (f.group != 0) b = b + s.group_bytes * groups;
  if (f.outer > 0) b = b + s.outer_bytes * quotient_up(groups, s.outer);
  if (f.row_bits > 0) b = b + N(f.row_bits / 8) * out;
  if (f.column_bits > 0) b = b + N(f.column_bits / 8) * in;
  return f.element_bits % 8 == 0 && f.group_bits % 8 == 0 && f.outer_bits % 8 == 0 ? b : ceil(b);
}

/// Whether every number takes the same bytes, in matrices, tables and vectors alike.
inline bool is_uniform(const Format& f) {
  return f.group == 0 && f.element_bits % 8 == 0 && f.tensor_bytes == 0 && f.covers_embedding && f.covers_vectors;
}

/// Bytes of one weight; numbers that the format does not cover take p bytes each.
template <class N>
N weight_bytes(const Format& f, const FormatSizes<N>& s, const N& p, const Weight<N>& w) {
  const bool in_table =
      w.component == Component::embedding || w.component == Component::position || w.component == Component::lm_head;
  if (w.matrix) {
    if (in_table && !f.covers_embedding) return p * w.out * w.in;
    return matrix_bytes(f, s, w.in, w.out) + (f.tensor_bytes > 0 ? s.tensor : N(0));
  }
  if (!f.covers_vectors) return p * w.in * w.out;
  return f.element_bits % 8 == 0 ? s.each * w.in * w.out : ceil(s.each * w.in * w.out);
}
/// A number format and its sizes.
template <class N>
struct SizedFormat {
  const Format& format;
  FormatSizes<N> sizes;
};

/// Bytes of all weights, matrix by matrix; stored_in(component) is the SizedFormat of each.
template <class N, class StoredIn>
N weights_bytes(const Arch& a, const Sizes<N>& s, const StoredIn& stored_in, const N& p) {
  return sum_of_weights(a, s, [&](const Weight<N>& w) {
    if (w.tied) return N(0);
    const SizedFormat<N> t = stored_in(w.norm ? Component::norm : w.component);
    return N(w.times) * w.copies * weight_bytes(t.format, t.sizes, p, w);
  });
}

}  // namespace llmcalc::textbook
