// Compressed attention (DeepSeek-V4; hf deepseek_v4/modeling_deepseek_v4.py), and the operators that only it uses:
// pooled keys, rotations of one tensor, a matrix per group of heads.

#include <cmath>
#include <utility>

#include "model/layers/mixer.hpp"

namespace llmcalc::model {

// ---- operators

Value Pass::pool(std::string_view op, Value given_keys, Value given_gates, Count width, Count ratio) {
  const Value k = std::move(given_keys), g = std::move(given_gates);
  const llmcalc::Pool s{step_.sequences, step_.queries, width, k.width, ratio};
  Parameter* const bias = weight(op, "bias");
  const auto view = [this, op, bias](const Tensor& keys, const Tensor& gates) {
    return PoolView{.keys = keys->data(),
                    .gates = gates->data(),
                    .bias = value(bias),
                    .state = cached_state(op),
                    .past = step_.past};
  };
  Value y = make(op, s.pooled(), width);
  forward(op, s, [&] { backend_.pool(s, view(k.data, g.data), y.data->data()); });
  if (flows(op, {&k, &g}, y))
    remember(op, s,
             [this, op, s, view, bias, k_saved = keep(op, k), g_saved = keep(op, g), k_slot = k.slot, g_slot = g.slot,
              n = k.elements(), out = y.slot] {
               const Tensor dy = taken(out), k_data = k_saved.get(), g_data = g_saved.get();
               const Into dk = into(op, k_slot, n), dg = into(op, g_slot, n);
               backend_.pool_gradient(
                   s, view(k_data, g_data), dy->data(),
                   {.keys = dk.data, .add_keys = dk.add, .gates = dg.data, .add_gates = dg.add, .bias = sum(bias)});
             });
  return y;
}

void Pass::rope_one(std::string_view op, const RopePart& p, Count apart, bool back) {
  const Pointwise s{.kind = PointwiseKind::rope, .rows = p.x.rows, .width = p.heads * p.width};
  Positions at = positions();
  if (apart > 1) at = {ceil_div(at.queries, apart), at.past / apart, at.rotary, apart};
  forward(op, s, [&] { rotate(p, at, p.x.data->data(), back); });
  if (!taping() || !has_backward(op, {&p.x})) return;
  remember(op, s, [this, at, back, p, rows = p.x.rows, width = p.x.width, slot = p.x.slot] {
    Value dx{nullptr, rows, width, nullptr};
    rotate({dx, p.heads, p.head, p.width, p.offset}, at, slot->gradient->data(), !back);
  });
}

Value Pass::grouped(std::string_view op, Value given) {
  const Value x = std::move(given);
  Parameter* const w = weight(op, "weight");
  const Linear s{
      .rows = mul(x.rows, w->shape.groups), .in = w->shape.in, .out = w->shape.out, .groups = w->shape.groups};
  LinearView v{.x = x.data->data(),
               .weight = value(w),
               .x_stride = x.width,
               .head_rows = s.out,
               .x_head = s.in,
               .y_head = s.out};
  Value y = make(op, x.rows, mul(s.groups, s.out));
  forward(op, s, [&] { backend_.linear(s, v, y.data->data()); });
  if (flows(op, {&x}, y))
    remember(op, s,
             [this, op, s, v, w, asks = x.slot->asks, saved = keep_for(w, op, x), in = x.slot, n = x.elements(),
              out = y.slot]() mutable {
               const Tensor dy = taken(out), x_data = saved.get();
               const Into dx = asks ? into(op, in, n) : Into{nullptr, false};
               v.x = data(x_data);
               v.weight = value(w);
               const Into dw = matrix_sum(w);
               v.add_weight_gradient = dw.add;
               backend_.linear_gradient(s, v, dy->data(), dx.data, dx.add, dw.data, nullptr);
             });
  return y;
}

/// Writes pooled keys to the cache. An incomplete group at the end of a full cache is omitted.
void Pass::cache_pooled(const CachedRows& to, Count ratio, Count width, const HeadView& pooled) {
  if (!to) return;
  const Count groups = cache_->layer(layer_).groups;
  const Count first = step_.past / ratio, made = ceil_div(step_.queries, ratio);
  const Count written = std::min(made, groups - first);
  for (Count b = 0; b < step_.sequences && written > 0; ++b)
    backend_.cache(1, {written, first},
                   static_cast<const std::byte*>(pooled.data) + (b * pooled.sequence * backend_.number()).value, width,
                   width, static_cast<std::byte*>(numbers_of(to)) + (mul(b, groups, width) * backend_.number()).value,
                   width, groups);
  if (written > 0) encode_rows(to, first, written);
}

HeadView Pass::cached_pooled(const LayerCache& c, const CachedRows& rows, Count width) const {
  decode_rows(rows, c.groups);
  return {.data = numbers_of(rows), .sequence = mul(c.groups, width), .token = width};
}

// ---- the layer

namespace {

/// Queries of all heads, and the low-rank projection from which they are computed, if an indexer reads it.
struct CompressedQueries {
  Value q, low;
};

/// Queries through a low-rank projection with a norm, then a weightless norm per head.
CompressedQueries queries(Pass& p, const Value& x) {
  const Mixer& m = p.mixer();
  Value low = p.linear("attn.q_down", x);
  const Count rows = low.rows;
  low = p.norm("attn.q_norm", std::move(low), {.rows = rows, .width = m.latent.q_rank});
  Value q = p.linear("attn.q_up", m.indexer.runs() ? low : std::exchange(low, {}));
  q = p.norm("attn.q_head_norm", std::move(q), {.rows = mul(rows, m.heads), .width = m.head_dim});
  return {std::move(q), std::move(low)};
}

Value keys(Pass& p, Value x) {
  Value kv = p.linear("attn.kv", std::move(x));
  const Norm shape{.rows = kv.rows, .width = kv.width};
  return p.norm("attn.kv_norm", std::move(kv), shape);
}

/// The last elements of every head, which are rotated.
RopePart turned(const Pass& p, Value& x, Count heads) {
  const Mixer& m = p.mixer();
  return {x, heads, m.head_dim, m.latent.rope_dim, m.head_dim - m.latent.rope_dim};
}

constexpr PooledKeyNames pool_names{"attn.pool_keys", "attn.pool_gate", "attn.pool", "attn.pool_norm",
                                    "attn.pool_rope"};

}  // namespace

Value pooled_keys(Pass& p, const PooledKeyNames& names, Value x, Count width, bool detached) {
  const Count ratio = p.mixer().compressed.ratio, rope = p.mixer().latent.rope_dim;
  const auto projected = [&](const char* op, Value in) {
    return detached ? p.detached(op, std::move(in)) : p.linear(op, std::move(in));
  };
  Value k = projected(names.keys, x);
  Value gates = projected(names.gate, std::move(x));
  k = p.pool(names.pool, std::move(k), std::move(gates), width, ratio);
  const Norm shape{.rows = k.rows, .width = k.width};
  k = p.norm(names.norm, std::move(k), shape);
  if (p.arch().position == Position::rope) p.rope_one(names.rope, {k, 1, width, rope, width - rope}, ratio);
  return k;
}

Value compressed_attention(Pass& p, Value x) {
  const Mixer& m = p.mixer();
  const Step& s = p.step();
  const Count ratio = m.compressed.ratio, width = m.head_dim;
  const bool is_rotary = p.arch().position == Position::rope;
  auto [q, low] = queries(p, x);
  Value kv = keys(p, ratio > 0 ? x : std::exchange(x, {}));
  if (is_rotary) p.rope_one("attn.rope", turned(p, q, m.heads));
  if (is_rotary) p.rope_one("attn.kv_rope", turned(p, kv, 1));
  Value pooled;
  if (ratio > 0) pooled = pooled_keys(p, pool_names, m.indexer.runs() ? x : std::exchange(x, {}), width, false);
  Tensor chosen = chosen_keys(p, std::move(x), std::move(low));
  const Attention core{.sequences = s.sequences,
                       .heads = m.heads,
                       .kv_heads = 1,
                       .queries = s.queries,
                       .keys = add(s.past, s.queries),
                       .qk_dim = width,
                       .v_dim = width,
                       .reach = p.reach(),
                       .sinks = m.attention_sinks,
                       .selection = m.indexer.selection(),
                       .pooled = ratio,
                       .shared = true};
  const CoreLayout layout{.q = {0, 0, q.width, width},
                          .q_rope = {},
                          .k = {1, 0, width, 0},
                          .k_rope = {},
                          .v = {1, 0, width, 0},
                          .pooled = {ratio > 0 ? 2U : 1U, 0, width, 0},
                          .scale = 1 / std::sqrt(static_cast<double>(width)),
                          .cap = p.numerics().score_cap};
  std::vector<Value> in;
  in.push_back(std::move(q));
  in.push_back(std::move(kv));
  if (ratio > 0) in.push_back(std::move(pooled));
  Value o = p.attention("attn.core", core, layout, std::move(in), std::move(chosen));
  if (is_rotary) p.rope_one("attn.rope_back", turned(p, o, m.heads), 1, true);
  return p.linear("attn.out", p.grouped("attn.out_low", std::move(o)));
}

}  // namespace llmcalc::model
