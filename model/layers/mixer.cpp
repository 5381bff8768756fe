// Attention of a layer, grouped or latent, and its sum with a recurrence.

#include "model/layers/mixer.hpp"

#include <cmath>
#include <utility>

namespace llmcalc::model {

double score_scale(const Pass& p, Count width) {
  const double own = p.numerics().score_scale;
  return own > 0 ? own : 1 / std::sqrt(static_cast<double>(width));
}

Value qk_norm(Pass& p, std::string_view op, Value x, Count heads) {
  const Mixer& m = p.mixer();
  if (m.qk_norm == QkNorm::none) return x;
  const bool together = m.qk_norm == QkNorm::full || m.qk_norm == QkNorm::full_bias;
  const bool centered =
      m.qk_norm == QkNorm::per_head_bias || m.qk_norm == QkNorm::full_bias || m.qk_norm == QkNorm::each_head;
  const Norm shape{.rows = together ? x.rows : x.rows * heads,
                   .width = together ? x.width : m.head_dim,
                   .centered = centered,
                   .per_head = together || m.qk_norm == QkNorm::each_head || m.qk_norm == QkNorm::each_head_rms,
                   .spans = together};
  return p.norm(op, std::move(x), shape);
}

namespace {

/// Gates the heads' output o by the sigmoid of a projection of x: one value per head, or one per element of o
/// (Qwen3-Next, Step 3.5; arXiv:2505.06708).
Value gated_heads(Pass& p, Value x, Value o) {
  if (p.mixer().attention_gate == AttentionGate::none) return o;
  Value g = p.linear("attn.gate", std::move(x));
  return p.sigmoid_gate("attn.gate_mul", std::move(g), std::move(o));
}

struct FusedQkv {
  Value q, k, v;
};

/// Queries, and the normed low-rank projection from which they are computed, if an indexer reads it.
struct LowRankQueries {
  Value q, low;
};

/// W_up norm(W_down x).
LowRankQueries low_rank_queries(Pass& p, const Value& x) {
  Value c = p.linear("attn.q_down", x);
  const Count rows = c.rows;
  c = p.norm("attn.q_norm", std::move(c), {.rows = rows, .width = p.mixer().latent.q_rank});
  if (!p.mixer().indexer.runs()) return {p.linear("attn.q_up", std::move(c)), {}};
  Value q = p.linear("attn.q_up", c);
  return {std::move(q), std::move(c)};
}

/// Queries, keys and values. Values may be the keys before their norm. A layer that shares an earlier layer's keys and
/// values projects only queries.
FusedQkv projections(Pass& p, const Value& x) {
  const Mixer& m = p.mixer();
  Value q = m.latent.q_rank > 0 ? low_rank_queries(p, x).q : p.linear("attn.q", x);
  if (m.shared_kv) return {std::move(q), {}, {}};
  Value k = p.linear("attn.k", x);
  Value v = m.key_is_value ? k : p.linear("attn.v", x);
  return {std::move(q), std::move(k), std::move(v)};
}

void norm_heads(Pass& p, FusedQkv& r) {
  const Mixer& m = p.mixer();
  if (!m.shared_kv && m.value_norm) {
    const Norm each_head{.rows = r.v.rows * m.kv_heads, .width = m.v_dim()};
    r.v = p.norm("attn.v_norm", std::move(r.v), each_head);
  }
  r.q = qk_norm(p, "attn.q_norm", std::move(r.q), m.heads);
  if (!m.shared_kv) r.k = qk_norm(p, "attn.k_norm", std::move(r.k), m.kv_heads);
}

/// Rotates pairs of each query's and key's elements (RoFormer, arXiv:2104.09864).
void rotate(Pass& p, FusedQkv& r) {
  const Mixer& m = p.mixer();
  if (p.arch().position != Position::rope) return;
  const RopePart queries{r.q, m.heads, m.head_dim, m.head_dim};
  const RopePart keys{r.k, m.kv_heads, m.head_dim, m.head_dim}, none{r.q, 0};
  p.rope("attn.rope", queries, m.shared_kv ? none : keys);
}

/// RMSNorm over all heads' output together (BitNet, arXiv:2504.12285).
Value normed_heads(Pass& p, Value o) {
  if (!p.arch().sub_norms) return o;
  const Norm whole{.rows = o.rows, .width = o.width};
  return p.norm("attn.sub_norm", std::move(o), whole);
}

/// softmax(Q K' / sqrt(d_h)) V W_o for any number of key and value heads: multi-head, grouped, multi-query. ALiBi
/// subtracts slope x distance from each head's scores (Press et al. 2021, arXiv:2108.12409).
Value grouped_attention(Pass& p, Value x) {
  const Mixer& m = p.mixer();
  const Step& s = p.step();
  FusedQkv r = projections(p, x);
  if (m.attention_gate == AttentionGate::none && !m.indexer.runs()) x = {};
  norm_heads(p, r);
  rotate(p, r);
  if (m.query_scale) r.q = p.scale_heads("attn.q_scale", std::move(r.q), m.heads);
  const Attention core{.sequences = s.sequences,
                       .heads = m.heads,
                       .kv_heads = m.kv_heads,
                       .queries = s.queries,
                       .keys = add(s.past, s.queries),
                       .qk_dim = m.head_dim,
                       .v_dim = m.v_dim(),
                       .reach = p.reach(),
                       .sinks = m.attention_sinks,
                       .shared_kv = m.shared_kv,
                       .shares_kv = p.kind().shares_kv && s.past == 0,
                       .bidirectional = m.bidirectional,
                       .relative = p.arch().position == Position::relative,
                       .selection = m.indexer.selection()};
  Tensor chosen = chosen_keys(p, m.attention_gate == AttentionGate::none ? std::exchange(x, {}) : x, {});
  const CoreLayout layout{.q = {0, 0, r.q.width, m.head_dim},
                          .q_rope = {},
                          .k = {1, 0, mul(m.kv_heads, m.head_dim), m.head_dim},
                          .k_rope = {},
                          .v = {2, 0, mul(m.kv_heads, m.v_dim()), m.v_dim()},
                          .scale = score_scale(p, m.head_dim),
                          .cap = p.numerics().score_cap,
                          .alibi = p.arch().position == Position::alibi};
  KeysAndValues kv = m.shared_kv ? p.given() : KeysAndValues{std::move(r.k), std::move(r.v)};
  if (core.shares_kv) p.share_onward(kv.k, kv.v);
  std::vector<Value> in{std::move(r.q), std::move(kv.k), std::move(kv.v)};
  if (Value added = p.own_distances("attn.distances"); added.data) in.push_back(std::move(added));
  Value o = p.attention("attn.core", core, layout, std::move(in), std::move(chosen));
  return p.linear("attn.out", normed_heads(p, gated_heads(p, std::move(x), std::move(o))));
}

/// Queries through a low-rank projection, or W_q x.
LowRankQueries latent_queries(Pass& p, const Value& x) {
  return p.mixer().latent.q_rank > 0 ? low_rank_queries(p, x) : LowRankQueries{p.linear("attn.q", x), {}};
}

/// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434): keys and values come from one latent row per token, c =
/// norm(W_dkv x), and a rotary key shared by all heads. Expanded: k, v = W_ukv c. Absorbed: q W_uk is multiplied by c
/// directly, and the core's output by W_uv.
Value latent_attention(Pass& p, Value x) {
  const Mixer& m = p.mixer();
  const Latent& l = m.latent;
  const Step& s = p.step();
  const Count head = l.nope_dim + l.rope_dim, up = l.nope_dim + l.v_dim, latent = l.kv_rank + l.rope_dim;
  Attention core{.sequences = s.sequences,
                 .heads = m.heads,
                 .kv_heads = m.heads,
                 .queries = s.queries,
                 .keys = add(s.past, s.queries),
                 .qk_dim = head,
                 .v_dim = l.v_dim,
                 .reach = p.reach(),
                 .latent_dim = latent,
                 .rope_dim = l.rope_dim,
                 .absorbed = s.absorbed,
                 .expanded_cache = s.expanded_cache,
                 .selection = m.indexer.selection()};
  auto [q, low] = latent_queries(p, x);
  Value down = p.linear("attn.kv_down", x);
  if (m.attention_gate == AttentionGate::none && !m.indexer.runs()) x = {};
  Value c = p.norm("attn.kv_norm", down, {.rows = down.rows, .width = l.kv_rank}, latent);
  p.cache_latent(core, c);
  Tensor chosen = chosen_keys(p, m.attention_gate == AttentionGate::none ? std::exchange(x, {}) : x, std::move(low));
  const double scale = score_scale(p, head);
  const bool is_rotary = p.arch().position != Position::none;
  const RopePart rotary_q{q, m.heads, head, l.rope_dim, l.nope_dim};
  const RopePart rotary_k{down, 1, latent, l.rope_dim, l.kv_rank};
  Value o;
  if (s.absorbed) {
    if (is_rotary) p.rope("attn.rope", rotary_q, rotary_k);
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
    o = p.attention("attn.core", core, layout, {std::move(q_latent), std::move(q), std::move(c), std::move(down)},
                    std::move(chosen));
    o = p.absorbed("attn.v_absorb", o, true);
  } else {
    Value kv = p.linear("attn.kv_up", std::move(c));
    if (is_rotary) p.rope("attn.rope", rotary_q, rotary_k);
    const CoreLayout layout{.q = {0, 0, q.width, head},
                            .q_rope = {0, l.nope_dim, q.width, head},
                            .k = {1, 0, kv.width, up},
                            .k_rope = {2, l.kv_rank, latent, 0},
                            .v = {1, l.nope_dim, kv.width, up},
                            .rope_dim = l.rope_dim,
                            .scale = scale,
                            .cap = p.numerics().score_cap};
    o = p.attention("attn.core", core, layout, {std::move(q), std::move(kv), std::move(down)}, std::move(chosen));
  }
  return p.linear("attn.out", gated_heads(p, std::move(x), std::move(o)));
}

Value attention(Pass& p, Value x) {
  if (p.mixer().attention == AttentionKind::compressed) return compressed_attention(p, std::move(x));
  return p.mixer().attention == AttentionKind::latent ? latent_attention(p, std::move(x))
                                                      : grouped_attention(p, std::move(x));
}

}  // namespace

Value mixed(Pass& p, Value x) {
  const Mixer& m = p.mixer();
  if (p.kind().linear) return linear_attention(p, std::move(x));
  if (m.recurrent.kind == RecurrentKind::none) return attention(p, std::move(x));
  if (m.attention == AttentionKind::none) return recurrence(p, std::move(x));
  Value y = recurrence(p, x);
  Value z = attention(p, std::move(x));
  return p.add("attn.sum", std::move(y), std::move(z));
}

}  // namespace llmcalc::model
