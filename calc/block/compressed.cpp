#include "calc/block/compressed.hpp"

#include "calc/block/indexer.hpp"

namespace llmcalc {
namespace {

constexpr PoolNames attention_pool_names{"attn.pool_keys", "attn.pool_gate", "attn.pool", "attn.pool_norm",
                                         "attn.pool_rope"};

void rotate(SegmentBuilder& b, std::string_view name, Split split, TensorId x, Count rows, Count width, Count unit) {
  if (b.arch().position == Position::rope)
    b.in_place(name, Component::attention, {.kind = PointwiseKind::rope, .rows = rows, .width = width}, split, x,
               no_tensor, unit);
}

/// Queries of all heads after a norm without weights, and the low-rank tensor that they are projected from.
struct Queries {
  TensorId q, low;
};
Queries queries(SegmentBuilder& b, TensorId x) {
  const Mixer& m = b.mixer();
  const Count rank = m.latent.q_rank, t = b.tokens();
  const TensorId down = b.linear("attn.q_down", Component::attention, Split::tokens, x, b.arch().hidden, rank, false);
  const TensorId low = b.add("attn.q_norm", Component::attention, Norm{t, rank, rank}, Split::tokens, down);
  const TensorId up = b.linear("attn.q_up", Component::attention, Split::column, low, rank, mul(m.heads, m.head_dim),
                               false, m.head_dim);
  const Norm each{.rows = mul(t, m.heads), .width = m.head_dim};
  const TensorId q = b.add("attn.q_head_norm", Component::attention, each, Split::heads, up, m.heads);
  return {q, low};
}

TensorId keys(SegmentBuilder& b, TensorId x) {
  const Count width = b.mixer().head_dim;
  const TensorId kv = b.linear("attn.kv", Component::attention, Split::tokens, x, b.arch().hidden, width, false);
  return b.add("attn.kv_norm", Component::attention, Norm{b.tokens(), width, width}, Split::tokens, kv);
}

/// Output projection: one matrix per group of heads, then one matrix for all groups.
TensorId grouped_output(SegmentBuilder& b, TensorId o) {
  const Mixer& m = b.mixer();
  const Compressed& c = m.compressed;
  const Linear low{.rows = mul(b.tokens(), c.out_groups),
                   .in = mul(m.heads / c.out_groups, m.head_dim),
                   .out = c.out_rank,
                   .groups = c.out_groups};
  const TensorId y = b.add("attn.out_low", Component::attention, low, Split::heads, o);
  return b.linear("attn.out", Component::attention, Split::row, y, mul(c.out_groups, c.out_rank), b.arch().hidden,
                  false, c.out_rank);
}

}  // namespace

TensorId pooled_keys(SegmentBuilder& b, const PoolNames& n, TensorId x, Count width, bool detached) {
  const Mixer& m = b.mixer();
  const Step& s = b.step();
  const Count d = b.arch().hidden, wide = m.pool_width(width);
  const Split split = detached ? Split::inside : Split::tokens;
  const auto projected = [&](std::string_view name) {
    return detached ? b.detached(name, Component::attention, x, d, wide)
                    : b.linear(name, Component::attention, split, x, d, wide, false);
  };
  const TensorId kv = projected(n.keys), gate = projected(n.gate);
  const Pool pool{s.sequences, s.queries, width, wide, m.compressed.ratio};
  const TensorId p = b.add(n.pool, Component::attention, pool, split, {kv, gate});
  const TensorId k = b.add(n.norm, Component::attention, Norm{pool.pooled(), width, width}, split, p);
  rotate(b, n.rope, split, k, pool.pooled(), m.latent.rope_dim, 1);
  return k;
}

TensorId compressed_attention(SegmentBuilder& b, const LayerKind& kind, TensorId x) {
  const Mixer& m = b.mixer();
  const Step& s = b.step();
  const auto [q, low] = queries(b, x);
  const TensorId kv = keys(b, x);
  const Count rope = m.latent.rope_dim, t = b.tokens();
  rotate(b, "attn.rope", Split::width, q, t, mul(m.heads, rope), rope);
  rotate(b, "attn.kv_rope", Split::tokens, kv, t, rope, 1);
  const bool pools = m.compressed.ratio > 0;
  const TensorId pooled = pools ? pooled_keys(b, attention_pool_names, x, m.head_dim, false) : no_tensor;
  const TensorId chosen = chosen_keys(b, x, low);
  const Attention core{.sequences = s.sequences,
                       .heads = m.heads,
                       .kv_heads = 1,
                       .queries = s.queries,
                       .keys = add(s.past, s.queries),
                       .qk_dim = m.head_dim,
                       .v_dim = m.head_dim,
                       .reach = kind.reach,
                       .sinks = m.attention_sinks,
                       .selection = m.indexer.selection(),
                       .pooled = m.compressed.ratio,
                       .shared = true};
  Inputs in{q, kv, pooled};
  if (chosen != no_tensor) in.push(chosen);
  const TensorId o = b.add("attn.core", Component::attention, core, Split::heads, in);
  rotate(b, "attn.rope_back", Split::width, o, t, mul(m.heads, rope), rope);
  return grouped_output(b, o);
}

}  // namespace llmcalc
