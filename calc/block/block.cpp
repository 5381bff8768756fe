#include "calc/block/block.hpp"

#include "calc/block/altup.hpp"
#include "calc/block/compressed.hpp"
#include "calc/block/cross.hpp"
#include "calc/block/indexer.hpp"
#include "calc/block/mixed_residual.hpp"
#include "calc/block/mlp.hpp"
#include "calc/block/per_layer.hpp"
#include "calc/block/recurrent.hpp"
#include "calc/block/segment_builder.hpp"

namespace llmcalc {
namespace {

constexpr Component attn = Component::attention;

/// Shape of a qk-norm over `heads` heads. It has one row per head, with shared or per-head weights, or one row for
/// all heads.
Norm qk_norm_shape(const Mixer& a, Count tokens, Count heads) {
  const bool spans = a.qk_norm == QkNorm::full || a.qk_norm == QkNorm::full_bias;
  const bool own = spans || a.qk_norm == QkNorm::each_head || a.qk_norm == QkNorm::each_head_rms;
  const bool bias = a.qk_norm == QkNorm::per_head_bias || a.qk_norm == QkNorm::full_bias;
  const bool centered = bias || a.qk_norm == QkNorm::each_head;
  const Count learned = mul(own ? heads : 1, a.head_dim, bias ? 2 : 1);
  return {.rows = spans ? tokens : mul(tokens, heads),
          .width = spans ? mul(heads, a.head_dim) : a.head_dim,
          .weights = a.qk_norm == QkNorm::weight_free ? 0 : learned,
          .centered = centered,
          .per_head = own,
          .spans = spans};
}

/// Queries, keys and values after qk-norm and RoPE.
struct Qkv {
  TensorId q, k, v;
};

/// Queries, and the low-rank tensor that they are projected from.
struct LatentQueries {
  TensorId q, low = no_tensor;
};

/// Projects keys and values, or only keys if the keys are also the values.
void project_kv(SegmentBuilder& b, TensorId x, Qkv& r) {
  const Mixer& a = b.mixer();
  const Count d = b.arch().hidden;
  r.k = b.linear("attn.k", attn, Split::column, x, d, mul(a.kv_heads, a.head_dim), a.qkv_bias, a.head_dim);
  r.v = a.key_is_value
            ? r.k
            : b.linear("attn.v", attn, Split::column, x, d, mul(a.kv_heads, a.v_dim()), a.qkv_bias, a.v_dim());
}

/// Applies norms to the queries and to `kv_heads` heads of keys; only to the queries if the layer reads another layer's
/// keys.
void norm_queries_and_keys(SegmentBuilder& b, Qkv& r, Count kv_heads) {
  const Mixer& a = b.mixer();
  if (a.qk_norm == QkNorm::none) return;
  r.q = b.add("attn.q_norm", attn, qk_norm_shape(a, b.tokens(), a.heads), Split::heads, r.q, a.heads);
  if (!a.shared_kv)
    r.k = b.add("attn.k_norm", attn, qk_norm_shape(a, b.tokens(), kv_heads), Split::heads, r.k, kv_heads);
}

void norm_heads(SegmentBuilder& b, Qkv& r) {
  const Mixer& a = b.mixer();
  const Norm value{.rows = mul(b.tokens(), a.kv_heads), .width = a.v_dim()};
  if (!a.shared_kv && a.value_norm) r.v = b.add("attn.v_norm", attn, value, Split::heads, r.v, a.kv_heads);
  norm_queries_and_keys(b, r, a.kv_heads);
}

/// Low-rank queries with an RMSNorm: W_up norm(W_down x).
LatentQueries low_rank_queries(SegmentBuilder& b, TensorId x, Count head) {
  const Mixer& a = b.mixer();
  const Count rank = a.latent.q_rank;
  const TensorId down = b.linear("attn.q_down", attn, Split::tokens, x, b.arch().hidden, rank, a.qkv_bias);
  const TensorId c = b.add("attn.q_norm", attn, Norm{b.tokens(), rank, rank}, Split::tokens, down);
  return {b.linear("attn.q_up", attn, Split::column, c, rank, mul(a.heads, head), false, head), c};
}

Qkv grouped_qkv(SegmentBuilder& b, TensorId x) {
  const Mixer& a = b.mixer();
  const Count q = mul(a.heads, a.head_dim), kv = a.shared_kv ? 0 : mul(a.kv_heads, a.head_dim);
  Qkv r{a.latent.q_rank > 0 ? low_rank_queries(b, x, a.head_dim).q
                            : b.linear("attn.q", attn, Split::column, x, b.arch().hidden, q, a.qkv_bias, a.head_dim),
        no_tensor, no_tensor};
  if (!a.shared_kv) project_kv(b, x, r);
  norm_heads(b, r);
  if (b.arch().position == Position::rope)
    b.in_place("attn.rope", attn, {.kind = PointwiseKind::rope, .rows = b.tokens(), .width = q + kv}, Split::width, r.q,
               r.k, a.head_dim);
  if (!a.shared_kv) return r;
  if (a.query_scale) {
    const Pointwise scale{
        .kind = PointwiseKind::activate, .rows = mul(b.tokens(), a.heads), .width = a.head_dim, .weights = a.head_dim};
    r.q = b.add("attn.q_scale", attn, scale, Split::heads, r.q, a.heads);
  }
  r.k = b.outside();
  r.v = b.outside();
  return r;
}

/// Multiplies the output of the heads by a sigmoid of the layer's input: one gate per head, or one per element.
TensorId gated_heads(SegmentBuilder& b, TensorId x, TensorId o) {
  const Mixer& m = b.mixer();
  if (m.attention_gate == AttentionGate::none) return o;
  const Count each = m.attention_gate == AttentionGate::per_head ? 1 : m.v_dim(), width = m.attention_width();
  const TensorId g = b.linear("attn.gate", attn, Split::column, x, b.arch().hidden, mul(m.heads, each), false, each);
  return b.add("attn.gate_mul", attn, Pointwise{.kind = PointwiseKind::gate, .rows = b.tokens(), .width = width},
               Split::width, {g, o}, m.v_dim());
}

/// The input of the output projection: the heads' output o, or its RMSNorm over all heads.
TensorId normed_heads(SegmentBuilder& b, TensorId o) {
  if (!b.arch().sub_norms) return o;
  const Count w = b.mixer().attention_width();
  return b.add("attn.sub_norm", attn, Norm{b.tokens(), w, w}, Split::width, o, b.mixer().v_dim());
}

/// MHA, GQA or MQA: 3 projections, scores, output projection.
TensorId grouped_attention(SegmentBuilder& b, const LayerKind& kind, TensorId x) {
  const Mixer& a = b.mixer();
  const Step& s = b.step();
  const Qkv r = grouped_qkv(b, x);
  const Attention core{.sequences = s.sequences,
                       .heads = a.heads,
                       .kv_heads = a.kv_heads,
                       .queries = s.queries,
                       .keys = add(s.past, s.queries),
                       .qk_dim = a.head_dim,
                       .v_dim = a.v_dim(),
                       .reach = kind.reach,
                       .sinks = a.attention_sinks,
                       .shared_kv = a.shared_kv,
                       .shares_kv = kind.shares_kv && s.past == 0,  // later steps read the cache instead
                       .bidirectional = a.bidirectional,
                       .relative = b.arch().position == Position::relative,
                       .selection = a.indexer.selection()};
  Inputs in{r.q, r.k, r.v};
  for (const TensorId t : {chosen_keys(b, x, no_tensor), layer_distances(b)})
    if (t != no_tensor) in.push(t);
  const TensorId o = normed_heads(b, gated_heads(b, x, b.add("attn.core", attn, core, Split::heads, in)));
  return b.linear("attn.out", attn, Split::row, o, a.attention_width(), b.arch().hidden, a.attention_out_bias,
                  a.v_dim());
}

/// Queries of latent attention, from a low-rank projection with a norm, or projected directly (q_rank 0).
LatentQueries latent_queries(SegmentBuilder& b, TensorId x) {
  const Mixer& a = b.mixer();
  const Count head = a.latent.nope_dim + a.latent.rope_dim;
  if (a.latent.q_rank > 0) return low_rank_queries(b, x, head);
  return {b.linear("attn.q", attn, Split::column, x, b.arch().hidden, mul(a.heads, head), false, head)};
}

/// Multi-head latent attention (arXiv:2405.04434). Expanded: the latent row is projected to keys and values of every
/// head. Absorbed: this projection is split per head and applied to the queries and to the core's output instead.
TensorId latent_attention(SegmentBuilder& b, const LayerKind& kind, TensorId x) {
  const Mixer& a = b.mixer();
  const Step& s = b.step();
  const Latent& l = a.latent;
  const Count head = l.nope_dim + l.rope_dim, latent = l.kv_rank + l.rope_dim, t = b.tokens();
  const LatentQueries queries = latent_queries(b, x);
  const TensorId q = queries.q;
  const TensorId down = b.linear("attn.kv_down", attn, Split::tokens, x, b.arch().hidden, latent, a.qkv_bias);
  const TensorId c = b.add("attn.kv_norm", attn, Norm{t, l.kv_rank, l.kv_rank}, Split::tokens, down);
  Attention core{.sequences = s.sequences,
                 .heads = a.heads,
                 .kv_heads = a.heads,
                 .queries = s.queries,
                 .keys = add(s.past, s.queries),
                 .qk_dim = head,
                 .v_dim = l.v_dim,
                 .reach = kind.reach,
                 .latent_dim = latent,
                 .rope_dim = l.rope_dim,
                 .absorbed = s.absorbed,
                 .expanded_cache = s.expanded_cache,
                 .selection = a.indexer.selection()};
  const TensorId chosen = chosen_keys(b, x, queries.low);
  const auto rope = [&] {
    if (b.arch().position == Position::none) return;
    b.in_place("attn.rope", attn, {.kind = PointwiseKind::rope, .rows = t, .width = mul(a.heads + 1, l.rope_dim)},
               Split::width, q, down, l.rope_dim);
  };
  TensorId o = no_tensor;
  if (s.absorbed) {
    core.kv_heads = 1;
    core.qk_dim = latent;
    core.v_dim = l.kv_rank;
    rope();
    const TensorId absorbed =
        b.add("attn.q_absorb", attn,
              Linear{.rows = mul(t, a.heads), .in = l.nope_dim, .out = l.kv_rank, .groups = a.heads}, Split::heads, q);
    o = b.add("attn.core", attn, core, Split::heads, {absorbed, q, c, down, chosen});
  } else {
    const TensorId kv = b.linear("attn.kv_up", attn, Split::column, c, l.kv_rank, mul(a.heads, l.nope_dim + l.v_dim),
                                 false, l.nope_dim + l.v_dim);
    rope();
    o = b.add("attn.core", attn, core, Split::heads, {q, kv, down, chosen});
  }
  if (s.absorbed)
    o = b.add("attn.v_absorb", attn,
              Linear{.rows = mul(t, a.heads), .in = l.kv_rank, .out = l.v_dim, .groups = a.heads}, Split::heads, o);
  return b.linear("attn.out", attn, Split::row, gated_heads(b, x, o), mul(a.heads, l.v_dim), b.arch().hidden,
                  a.attention_out_bias, l.v_dim);
}

/// Lightning attention of MiniMax: q, k and v for all heads, a norm on the output, a sigmoid gate computed from the
/// input, and the query and key norms of the model's attention, if any (Ling 2.5). Ling 2.5's rotation is omitted,
/// because it has no parameters or FLOPs.
TensorId linear_attention(SegmentBuilder& b, TensorId x) {
  const Arch& a = b.arch();
  const Count w = mul(a.heads, a.head_dim);
  Qkv r{b.linear("attn.q", attn, Split::column, x, a.hidden, w, false, a.head_dim),
        b.linear("attn.k", attn, Split::column, x, a.hidden, w, false, a.head_dim),
        b.linear("attn.v", attn, Split::column, x, a.hidden, w, false, a.head_dim)};
  norm_queries_and_keys(b, r, a.heads);
  const Step& s = b.step();
  const TensorId o =
      b.add("attn.core", attn, LinearAttention{s.sequences, a.heads, s.queries, a.head_dim, a.heads, a.head_dim},
            Split::heads, {r.q, r.k, r.v});
  const TensorId n = b.add("attn.o_norm", attn, Norm{b.tokens(), w, w}, Split::width, o, a.head_dim);
  const TensorId g = b.linear("attn.gate", attn, Split::column, x, a.hidden, w, false, a.head_dim);
  const TensorId y =
      b.add("attn.gate_mul", attn, Pointwise{.kind = PointwiseKind::gate, .rows = b.tokens(), .width = w}, Split::width,
            {g, n}, a.head_dim);
  return b.linear("attn.out", attn, Split::row, y, w, a.hidden, false, a.head_dim);
}

TensorId attention(SegmentBuilder& b, const LayerKind& kind, TensorId x) {
  if (b.mixer().attention == AttentionKind::compressed) return compressed_attention(b, kind, x);
  return b.mixer().attention == AttentionKind::latent ? latent_attention(b, kind, x) : grouped_attention(b, kind, x);
}

/// The token mixer of a layer: attention, a recurrence, or the sum of both on the same input.
TensorId mixed(SegmentBuilder& b, const LayerKind& kind, TensorId x) {
  const Mixer& m = b.mixer();
  if (kind.linear) return linear_attention(b, x);
  if (m.recurrent.kind == RecurrentKind::none) return attention(b, kind, x);
  const TensorId y = recurrence(b, kind, x);
  if (m.attention == AttentionKind::none) return y;
  const TensorId z = attention(b, kind, x);
  return b.pointwise("attn.sum", attn, PointwiseKind::add, Split::partial, y, z, b.arch().hidden);
}

/// Sum of a dense MLP and experts, each with a norm on its result. `x` is the normed input of the MLP; experts and
/// router apply their own norms to the residual stream (hf gemma4/modeling_gemma4.py). Experts come first: in
/// backward, the dense MLP then consumes the sum's gradient before the experts' gradient is added to the residual
/// gradient in the same buffer.
TensorId dense_and_experts(SegmentBuilder& b, const LayerKind& kind, TensorId x, TensorId residual) {
  const Count t = b.tokens();
  const TensorId own = b.norm("mlp.expert_norm", residual, t);
  const TensorId z = b.norm("mlp.combined_norm", experts(b, own, b.arch().moe.router_scales ? residual : own), t);
  const TensorId y = b.norm("mlp.dense_norm", dense_mlp(b, x, kind.mlp_width), t);
  return b.pointwise("mlp.sum", Component::mlp, PointwiseKind::add, Split::tokens, y, z, b.arch().hidden);
}

/// The MLP part of a layer: `x` is the normed input, `residual` the input before the norm.
TensorId mlp_part(SegmentBuilder& b, const LayerKind& kind, TensorId x, TensorId residual) {
  if (!kind.experts) return dense_mlp(b, x, kind.mlp_width);
  return b.arch().moe.with_dense_mlp ? dense_and_experts(b, kind, x, residual) : experts(b, x, x);
}

struct SubLayerNames {
  std::string_view mix, norm, post_norm, dropout, add, weights, gather, spread;
};
constexpr SubLayerNames attention_names{"attn.mix", "attn.norm",           "attn.post_norm", "attn.dropout",
                                        "attn.add", "attn.stream_weights", "attn.gather",    "attn.spread"};
constexpr SubLayerNames cross_names{"cross.mix", "cross.norm",           "cross.post_norm", "cross.dropout",
                                    "cross.add", "cross.stream_weights", "cross.gather",    "cross.spread"};
constexpr SubLayerNames mlp_names{"mlp.mix", "mlp.norm",           "mlp.post_norm", "mlp.dropout",
                                  "mlp.add", "mlp.stream_weights", "mlp.gather",    "mlp.spread"};

/// One sub-layer with hyper-connections (hf deepseek_v4/modeling_deepseek_v4.py). A matrix maps n residual streams x
/// (tokens, n hidden) to n weights that sum the streams into the input of f, n weights that distribute the result of f
/// to the streams, and n x n weights that mix the streams. Operators that read these weights apply three learned scales
/// and a bias per weight after the norm of the streams; the first of these operators counts the parameters. Not
/// counted: FLOPs of the norm, of sigmoids and of balancing the n x n weights.
template <typename F>
TensorId streamed_layer(SegmentBuilder& b, const SubLayerNames& names, Component c, TensorId x, F f) {
  const Arch& a = b.arch();
  const Count n = a.streams, t = b.tokens(), made = mul(n, n + 2);
  const TensorId weights = b.linear(names.weights, Component::norm, Split::tokens, x, mul(n, a.hidden), made, false);
  const Pointwise gather{
      .kind = PointwiseKind::gather, .rows = t, .width = a.hidden, .top_k = n, .weights = add(made, 3)};
  const TensorId in = b.add(names.gather, Component::norm, gather, Split::tokens, {x, weights});
  const TensorId y = f(b.norm(names.norm, in, t));
  b.dropout(names.dropout, c, y, t);
  const Pointwise spread{.kind = PointwiseKind::spread, .rows = t, .width = mul(n, a.hidden), .top_k = n};
  return b.add(names.spread, c, spread, Split::tokens, {x, y, weights});
}

/// x + [norm] f([norm] x): one residual sub-layer of a serial block.
template <typename F>
TensorId sub_layer(SegmentBuilder& b, const SubLayerNames& names, Component c, TensorId x, F f) {
  const Arch& a = b.arch();
  if (a.hyper_connected()) return streamed_layer(b, names, c, x, f);
  const NormPlacement p = a.norm_placement;
  const bool first = x == block_input;
  const bool before = (p == NormPlacement::pre || p == NormPlacement::both) && !(first && b.kind().bare);
  TensorId y = f(before ? b.norm(names.norm, mixed_residual(b, names.mix, x, first), b.tokens()) : x);
  if (p == NormPlacement::output || p == NormPlacement::both) y = b.norm(names.post_norm, y, b.tokens());
  b.dropout(names.dropout, c, y, b.tokens());
  if (first && b.kind().opens_block) return y;
  y = b.pointwise(names.add, c, PointwiseKind::add, Split::tokens, x, y, a.hidden);
  return p == NormPlacement::post ? b.norm(names.post_norm, y, b.tokens()) : y;
}

/// x + attention(norm x) + mlp(norm x), with one shared norm or two norms.
TensorId parallel_block(SegmentBuilder& b, const LayerKind& kind) {
  const Arch& a = b.arch();
  const TensorId n = b.norm("attn.norm", block_input, b.tokens());
  const TensorId m = a.norms_per_layer == 2 ? b.norm("mlp.norm", block_input, b.tokens()) : n;
  const TensorId x = mixed(b, kind, n);
  const TensorId y = mlp_part(b, kind, m, block_input);
  b.dropout("attn.dropout", attn, x, b.tokens());
  b.dropout("mlp.dropout", Component::mlp, y, b.tokens());
  const TensorId sum = b.pointwise("block.sum", Component::mlp, PointwiseKind::add, Split::partial, x, y, a.hidden);
  return b.pointwise("block.add", Component::mlp, PointwiseKind::add, Split::tokens, block_input, sum, a.hidden);
}

/// A block of two halves, each with attention and a dense MLP. Both halves use the same operator names. The experts
/// read the first MLP's input, and their result is added after the second MLP.
TensorId shortcut_block(SegmentBuilder& b, const LayerKind& kind) {
  const Arch& a = b.arch();
  TensorId x = block_input, routed = no_tensor;
  for (const bool first : {true, false}) {
    x = sub_layer(b, attention_names, attn, x, [&](TensorId in) { return mixed(b, kind, in); });
    x = sub_layer(b, mlp_names, Component::mlp, x, [&](TensorId in) {
      if (first) routed = experts(b, in, in);
      return dense_mlp(b, in, a.mlp_width);
    });
  }
  return b.pointwise("block.shortcut_add", Component::mlp, PointwiseKind::add, Split::tokens, x, routed, a.hidden);
}

/// A serial layer on the first of several residual streams, with a low-rank branch parallel to attention. Its per-layer
/// input is added to the other streams.
TensorId alternating_block(SegmentBuilder& b, const LayerKind& kind) {
  TensorId beside = no_tensor;
  const TensorId predicted = predicted_streams(b, block_input);
  TensorId x = sub_layer(b, attention_names, attn, predicted, [&](TensorId in) {
    if (b.arch().laurel_rank > 0) beside = laurel(b, in);
    return mixed(b, kind, in);
  });
  if (beside != no_tensor)
    x = b.pointwise("laurel.sum", Component::mlp, PointwiseKind::add, Split::tokens, x, beside, b.arch().hidden);
  x = sub_layer(b, mlp_names, Component::mlp, x, [&](TensorId in) { return mlp_part(b, kind, in, x); });
  const TensorId corrected = corrected_streams(b, predicted, x);
  shared_with_streams(b, corrected, per_layer_input(b, first_stream(b, corrected)));
  return corrected;
}

/// A serial layer. Cross-attention, if any, runs between the mixer and the MLP; the per-layer input and the output
/// scale follow the MLP.
TensorId serial_block(SegmentBuilder& b, const LayerKind& kind) {
  const Arch& a = b.arch();
  TensorId x = block_input;
  if (!b.mixer().is_empty())
    x = sub_layer(b, attention_names, attn, x, [&](TensorId in) { return mixed(b, kind, in); });
  if (b.mixer().cross_attention)
    x = sub_layer(b, cross_names, attn, x, [&](TensorId in) { return cross_attention(b, in); });
  if (kind.has_mlp())
    x = sub_layer(b, mlp_names, Component::mlp, x, [&](TensorId in) { return mlp_part(b, kind, in, x); });
  if (a.per_layer.width > 0) x = add_per_layer_input(b, x);
  if (a.output_scale)
    b.in_place("block.scale", Component::norm,
               {.kind = PointwiseKind::scale, .rows = b.tokens(), .width = a.hidden, .weights = 1}, Split::tokens, x);
  return x;
}

/// Appends a layer's operators and returns their result.
TensorId block(SegmentBuilder& b, const LayerKind& kind) {
  const Arch& a = b.arch();
  if (a.block == BlockKind::parallel) return parallel_block(b, kind);
  if (a.block == BlockKind::shortcut && !kind.half) return shortcut_block(b, kind);
  return a.altup ? alternating_block(b, kind) : serial_block(b, kind);
}

}  // namespace

OpList block_ops(const Arch& a, const LayerKind& kind, const Step& s) {
  SegmentBuilder b(a, s, kind);
  if (!s.training && b.tokens() == 0) return b.ops();  // an encoder is idle in a decode step
  const TensorId x = block(b, kind);
  if (kind.ends_run) b.borrowed_norm("run.norm", x, b.tokens());
  if (kind.closes_encoder) {
    if (a.final_norm) b.norm("encoder.norm", x, b.tokens());
    b.carry_result();
  }
  return b.ops();
}

}  // namespace llmcalc
