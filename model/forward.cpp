// A decoder-only transformer, top to bottom. Operators run in program order; a moved value is freed there unless the
// gradient needs it.

#include "model/forward.hpp"

#include <cmath>
#include <utility>

namespace llmcalc::model {
namespace {

/// Norm over the residual width: LayerNorm g (x - mean) / sqrt(variance + eps) + b (Ba et al. 2016, arXiv:1607.06450)
/// or RMSNorm g x / sqrt(mean of x^2 + eps) (Zhang, Sennrich 2019, arXiv:1910.07467).
Value norm(Pass& p, std::string_view op, Value x) {
  const Count rows = x.rows;
  return p.norm(op, std::move(x),
                {.rows = rows, .width = p.arch().hidden, .centred = p.arch().norm != NormKind::rms_norm});
}

// ---- attention

/// Norm of queries or keys: each head's row, or a token's heads together.
Value qk_norm(Pass& p, std::string_view op, Value x, Count heads) {
  const Arch& a = p.arch();
  const bool together = a.qk_norm == QkNorm::full || a.qk_norm == QkNorm::full_bias;
  const bool centred =
      a.qk_norm == QkNorm::per_head_bias || a.qk_norm == QkNorm::full_bias || a.qk_norm == QkNorm::each_head;
  const Norm shape{.rows = together ? x.rows : x.rows * heads,
                   .width = together ? x.width : a.head_dim,
                   .centred = centred,
                   .per_head = together || a.qk_norm == QkNorm::each_head,
                   .spans = together};
  return p.norm(op, std::move(x), shape);
}

/// The scale of q k': the model's own, or 1 / sqrt(width).
double score_scale(const Pass& p, Count width) {
  const double own = p.numerics().score_scale;
  return own > 0 ? own : 1 / std::sqrt(static_cast<double>(width));
}

/// softmax(Q K' / sqrt(d_h)) V W_o, with as many key and value heads as there are: multi-head, grouped, multi-query.
/// Rotary positions turn pairs of each query's and key's numbers (RoFormer, arXiv:2104.09864); ALiBi takes
/// slope x distance from head's scores (Press et al. 2021, arXiv:2108.12409).
Value grouped_attention(Pass& p, const Reach& reach, Value x) {
  const Arch& a = p.arch();
  const Step& s = p.step();
  Value q = p.linear("attn.q", x);
  Value k = p.linear("attn.k", x);
  Value v = p.linear("attn.v", std::move(x));
  if (a.qk_norm != QkNorm::none) {
    q = qk_norm(p, "attn.q_norm", std::move(q), a.heads);
    k = qk_norm(p, "attn.k_norm", std::move(k), a.kv_heads);
  }
  if (a.position == Position::rope)
    p.rope("attn.rope", {q, a.heads, a.head_dim, a.head_dim}, {k, a.kv_heads, a.head_dim, a.head_dim});
  const Attention core{.sequences = s.sequences,
                       .heads = a.heads,
                       .kv_heads = a.kv_heads,
                       .queries = s.queries,
                       .keys = add(s.past, s.queries),
                       .qk_dim = a.head_dim,
                       .v_dim = a.head_dim,
                       .reach = reach,
                       .sinks = a.attention_sinks};
  const Count one = a.head_dim;
  const CoreLayout layout{.q = {0, 0, q.width, one},
                          .q_rope = {},
                          .k = {1, 0, k.width, one},
                          .k_rope = {},
                          .v = {2, 0, v.width, one},
                          .scale = score_scale(p, one),
                          .cap = p.numerics().score_cap,
                          .alibi = a.position == Position::alibi};
  Value o = p.attention("attn.core", core, layout, {std::move(q), std::move(k), std::move(v)});
  return p.linear("attn.out", std::move(o));
}

/// Queries of latent attention: W_uq norm(W_dq x), or W_q x.
Value latent_queries(Pass& p, const Value& x) {
  const Latent& l = p.arch().latent;
  if (l.q_rank == 0) return p.linear("attn.q", x);
  Value c = p.linear("attn.q_down", x);
  const Count rows = c.rows;
  c = p.norm("attn.q_norm", std::move(c), {.rows = rows, .width = l.q_rank});
  return p.linear("attn.q_up", std::move(c));
}

/// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434): keys and values come from one latent row per token,
/// c = norm(W_dkv x), and a rotary key that all heads share. Expanded: k, v = W_ukv c. Absorbed: q W_uk meets c itself,
/// and W_uv what comes out.
Value latent_attention(Pass& p, const Reach& reach, Value x) {
  const Arch& a = p.arch();
  const Latent& l = a.latent;
  const Step& s = p.step();
  const Count head = l.nope_dim + l.rope_dim, up = l.nope_dim + l.v_dim, latent = l.kv_rank + l.rope_dim;
  Attention core{.sequences = s.sequences,
                 .heads = a.heads,
                 .kv_heads = a.heads,
                 .queries = s.queries,
                 .keys = add(s.past, s.queries),
                 .qk_dim = head,
                 .v_dim = l.v_dim,
                 .reach = reach,
                 .latent_dim = latent,
                 .rope_dim = l.rope_dim,
                 .absorbed = s.absorbed,
                 .expanded_cache = s.expanded_cache};
  Value q = latent_queries(p, x);
  Value down = p.linear("attn.kv_down", std::move(x));
  Value c = p.norm("attn.kv_norm", down, {.rows = down.rows, .width = l.kv_rank}, latent);
  p.cache_latent(core, c);
  const double scale = score_scale(p, head);
  const RopePart rotary_q{q, a.heads, head, l.rope_dim, l.nope_dim};
  const RopePart rotary_k{down, 1, latent, l.rope_dim, l.kv_rank};
  Value o;
  if (s.absorbed) {
    if (a.position != Position::none) p.rope("attn.rope", rotary_q, rotary_k);
    Value q_latent = p.absorbed("attn.q_absorb", q, false);
    core.kv_heads = 1;
    core.qk_dim = latent;
    core.v_dim = l.kv_rank;
    const CoreLayout layout{.q = {0, 0, q_latent.width, l.kv_rank},
                            .q_rope = {1, l.nope_dim, q.width, head},
                            .k = {2, 0, l.kv_rank, 0},
                            .k_rope = {3, l.kv_rank, latent, 0},
                            .v = {2, 0, l.kv_rank, 0},
                            .rope_dim = l.rope_dim,
                            .scale = scale,
                            .cap = p.numerics().score_cap};
    o = p.attention("attn.core", core, layout, {std::move(q_latent), std::move(q), std::move(c), std::move(down)});
    o = p.absorbed("attn.v_absorb", o, true);
  } else {
    Value kv = p.linear("attn.kv_up", std::move(c));
    if (a.position != Position::none) p.rope("attn.rope", rotary_q, rotary_k);
    const CoreLayout layout{.q = {0, 0, q.width, head},
                            .q_rope = {0, l.nope_dim, q.width, head},
                            .k = {1, 0, kv.width, up},
                            .k_rope = {2, l.kv_rank, latent, 0},
                            .v = {1, l.nope_dim, kv.width, up},
                            .rope_dim = l.rope_dim,
                            .scale = scale,
                            .cap = p.numerics().score_cap};
    o = p.attention("attn.core", core, layout, {std::move(q), std::move(kv), std::move(down)});
  }
  return p.linear("attn.out", std::move(o));
}

Value attention(Pass& p, Value x) {
  const Arch& a = p.arch();
  const Reach reach = p.is_local() ? a.local.reach : Reach();
  return a.attention == AttentionKind::latent ? latent_attention(p, reach, std::move(x))
                                              : grouped_attention(p, reach, std::move(x));
}

// ---- MLP

/// Names of one MLP's operators: dense, routed experts, shared experts.
struct MlpNames {
  const char *gate, *up, *act, *mul, *down;
};
constexpr MlpNames dense{"mlp.gate", "mlp.up", "mlp.act", "mlp.mul", "mlp.down"};
constexpr MlpNames routed{"mlp.expert_gate", "mlp.expert_up", "mlp.expert_act", "mlp.expert_mul", "mlp.expert_down"};
constexpr MlpNames shared{"mlp.shared_gate", "mlp.shared_up", "mlp.shared_act", "mlp.shared_mul", "mlp.shared_down"};

/// W_down act(W_up x), or gated: W_down (act(W_gate x) * W_up x) (Shazeer 2020, arXiv:2002.05202). gates: the router's,
/// where every expert has matrices of its own.
Value feed_forward(Pass& p, const MlpNames& names, Value x, const Value* gates) {
  const auto project = [&](const char* op, Value in) {
    return gates != nullptr ? p.routed(op, std::move(in), *gates) : p.linear(op, std::move(in));
  };
  if (p.arch().mlp == MlpKind::plain) {
    Value h = project(names.up, std::move(x));
    return project(names.down, p.activate(names.act, std::move(h)));
  }
  Value gate = project(names.gate, x);
  Value up = project(names.up, std::move(x));
  if (p.step().fused_glu) return project(names.down, p.gate(names.act, std::move(gate), std::move(up)));
  Value act = p.activate(names.act, std::move(gate));
  return project(names.down, p.multiply(names.mul, std::move(act), std::move(up)));
}

/// Experts that every token visits, behind a gate of their own where the model has one.
Value shared_experts(Pass& p, Value x) {
  if (!p.arch().moe.shared_gate) return feed_forward(p, shared, std::move(x), nullptr);
  Value y = feed_forward(p, shared, x, nullptr);
  Value g = p.linear("mlp.shared_weight", std::move(x));
  return p.scale("mlp.shared_scale", std::move(y), std::move(g));
}

/// Mixture of experts (Shazeer et al. 2017, arXiv:1701.06538): sum over the chosen experts of gate x expert(x).
Value experts(Pass& p, Value x) {
  Value gates = p.route("mlp.route", p.linear("mlp.router", x));
  const bool always = p.arch().moe.shared_experts > 0;
  Value sent = p.dispatch("mlp.dispatch", always ? x : std::exchange(x, {}), gates);
  Value y = feed_forward(p, routed, std::move(sent), &gates);
  y = p.combine("mlp.combine", std::move(y), std::move(gates));
  if (!always) return y;
  Value z = shared_experts(p, std::move(x));
  return p.add("mlp.shared_add", std::move(y), std::move(z));
}

Value mlp(Pass& p, Value x) {
  const Arch& a = p.arch();
  if (a.has_experts() && a.moe.layers.contains(p.layer())) return experts(p, std::move(x));
  return feed_forward(p, dense, std::move(x), nullptr);
}

// ---- blocks

/// One residual sub-layer: x + f(norm x), norm(x + f x), x + norm(f x) or x + norm(f(norm x)).
template <typename F>
Value sub_layer(Pass& p, const std::array<const char*, 4>& names, Value x, F f) {
  const NormPlacement place = p.arch().norm_placement;
  const bool before = place == NormPlacement::pre || place == NormPlacement::both;
  Value y = f(p, before ? norm(p, names[0], x) : x);
  if (place == NormPlacement::output || place == NormPlacement::both) y = norm(p, names[1], std::move(y));
  p.dropout(names[2], y);
  y = p.add(names[3], std::move(x), std::move(y));
  return place == NormPlacement::post ? norm(p, names[1], std::move(y)) : y;
}

/// x + attention(norm x) + mlp(norm x), with one norm or two (GPT-J, PaLM, Falcon).
Value parallel_block(Pass& p, Value x) {
  Value n = norm(p, "attn.norm", x);
  Value m = p.arch().norms_per_layer == 2 ? norm(p, "mlp.norm", x) : n;
  Value a = attention(p, std::move(n));
  Value b = mlp(p, std::move(m));
  p.dropout("attn.dropout", a);
  p.dropout("mlp.dropout", b);
  Value sum = p.add("block.sum", std::move(a), std::move(b));
  return p.add("block.add", std::move(x), std::move(sum));
}

Value block(Pass& p, Value x) {
  if (p.arch().block == BlockKind::parallel) return parallel_block(p, std::move(x));
  x = sub_layer(p, {"attn.norm", "attn.post_norm", "attn.dropout", "attn.add"}, std::move(x), attention);
  return sub_layer(p, {"mlp.norm", "mlp.post_norm", "mlp.dropout", "mlp.add"}, std::move(x), mlp);
}

// ---- ends

/// Rows of the token table, and positions where they are added: learned ones, or sines and cosines of position x
/// 10000^(-2i/width) (Vaswani et al. 2017, arXiv:1706.03762), which the lookup adds to its rows.
Value embedding(Pass& p, std::span<const std::int64_t> ids) {
  const Arch& a = p.arch();
  Value x = p.lookup("embedding.tokens", ids);
  if (a.embedding_width != a.hidden) x = p.linear("embedding.project", std::move(x));
  if (a.position == Position::learned) {
    Value positions = p.lookup("embedding.positions", {});
    x = p.add("embedding.add", std::move(x), std::move(positions));
  }
  if (a.embedding_norm) x = norm(p, "embedding.norm", std::move(x));
  p.dropout("embedding.dropout", x);
  return x;
}

/// Final norm and head; when generating, of the last token of each sequence.
Value head(Pass& p, Value x) {
  const Arch& a = p.arch();
  const Step& s = p.step();
  if (a.final_norm && !s.training) {
    const Norm last{.rows = s.sequences, .width = a.hidden, .centred = a.norm != NormKind::rms_norm};
    x = p.norm("head.norm", std::move(x), last, s.queries * a.hidden, (s.queries - 1) * a.hidden);
  } else if (a.final_norm) {
    x = norm(p, "head.norm", std::move(x));
  }
  if (a.embedding_width != a.hidden) x = p.linear("head.project", std::move(x));
  return p.logits("head.logits", std::move(x));
}

}  // namespace

Value forward(Pass& p, std::span<const std::int64_t> ids) {
  p.enter(-1);
  Value x = embedding(p, ids);
  const bool again = p.plan().recompute == Recompute::full;
  for (Count i = 0; i < p.arch().layers; ++i) {
    p.enter(i);
    x = again ? p.checkpoint(std::move(x), [&p](Value in) { return block(p, std::move(in)); }) : block(p, std::move(x));
  }
  p.enter(-1);
  return head(p, std::move(x));
}

}  // namespace llmcalc::model
