#pragma once
/// Closed forms of FLOPs. Only matmuls are counted, at 2 FLOPs per multiply-add; element-wise work (softmax, norms,
/// activations, RoPE, dropout) is not, except for updates of recurrent states. t = B S is the number of tokens.

#include <cstdint>

#include "calc/arch.hpp"
#include "calc/plan.hpp"
#include "calc/textbook/sizes.hpp"

namespace llmcalc::textbook {

// ---- Query-key pairs

/// Pairs per head and sequence for the last `queries` of `context` tokens (past and new). A window of W (0: no window)
/// includes the token itself, so causal row i of a sequence scores min(i, W) keys; a chunk of W is a separate sequence,
/// so row i scores (i - 1) mod W + 1.
///   full: S c, S min(c, W). causal_exact: S (S + 1)/2 and min(S, W) (min(S, W) + 1)/2 + (S - min(S, W)) min(S, W) for
///   a whole sequence, min(c, W) for its last row. causal_half: the areas under these staircases. Bidirectional
///   attention has S c pairs, or S (2h + 1) - h (h + 1) in a window of h = min((W - 1)/2, S - 1) tokens on each side,
///   under every convention.
template <class N>
N query_key_pairs(AttentionFlops convention, const N& queries, const N& context, const Span<N>& span);

/// Query-key pairs with selected keys. Block 0: each query selects `keys` keys, which are counted like a window. Blocks
/// of b tokens: `keys` keys are selected in whole blocks before the query's own block, so row i scores (i - 1) mod b +
/// 1 keys in its own block and b min(floor((i - 1)/b), keys/b) earlier ones.
template <class N>
N chosen_pairs(AttentionFlops convention, const N& queries, const N& context, const N& keys, const N& block);

/// Query-key pairs with pooled keys, one key per r tokens: row i sees floor(i / r) keys, at most `most` (0: no
/// limit). The full convention counts the last row's keys for every row.
template <class N>
N pooled_pairs(AttentionFlops convention, const N& queries, const N& context, const N& r, const N& most);

Fraction attention_pairs(AttentionFlops convention, Count seq, Count past = 0, const Reach& reach = {});

/// FLOPs per query-key pair, in the layers that share a mixer, for the scores and for their matmul with the values: 2 A
/// (2 d_h); latent attention 2 A (d_n + d_r + d_v), absorbed 2 A (2 r_kv + d_r).
template <class N>
N core_width(const Sizes<N>& s, bool absorbed) {
  if (s.mixer.attention != AttentionKind::latent)
    return s.d_v == s.d_h ? N(4) * s.A * s.d_h : N(2) * s.A * (s.d_h + s.d_v);
  return N(2) * s.A * (absorbed ? N(2) * s.r_kv + s.d_r : s.d_n + s.d_r + s.d_v);
}
/// FLOPs per query-key pair for the scores only.
template <class N>
N scores_width(const Sizes<N>& s, bool absorbed) {
  if (s.mixer.attention != AttentionKind::latent) return N(2) * s.A * s.d_h;
  return N(2) * s.A * (absorbed ? s.r_kv + s.d_r : s.d_n + s.d_r);
}

/// Query-key pairs per head and sequence, summed over the layers that share a mixer. `local`: whether windows, chunks
/// and selections limit the pairs. In an encoder, queries attend to keys on both sides. A decoder with cross-attention
/// has pairs with its own keys and with the encoder's; in training, encoder and decoder have the same number of
/// tokens.
template <class N>
N layer_pairs(const Sizes<N>& s, AttentionFlops convention, const N& queries, const N& context, bool local = true) {
  if (s.mixer.bidirectional && s.L_w == N(0)) return s.L_f == N(0) ? N(0) : s.L_f * queries * context;
  Layered<N> sum;
  const Span<N> all{.both_ways = s.mixer.bidirectional};
  if (s.mixer.cross_attention) sum.add(s.L_f, queries * context);
  const bool chooses = local && s.mixer.indexer.kind != IndexerKind::none && s.c.ratio == N(0);
  sum.add(s.L_f, chooses ? chosen_pairs(convention, queries, context, s.i.keys, s.i.block)
                         : query_key_pairs(convention, queries, context, all));
  sum.add(s.L_w, query_key_pairs(convention, queries, context, local ? s.span : all));
  if (!(s.c.ratio == N(0)))
    sum.add(s.L_s, pooled_pairs(convention, queries, context, s.c.ratio, local ? s.i.keys : N(0)));
  return sum.total();
}

/// FLOPs of an indexer's scores, 2 A_i d_i per pair, over the layers that share a mixer. Pairs are counted for all keys
/// in reach, as in forward, or for the selected keys, as in backward. Excludes head weights and ReLU.
template <class N>
N index_flops(const Sizes<N>& s, AttentionFlops convention, const N& batch, const N& queries, const N& context,
              bool chosen) {
  if (s.i.L == N(0)) return 0;
  const N all = N(2) * s.i.A * s.i.d * batch * s.i.L;
  if (!(s.c.ratio == N(0)))
    return all * pooled_pairs(convention, queries, context, s.c.ratio, chosen ? s.i.keys : N(0));
  return all * (chosen ? chosen_pairs(convention, queries, context, s.i.keys, s.i.block)
                       : query_key_pairs(convention, queries, context, {}));
}
/// Number of weights in an indexer's matrices in one layer: queries, key and, for a lightning indexer, the head
/// weights.
template <class N>
N index_weights(const Sizes<N>& s) {
  if (!(s.c.ratio == N(0))) return (s.r_q * s.i.d + s.D) * s.i.A + N(2) * s.D * s.c.wide * s.i.d;
  if (s.mixer.indexer.kind == IndexerKind::lightning) return (s.r_q * s.i.d + s.D) * s.i.A + s.D * s.i.d;
  return s.D * (s.i.A + N(1)) * s.i.d;
}
/// Indexer FLOPs that backward saves compared with twice forward, over the layers that share a mixer: an indexer's
/// inputs get no gradient, and among its scores, only those of the selected keys do (arXiv:2512.02556, 2.1).
template <class N>
N index_backward_spared(const Sizes<N>& s, AttentionFlops convention, const N& batch, const N& seq) {
  if (s.i.L == N(0)) return 0;
  return N(2) * batch * seq * s.i.L * index_weights(s) + N(2) * (index_flops(s, convention, batch, seq, seq, false) -
                                                                 index_flops(s, convention, batch, seq, seq, true));
}

/// FLOPs of the projections outside the blocks: 4 t D D_e to and from a token embedding narrower than the model (2 t D
/// D_e if a dense layer projects back), 2 t D L D_p for all per-layer inputs, and 2 t (n_h - 1) D^2 for the streams of
/// alternating updates.
template <class N>
N outside_flops(const Sizes<N>& s, const N& tokens) {
  N table = s.D_e == s.D ? N(0) : N(s.narrows_head ? 4 : 2) * tokens * s.D * s.D_e;
  if (s.alternates) table = table + N(2) * tokens * (s.n_h - N(1)) * s.D * s.D;
  return s.D_p == N(0) ? table : table + N(2) * tokens * s.D * s.L * s.D_p;
}

/// Whether a recurrence is a scan over keys and values without a delta rule.
inline bool scans(const Recurrent& r) {
  return r.kind == RecurrentKind::mamba || r.kind == RecurrentKind::mamba2 || r.kind == RecurrentKind::mlstm ||
         r.kind == RecurrentKind::rwkv6;
}
/// A recurrence's FLOPs per token and state element.
inline Count state_flops(const Recurrent& r) {
  if (r.kind == RecurrentKind::rg_lru) return 2;
  if (scans(r)) return 6;
  return r.kind == RecurrentKind::rwkv7 ? 10 : 8;
}

/// FLOPs of states in recurrent form: 2 per token, state element and pass over the state. Linear attention has a d_h x
/// d_h state per head, which is updated and multiplied by q. A recurrence has a d_k x d_p state per head, with
/// further passes for its decay (Mamba, RWKV-6 and mLSTM, whose heads have one more value), for k' S (DeltaNet, KDA),
/// or for two keys instead of one (RWKV-7). RG-LRU has one value per channel, which is also its output.
template <class N>
N linear_attention_flops(const Sizes<N>& all, const N& batch, const N& queries) {
  return over_parts(all, [&](const Sizes<N>& s) {
    N each = 0;
    if (!(s.L_l == N(0))) each = N(4) * batch * queries * s.L_l * s.A * s.d_h * s.d_h;
    const Recurrent& r = s.mixer.recurrent;
    if (s.L_r == N(0) || !has_states(r)) return each;
    return each + N(state_flops(r)) * batch * queries * s.L_r * s.r.H * state_values(s) * s.r.d;
  });
}

/// Sum of c^2 over the chunks of a sequence; each chunk except the last has c = min(c_h, S) tokens.
template <class N>
N chunk_places(const Sizes<N>& s, const N& queries) {
  if (s.mixer.recurrent.chunk <= 1 || queries == N(1)) return 0;
  const N c = min(s.r.C, queries), whole = floor(queries / c) * c, rest = queries - whole;
  return whole * c + rest * rest;
}

/// FLOPs of states as kernels compute them, and the part that backward recomputes: everything except the read of the
/// state, because neither states nor scores are saved. Only matmuls count, not element-wise decays.
template <class N>
struct StatesDone {
  N forward = 0, recomputed = 0;
};
/// Linear attention 4 A d_h^2 per token (recomputed: 2 A d_h^2); the delta rule 6 H d_k d_p (4 H d_k d_p), and in
/// chunks 4 H d_k + 4 H d_p (4 H d_k + 2 H d_p) for each pair of a query and a key in the same chunk (arXiv:2412.06464;
/// the triangular system's inverse is not counted); RWKV-7 8 H d_k d_p (6 H d_k d_p), and in chunks 8 H d_k + 8 H d_p
/// (8 H d_k + 4 H d_p); Mamba 4 H d_k d_p (2 H d_k d_p), and in chunks 2 H_k d_k + 2 H d_p (2 H_k d_k;
/// arXiv:2405.21060, 6), and mLSTM the same with d_p + 1; RG-LRU 2 H d_p, all recomputed.
template <class N>
StatesDone<N> states_done(const Sizes<N>& s, const N& batch, const N& queries) {
  const N tokens = batch * queries;
  StatesDone<N> done;
  if (!(s.L_l == N(0))) {
    const N state = s.L_l * s.A * s.d_h * s.d_h;
    done = {N(4) * tokens * state, N(2) * tokens * state};
  }
  if (s.L_r == N(0) || !has_states(s.mixer.recurrent)) return done;
  if (s.mixer.recurrent.kind == RecurrentKind::rg_lru) {
    const N each = N(2) * tokens * s.L_r * s.r.H * s.r.P;
    return {done.forward + each, done.recomputed + each};
  }
  const bool scan = scans(s.mixer.recurrent), removes = s.mixer.recurrent.kind == RecurrentKind::rwkv7;
  const N width = state_values(s);
  const N state = s.L_r * s.r.H * width * s.r.d, places = s.L_r * batch * chunk_places(s, queries);
  const N scores = scan ? N(2) * s.r.G * s.r.d : N(removes ? 8 : 4) * s.r.H * s.r.d;
  const N values = N(removes ? 4 : 2) * s.r.H * width;
  done.forward = done.forward +
                 N(scan      ? 4
                   : removes ? 8
                             : 6) *
                     tokens * state +
                 places * (scores + N(scan ? 1 : 2) * values);
  done.recomputed = done.recomputed +
                    N(scan      ? 2
                      : removes ? 6
                                : 4) *
                        tokens * state +
                    places * (scan ? scores : scores + values);
  return done;
}
template <class N>
N states_done_forward(const Sizes<N>& all, const N& batch, const N& queries) {
  return over_parts(all, [&](const Sizes<N>& s) { return states_done(s, batch, queries).forward; });
}
/// Recurrence FLOPs that backward recomputes: the states, and 2 t_c per channel of each convolution with an
/// activation, whose derivative needs the sums. Short convolutions and RG-LRU's convolutions have no activation.
template <class N>
N recomputed_recurrences(const Sizes<N>& all, const N& batch, const N& queries) {
  return over_parts(all, [&](const Sizes<N>& s) {
    const N states = states_done(s, batch, queries).recomputed;
    const Recurrent& r = s.mixer.recurrent;
    if (s.L_r == N(0) || !has_activated_convolutions(r)) return states;
    return states + N(2) * batch * queries * s.L_r * s.r.K * convolved_channels(s);
  });
}

// ---- A model's forward pass

/// Positions to which the head is applied.
enum class Head : std::uint8_t { all, last, none };

/// B sequences of S new tokens that follow `past` cached ones.
struct PassShape {
  Count batch = 1, seq = 1, past = 0;
  AttentionFlops pairs = AttentionFlops::full;
  Head head = Head::all;
  bool absorbed = false;  ///< whether latent attention computes scores against the latent rows: 2A (2 r_kv + d_r)
                          ///< instead of 2A (d_n + d_r + d_v) per pair; the projections cost the same
  bool done = false;      ///< whether states are counted as in kernels, chunk by chunk; false: in recurrent form
};

/// linear: 2 t (N_mm - head), and the states of linear attention and recurrences. core: QK' and AV over the scored
/// pairs, and an indexer's scores (`index`). head: 2 V D per position. index_spared: indexer FLOPs that backward
/// saves compared with twice forward. outside: the part of `linear` outside the blocks, which full recomputation does
/// not repeat.
struct ForwardFlops {
  Flops linear, core, head, index_spared{}, outside{}, index{};
  Flops total() const { return linear + core + head; }
};
ForwardFlops forward_flops(const Arch& arch, const PassShape& pass);

/// FLOPs over all layers. scores_flops(): QK' only (for an indexer, only selected keys, which a fused backward
/// recomputes). mlp_flops(): all MLPs, including routers and shared experts.
Flops scores_flops(const Arch& arch, const PassShape& pass);
Flops mlp_flops(const Arch& arch, const PassShape& pass);
/// FLOPs of states and convolutions that backward recomputes.
Flops recomputed_recurrences(const Arch& arch, const PassShape& pass);

// ---- Training

/// FLOPs of forward and backward. Backward is exactly twice forward in every matmul (dgrad and wgrad), minus
/// ForwardFlops::index_spared. A flash backward recomputes the scores (QK'), so it has 5 matmuls instead of 4, which
/// adds half of the core's FLOPs if keys and values have the same width. Selective recomputation repeats the core
/// without an indexer's scores; full recomputation repeats the blocks, but never the head.
Flops train_flops(const ForwardFlops& forward, Recompute recomputed = Recompute::none, Flops recomputed_scores = {});

/// Backward FLOPs of y = x W, with x (tokens, in) and W (in, out): dgrad 2tIJ and wgrad 2tIJ; only wgrad if x needs no
/// gradient. Goon §3.1 arrives at 5tIJ by broadcasting the activation's derivative over I.
Flops linear_backward_flops(Count tokens, Count in, Count out, bool input_needs_grad = true);

// ---- Named formulas

/// 6 N D (Kaplan et al. 2020; Goon (3.4)). The caller decides which parameters N includes.
template <class N>
N six_nd(const N& params, const N& tokens) {
  return N(6) * params * tokens;
}

/// L A d_h: the query width of all heads, summed over the layers with softmax attention; for latent attention, d_n +
/// d_r replaces d_h.
template <class N>
N query_widths(const Sizes<N>& all) {
  return over_parts(all, [](const Sizes<N>& s) {
    const bool latent = s.mixer.attention == AttentionKind::latent, attends = !(s.L_s == N(0));
    return attends ? s.L_s * s.A * (latent ? s.d_n + s.d_r : s.d_h) : N(0);
  });
}

/// FLOPs per token: 6N + 12 L A d_h S for full attention (PaLM, arXiv:2204.02311, App. B), 6N + 6 L A d_h S for causal
/// attention.
template <class N>
N palm_per_token(const N& params, const N& query_widths, const N& seq, bool causal) {
  return N(6) * params + N(causal ? 6 : 12) * query_widths * seq;
}

/// Forward FLOPs per token: 2N + 2 L A d_h S, with N excluding the embedding (Kaplan et al. 2020, Table 1); this is the
/// causal_half count.
template <class N>
N kaplan_per_token(const N& non_embedding, const N& query_widths, const N& seq) {
  return N(2) * non_embedding + N(2) * query_widths * seq;
}

/// One step of a GPT: A d_h = D, F = 4D, full attention, head included:
///   none       72BLSD^2 (1 + S/6D   + V/12DL)
///   full       96BLSD^2 (1 + S/6D   + V/16LD)   Narayanan et al. 2021 (arXiv:2104.04473)
///   selective  72BLSD^2 (1 + S/3D   + V/12DL)   as printed by Korthikanti et al. (arXiv:2205.05198)
///              72BLSD^2 (1 + S/4.5D + V/12DL)   exact: QK' and AV are recomputed, 4BS^2D of 12
template <class N>
N megatron_step(const N& batch, const N& layers, const N& seq, const N& hidden, const N& vocabulary,
                Recompute recompute, bool as_printed = false) {
  const bool full = recompute == Recompute::full, selective = recompute == Recompute::selective;
  const N matrices = N(full ? 96 : 72), head = vocabulary / (N(full ? 16 : 12) * hidden * layers);
  const N exact = N(2) * seq / (N(9) * hidden), printed = seq / (N(3) * hidden), usual = seq / (N(6) * hidden);
  const N again = as_printed ? printed : exact, core = selective ? again : usual;
  return matrices * batch * layers * seq * hidden * hidden * (N(1) + core + head);
}

// The named formulas for integer arguments.

struct GptStep {
  Count batch = 0, seq = 0, layers = 0, hidden = 0, vocabulary = 0;
};
Flops six_nd(Count params, Count tokens);
Count query_widths(const Arch& arch);
Flops palm_flops_per_token(Count params, Count query_widths, Count seq, bool causal = false);
Flops kaplan_flops_per_token(Count non_embedding, Count query_widths, Count seq);
Flops megatron_flops(const GptStep& step, Recompute recompute, bool as_printed = false);

// ---- Query-key pairs, case by case

namespace detail {
/// Query-key pairs in a whole sequence of n tokens.
template <class N>
N triangle(AttentionFlops convention, const N& n) {
  if (convention == AttentionFlops::full) return n * n;
  return convention == AttentionFlops::causal_half ? n * n / N(2) : n * (n + N(1)) / N(2);
}
template <class N>
N sequence_pairs(AttentionFlops convention, const N& n, const N& window) {
  if (window == N(0)) return triangle(convention, n);
  const N most = min(n, window);
  if (convention == AttentionFlops::full) return n * most;
  return triangle(convention, most) + (n - most) * most;
}
/// Query-key pairs in a sequence of n tokens with chunked attention.
template <class N>
N chunks_pairs(AttentionFlops convention, const N& n, const N& chunk) {
  const N whole = floor(n / chunk);
  return whole * triangle(convention, chunk) + triangle(convention, n - whole * chunk);
}
template <class N>
N chunk_pairs(AttentionFlops convention, const N& queries, const N& context, const N& chunk) {
  if (queries == context) return chunks_pairs(convention, queries, chunk);
  if (queries == N(1)) {  // the last row
    const N seen = context - floor((context - N(1)) / chunk) * chunk;
    return convention == AttentionFlops::causal_half ? seen - N(1) / N(2) : seen;
  }
  const N past = context - queries, before = chunks_pairs(convention, past, chunk);
  const N all = chunks_pairs(convention, context, chunk) - before;
  if (convention != AttentionFlops::full) return all;
  // Past tokens in the first query's chunk do not see the new keys.
  const N begun = floor(past / chunk) * chunk, old = past - begun;
  return all - old * (min(chunk, context - begun) - old);
}
}  // namespace detail

template <class N>
N query_key_pairs(AttentionFlops convention, const N& queries, const N& context, const Span<N>& span) {
  using detail::sequence_pairs;
  if (span.chunked) return detail::chunk_pairs(convention, queries, context, span.tokens);
  const N& window = span.tokens;
  if (span.both_ways) {
    if (window == N(0)) return queries * context;
    const N side = min((window - N(1)) / N(2), queries - N(1));
    return queries * (N(2) * side + N(1)) - side * (side + N(1));
  }
  if (queries == context) return sequence_pairs(convention, queries, window);
  if (queries == N(1)) {  // the last row
    const N seen = convention == AttentionFlops::causal_half ? context - N(1) / N(2) : context;
    return window == N(0) ? seen : min(seen, window);
  }
  if (convention == AttentionFlops::full) return queries * (window == N(0) ? context : min(context, window));
  return sequence_pairs(convention, context, window) - sequence_pairs(convention, context - queries, window);
}

namespace detail {
/// Sum over the first n tokens of the number of whole blocks that precede the token's own block, at most `most` per
/// token.
template <class N>
N blocks_before(const N& n, const N& block, const N& most) {
  const N full = min(floor(n / block), most);
  return block * full * (full - N(1)) / N(2) + (n - full * block) * full;
}
}  // namespace detail

template <class N>
N pooled_pairs(AttentionFlops convention, const N& queries, const N& context, const N& r, const N& most) {
  const N all = floor(context / r), largest = most == N(0) ? all : most;
  if (convention == AttentionFlops::full || queries == N(1)) return queries * min(all, largest);
  const N upto = detail::blocks_before(context + N(1), r, largest);
  return queries == context ? upto : upto - detail::blocks_before(context - queries + N(1), r, largest);
}

template <class N>
N chosen_pairs(AttentionFlops convention, const N& queries, const N& context, const N& keys, const N& block) {
  if (block == N(0)) return query_key_pairs(convention, queries, context, {keys});
  const auto before = [&](const N& n) { return detail::blocks_before(n, block, keys / block); };
  const N own = query_key_pairs(convention, queries, context, {block, true});
  return own + block * (queries == context ? before(context) : before(context) - before(context - queries));
}

}  // namespace llmcalc::textbook
