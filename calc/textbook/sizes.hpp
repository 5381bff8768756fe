#pragma once
/// A model's sizes as values of a type N, named by the symbols of the formulas.

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calc/arch.hpp"
#include "calc/textbook/exact.hpp"

namespace llmcalc::textbook {

/// Number of layers of each kind among the layers that share a mixer (Arch::mixer).
struct LayerCounts {
  Count all = 0;
  Count full = 0, local = 0, linear = 0, recurrent = 0;  ///< numbers of layers by token mixer
  Count dense = 0, experts = 0;                          ///< numbers of layers by MLP; `dense` counts only MLPs of the
                                                         ///< Arch's own width
  std::array<Count, most_mlps> other{};                  ///< numbers of layers with each of the widths in Arch::mlps
  Count read = 0;                                        ///< number of layers whose keys and values later layers read
  Count ends = 0;                                        ///< number of layers followed by the final norm, except the
                                                         ///< last layer
};
/// `own`: whether to count only layers with their own weights.
LayerCounts layer_counts(const Arch& arch, std::size_t mixer = 0, bool own = false);

/// One subscript for each entry of Arch::mlps: L_x is its number of layers, F_x its width.
inline constexpr std::string_view mlp_letters = "xyzabcghijnoqtu";
static_assert(mlp_letters.size() == most_mlps);

/// The window or chunk within which a token attends. tokens = 0: all tokens up to and including the token or, with
/// both_ways, all tokens.
template <class N>
struct Span {
  N tokens = 0;
  bool chunked = false, both_ways = false;
};

/// Sizes of a recurrence: heads of values and of keys, their widths, convolution taps, the rank of a low-rank
/// projection, learned logarithms of decay, tokens per kernel chunk, and the ranks of RWKV-7's learning rate, gate
/// and values and of RWKV-6's token shifts.
template <class N>
struct RecurrentSizes {
  N H = 0, G = 0, P = 0, d = 0, K = 0, R = 0, Z = 0, C = 0;
  N R_a = 0, R_g = 0, R_v = 0, R_m = 0;
};

/// Sizes of an indexer: layers that run it, its heads and their width, keys read per query, and tokens per block if it
/// selects blocks.
template <class N>
struct IndexerSizes {
  N L = 0, A = 0, d = 0, keys = 0, block = 0;
};

/// Sizes of compressed attention: tokens per pooled key, the width factor of its projections, and the number and rank
/// of its output head groups.
template <class N>
struct CompressedSizes {
  N ratio = 0, wide = 1, groups = 0, rank = 0;
};

/// Layers with a dense MLP of a given width.
template <class N>
struct MlpLayers {
  N L = 0, F = 0;
};

/// Sizes of a model, or of its layers that share a mixer. Absent parts have size 0. T: number of tensor-parallel ranks.
template <class N>
struct Sizes {
  Mixer mixer;
  N L, L_f, L_w, L_l, L_s, L_d, L_m;                    ///< numbers of layers: all; by kind; with softmax attention
  N L_p, L_r = 0;                                       ///< number of layers with this mixer, and with its recurrence
  N L_k = 0;                                            ///< number of layers whose keys and values later layers read
  N L_e = 0;                                            ///< number of layers followed by the final norm, except the
                                                        ///< last layer
  N D, D_e, V, K, A, G, d_h, r_q, r_kv, d_n, d_r, d_v;  ///< widths, tables, heads, latent attention
  Span<N> span;                                         ///< reach in the L_w layers
  N F, n_E, k, F_e, n_s, F_s, D_l;  ///< sizes of MLP and experts; input and output width of routed experts
  N n_I = 0;                        ///< number of experts that return their input
  N n_T = 0;                        ///< number of token types
  N K_a = 0;                        ///< number of rows of learned positions
  N D_p = 0, V_p = 0;               ///< width of per-layer inputs, and number of rows of their table
  RecurrentSizes<N> r{};
  IndexerSizes<N> i{};
  CompressedSizes<N> c{};
  N n_h = 1;                       ///< number of residual streams
  N r_l = 0;                       ///< rank of LAuReL's branch, which is parallel to attention
  std::vector<MlpLayers<N>> mlps;  ///< dense MLPs of other widths
  bool all_have_mlp = true;
  bool alternates = false;    ///< whether residual streams use alternating updates
  N D_w = 0;                  ///< width of the embedding's sum: D_e with narrow ends, else D
  bool narrows_head = false;  ///< whether a projection to the narrower table's width precedes the head
  bool shifts_mlp = false;    ///< whether dense MLPs read a token-shifted input
  N T;
  std::vector<Sizes> others;  ///< sizes of the layers with each of Arch::mixers
  std::vector<Sizes> own;     ///< sizes without the layers that repeat other layers' weights; empty if no layers do
  /// A rank's share of a width, rounded up.
  N cut(const N& width) const { return quotient_up(width, T); }
};

/// The sum of f over all mixers; f receives the sizes of the layers that share a mixer.
template <class N, class F>
N over_parts(const Sizes<N>& s, const F& f) {
  N all = f(s);
  for (const Sizes<N>& other : s.others) all = all + f(other);
  return all;
}

/// Whether a recurrence has states.
inline bool has_states(const Recurrent& r) {
  return r.kind != RecurrentKind::none && r.kind != RecurrentKind::short_convolution;
}
/// Whether a recurrence's inputs are token-shifted. has_convolutions(): whether its inputs are convolved.
inline bool shifts(const Recurrent& r) { return r.kind == RecurrentKind::rwkv6 || r.kind == RecurrentKind::rwkv7; }
inline bool has_convolutions(const Recurrent& r) {
  return r.kind == RecurrentKind::short_convolution || (has_states(r) && !shifts(r) && r.kind != RecurrentKind::mlstm);
}
/// Whether the convolutions have an activation.
inline bool has_activated_convolutions(const Recurrent& r) {
  return has_convolutions(r) && r.kind != RecurrentKind::short_convolution && r.kind != RecurrentKind::rg_lru;
}

/// Width of a head's values in a recurrence's state. mLSTM has one more value, the normalizer.
template <class N>
N state_values(const Sizes<N>& s) {
  return s.mixer.recurrent.kind == RecurrentKind::mlstm ? s.r.P + N(1) : s.r.P;
}

/// Number of channels in a recurrence's convolutions on one rank: values, plus queries and keys (DeltaNet) or B and C
/// (Mamba-2); KDA convolves all three separately.
template <class N>
N convolved_channels(const Sizes<N>& s) {
  const N values = s.cut(s.r.H) * s.r.P, keys = s.cut(s.r.G) * s.r.d;
  switch (s.mixer.recurrent.kind) {
    case RecurrentKind::gated_delta_net:
    case RecurrentKind::mamba2:
      return values + N(2) * keys;
    case RecurrentKind::kimi_delta:
      return N(3) * values;
    default:
      return values;
  }
}

/// Number of layers with this mixer that have a dense MLP.
template <class N>
N layers_with_dense_mlp(const Sizes<N>& s) {
  N all = s.L_d;
  for (const MlpLayers<N>& mlp : s.mlps) all = all + mlp.L;
  return all;
}
/// Number of layers with this mixer that have an MLP; L_p if all have one.
template <class N>
N layers_with_mlp(const Sizes<N>& s) {
  return s.all_have_mlp ? s.L_p : layers_with_dense_mlp(s) + s.L_m;
}

namespace detail {
template <class N, class Letter>
void set_layers(Sizes<N>& s, const Arch& a, const LayerCounts& n, Count all, const Letter& letter) {
  s.L_p = n.all == all ? s.L : letter("L_p", n.all);
  const auto some = [&](const char* name, Count count) {
    if (count == n.all) return s.L_p;
    return count == 0 ? N(0) : letter(name, count);
  };
  s.L_f = some("L_f", n.full);
  s.L_w = some("L_w", n.local);
  s.L_l = some("L_l", n.linear);
  s.L_r = some("L_r", n.recurrent);
  s.L_d = some("L_d", n.dense);
  s.L_m = some("L_m", n.experts);
  s.L_k = some("L_k", n.read);
  s.L_e = some("L_e", n.ends);
  const bool attends = n.full + n.local > 0;
  s.L_s = !attends ? N(0) : n.full + n.local == n.all ? s.L_p : s.L_p - s.L_l;
  if (a.block == BlockKind::shortcut) {  // two attentions and two dense MLPs in every layer
    for (N* layers : {&s.L_f, &s.L_w, &s.L_s}) *layers = N(2) * *layers;
    s.L_d = N(2) * s.L_p;
  }
  Count with_mlp = n.dense + n.experts;
  for (std::size_t i = 0; i < a.mlps.size(); ++i) with_mlp += a.mlps[i].width > 0 ? n.other[i] : 0;
  s.all_have_mlp = with_mlp == n.all;
  s.mlps.clear();
  for (std::size_t i = 0; i < a.mlps.size(); ++i) {
    if (n.other[i] == 0 || a.mlps[i].width == 0) continue;
    const std::string layers = std::string("L_") + mlp_letters[i], width = std::string("F_") + mlp_letters[i];
    s.mlps.push_back({some(layers.c_str(), n.other[i]), letter(width.c_str(), a.mlps[i].width)});
  }
}
/// The sizes that count only layers with their own weights. Symbols of layer counts end in _own.
template <class N, class Letter>
Sizes<N> own_sizes(Sizes<N> s, const Arch& a, const Letter& letter) {
  const Count all = a.layers - a.repeats.layers.size();
  const auto set = [&](Sizes<N>& part, std::size_t mixer) {
    set_layers(part, a, layer_counts(a, mixer, true), all, [&](const char* name, Count value) {
      const std::string number = mixer == 0 ? "" : std::to_string(mixer + 1);
      return letter((std::string(name) + (name[0] == 'L' ? "_own" : "") + number).c_str(), value);
    });
    if (!(part.i.L == N(0))) part.i.L = part.L_s;
  };
  s.L = letter("L_own", all);
  set(s, 0);
  for (std::size_t i = 0; i < s.others.size(); ++i) {
    s.others[i].L = s.L;
    set(s.others[i], i + 1);
  }
  return s;
}
/// Sets the sizes that depend on one mixer.
template <class N, class Letter>
void set_mixer(Sizes<N>& s, const Mixer& m, const Reach& reach, const Letter& letter) {
  s.mixer = m;
  s.A = letter("A", m.heads);
  s.G = letter("G", m.kv_heads);
  s.d_h = letter("d_h", m.head_dim);
  s.r_q = letter("r_q", m.latent.q_rank);
  s.r_kv = letter("r_kv", m.latent.kv_rank);
  s.d_n = letter("d_n", m.latent.nope_dim);
  s.d_r = letter("d_r", m.latent.rope_dim);
  const bool alike = m.attention != AttentionKind::latent && m.v_dim() == m.head_dim;
  s.d_v = alike ? s.d_h : letter("d_v", m.v_dim());
  s.span = {letter(reach.chunked ? "W_c" : "W", reach.tokens), reach.chunked, m.bidirectional};
  s.c = {};
  if (m.attention == AttentionKind::compressed) {
    if (m.compressed.ratio > 0) s.c.ratio = letter("r_c", m.compressed.ratio);
    s.c.wide = m.compressed.overlap ? 2 : 1;
    s.c.groups = letter("A_o", m.compressed.out_groups);
    s.c.rank = letter("r_o", m.compressed.out_rank);
  }
  s.i = {};
  if (const Indexer& i = m.indexer; i.kind != IndexerKind::none) {
    s.i.keys = letter("k_i", i.selection().keys);
    if (i.selection().block > 0) s.i.block = letter("b_i", i.block);
    if (i.runs()) {
      s.i.L = s.L_s;
      s.i.A = letter("A_i", i.heads);
      s.i.d = letter("d_i", i.width);
    }
  }
  const Recurrent& r = m.recurrent;
  if (r.kind == RecurrentKind::none) return;
  s.r = {letter("H", r.heads),  letter("H_k", r.key_heads), letter("d_p", r.head_dim), letter("d_k", r.key_dim),
         letter("t_c", r.taps), letter("r_h", r.rank),      letter("n_z", r.decays),   letter("c_h", r.chunk)};
  if (r.mix_rank > 0) s.r.R_m = letter("r_m", r.mix_rank);
  if (r.kind != RecurrentKind::rwkv7) return;
  s.r.R_a = letter("r_a", r.step_rank);
  s.r.R_g = letter("r_g", r.gate_rank);
  s.r.R_v = r.value_rank > 0 ? letter("r_v", r.value_rank) : N(0);
}
}  // namespace detail

/// A model's sizes. letter(name, value) returns each size as an N. Symbols of layers with the second mixer end in 2,
/// and so on.
template <class N, class Letter>
Sizes<N> sizes(const Arch& a, Count ranks, const Letter& letter) {
  Sizes<N> s;
  s.L = letter("L", a.layers);
  detail::set_layers(s, a, layer_counts(a), a.layers, letter);
  s.D = letter("D", a.hidden);
  s.V = letter("V", a.vocabulary);
  s.K = letter("K", a.position_rows);
  s.K_a = a.added_rows > 0 ? letter("K_a", a.added_rows) : s.K;
  s.D_e = a.embedding_width == 0 || a.embedding_width == a.hidden ? s.D : letter("D_e", a.embedding_width);
  s.D_w = a.narrow_ends ? s.D_e : s.D;
  s.narrows_head = a.narrows_head();
  detail::set_mixer(s, a, a.local.reach, letter);
  if (a.streams > 1) s.n_h = letter("n_h", a.streams);
  if (a.laurel_rank > 0) s.r_l = letter("r_l", a.laurel_rank);
  s.F = letter("F", a.mlp_width);
  s.shifts_mlp = a.mlp_shift;
  s.alternates = a.altup;
  s.F_e = letter("F_e", a.moe.width);
  s.F_s = letter("F_s", a.moe.shared_width);
  s.n_E = letter("n_E", a.moe.experts);
  if (a.moe.zero_experts > 0) s.n_I = letter("n_I", a.moe.zero_experts);
  s.k = letter("k", a.moe.visited());
  s.n_s = a.moe.shared_experts == 1 ? N(1) : letter("n_s", a.moe.shared_experts);
  s.D_l = a.moe.latent_width > 0 ? letter("D_l", a.moe.latent_width) : s.D;
  if (a.token_types > 0) s.n_T = letter("n_T", a.token_types);
  if (a.per_layer.width > 0) {
    s.D_p = letter("D_p", a.per_layer.width);
    s.V_p = letter("V_p", a.per_layer.rows);
  }
  s.T = ranks == 1 ? N(1) : letter("T", ranks);
  for (std::size_t i = 0; i < a.mixers.size(); ++i) {
    const auto own = [&](const char* name, Count value) {
      const std::string numbered = name + std::to_string(i + 2);
      return letter(numbered.c_str(), value);
    };
    Sizes<N> other = s;
    other.others.clear();
    detail::set_layers(other, a, layer_counts(a, i + 1), a.layers, own);
    detail::set_mixer(other, a.mixers[i], a.mixers[i].reach, own);
    s.others.push_back(other);
  }
  if (a.has_repeats()) s.own.push_back(detail::own_sizes(s, a, letter));
  return s;
}
inline Sizes<Fraction> exact_sizes(const Arch& a, Count ranks = 1) {
  return sizes<Fraction>(a, ranks, [](const char*, Count value) { return Fraction(value); });
}

/// A sum over kinds of layers. Terms with the same number of layers share it as a factor.
template <class N>
class Layered {
 public:
  void add(const N& layers, const N& term) {
    if (layers == N(0) || term == N(0)) return;
    for (auto& [same, sum] : terms_)
      if (same == layers) {
        sum = sum + term;
        return;
      }
    terms_.emplace_back(layers, term);
  }
  N total() const {
    N all = 0;
    for (const auto& [layers, sum] : terms_) all = all + layers * sum;
    return all;
  }

 private:
  std::vector<std::pair<N, N>> terms_;  ///< number of layers, and the sum of their terms
};

}  // namespace llmcalc::textbook
