#pragma once
/// The sizes of a model under the letters that the formulas use, as numbers of type N.

#include <array>

#include "calc/arch.hpp"
#include "calc/textbook/exact.hpp"

namespace llmcalc::textbook {

/// Number of layers of each kind.
struct LayerCounts {
  Count full = 0, local = 0, linear = 0;  ///< attention: add up to all layers
  Count dense = 0, experts = 0;           ///< MLP: add up to all layers
};
LayerCounts layer_counts(const Arch& arch);

/// The window or chunk that a token attends within; 0: all tokens up to itself.
template <class N>
struct Span {
  N tokens = 0;
  bool chunked = false;
};

/// The sizes of a model; 0 where it has no such part. T: the ranks that widths are cut over.
template <class N>
struct Sizes {
  N L, L_f, L_w, L_l, L_s, L_d, L_m;                    ///< layers: all; of a kind; with softmax attention
  N D, D_e, V, K, A, G, d_h, r_q, r_kv, d_n, d_r, d_v;  ///< widths, tables, heads, latent attention
  Span<N> span;                                         ///< of the L_w layers
  N F, n_E, k, F_e, n_s, F_s;                           ///< MLP and experts
  N T;
  /// A width on the fullest rank.
  N cut(const N& width) const { return quotient_up(width, T); }
};

namespace detail {
template <class N, class Letter>
void set_layers(Sizes<N>& s, const Arch& a, const Letter& letter) {
  const LayerCounts n = layer_counts(a);
  s.L = letter("L", a.layers);
  const auto some = [&](const char* name, Count count) {
    if (count == a.layers) return s.L;
    return count == 0 ? N(0) : letter(name, count);
  };
  s.L_f = some("L_f", n.full);
  s.L_w = some("L_w", n.local);
  s.L_l = some("L_l", n.linear);
  s.L_d = some("L_d", n.dense);
  s.L_m = some("L_m", n.experts);
  s.L_s = n.linear == a.layers ? N(0) : s.L - s.L_l;
}
}  // namespace detail

/// The sizes of a model, each by letter(name, value), which returns an N.
template <class N, class Letter>
Sizes<N> sizes(const Arch& a, Count ranks, const Letter& letter) {
  Sizes<N> s;
  detail::set_layers(s, a, letter);
  s.D = letter("D", a.hidden);
  s.V = letter("V", a.vocabulary);
  s.K = letter("K", a.position_rows);
  s.D_e = a.embedding_width == 0 || a.embedding_width == a.hidden ? s.D : letter("D_e", a.embedding_width);
  s.A = letter("A", a.heads);
  s.G = letter("G", a.kv_heads);
  s.d_h = letter("d_h", a.head_dim);
  s.r_q = letter("r_q", a.latent.q_rank);
  s.r_kv = letter("r_kv", a.latent.kv_rank);
  s.d_n = letter("d_n", a.latent.nope_dim);
  s.d_r = letter("d_r", a.latent.rope_dim);
  s.d_v = letter("d_v", a.latent.v_dim);
  s.span = {letter(a.local.reach.chunked ? "W_c" : "W", a.local.reach.tokens), a.local.reach.chunked};
  s.F = letter("F", a.mlp_width);
  s.F_e = letter("F_e", a.moe.width);
  s.F_s = letter("F_s", a.moe.shared_width);
  s.n_E = letter("n_E", a.moe.experts);
  s.k = letter("k", a.moe.top_k);
  s.n_s = a.moe.shared_experts == 1 ? N(1) : letter("n_s", a.moe.shared_experts);
  s.T = ranks == 1 ? N(1) : letter("T", ranks);
  return s;
}
inline Sizes<Fraction> exact_sizes(const Arch& a, Count ranks = 1) {
  return sizes<Fraction>(a, ranks, [](const char*, Count value) { return Fraction(value); });
}

/// A sum over kinds of layers; terms of equally many layers share that factor.
template <class N>
class Layered {
 public:
  void add(const N& layers, const N& term) {
    if (layers == N(0) || term == N(0)) return;
    std::size_t i = 0;
    while (i < size_ && !(layers_[i] == layers)) ++i;
    if (i == size_) layers_[size_++] = layers;
    terms_[i] = terms_[i] + term;
  }
  N total() const {
    N all = 0;
    for (std::size_t i = 0; i < size_; ++i) all = all + layers_[i] * terms_[i];
    return all;
  }

 private:
  std::array<N, 8> layers_{}, terms_{};
  std::size_t size_ = 0;
};

}  // namespace llmcalc::textbook
