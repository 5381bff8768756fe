// A layer's indexer, which chooses the keys that attention reads.

#include <algorithm>

#include "model/layers/mixer.hpp"

namespace llmcalc::model {
namespace {

/// Queries, the key and, for a lightning indexer, head weights.
struct Indexed {
  Value q, k, weights;
};

constexpr PooledKeyNames index_pool_names{"attn.index_keys", "attn.index_gate", "attn.index_pool", "attn.index_k_norm",
                                          "attn.index_k_rope"};

/// One key per token, normalized by a LayerNorm, or pooled keys.
Value lightning_key(Pass& p, const Value& x) {
  const Count width = p.mixer().indexer.width;
  if (p.mixer().compressed.ratio > 0) return pooled_keys(p, index_pool_names, x, width, true);
  const Norm shape{.rows = x.rows, .width = width, .centered = true};
  return p.norm("attn.index_k_norm", p.detached("attn.index_k", x), shape);
}

/// DeepSeek-V3.2 (arXiv:2512.02556, 2.1): queries from the low-rank projection of attention's queries, a key, and a
/// weight per head.
Indexed lightning(Pass& p, Value x, Value low) {
  Value q = p.detached("attn.index_q", std::move(low));
  Value k = lightning_key(p, x);
  return {std::move(q), std::move(k), p.detached("attn.index_weights", std::move(x))};
}

/// MiniMax-M3: queries and key from the layer's input, each normalized by an RMSNorm.
Indexed blocks(Pass& p, Value x) {
  const Indexer& i = p.mixer().indexer;
  const Count rows = x.rows;
  Value q = p.detached("attn.index_q", x);
  Value k = p.detached("attn.index_k", std::move(x));
  q = p.norm("attn.index_q_norm", std::move(q), {.rows = mul(rows, i.heads), .width = i.width});
  k = p.norm("attn.index_k_norm", std::move(k), {.rows = rows, .width = i.width});
  return {std::move(q), std::move(k), {}};
}

/// Rotates queries and keys by their token's position. In compressed attention, the rotated elements are the last
/// ones, and pooled keys are already rotated.
void rotate(Pass& p, Indexed& in) {
  const Indexer& i = p.mixer().indexer;
  const Count rotated = Rotaries::index_rotated(p.mixer());
  if (p.arch().position != Position::rope) return;
  if (p.mixer().compressed.ratio > 0)
    return p.rope_one("attn.index_rope", {in.q, i.heads, i.width, rotated, i.width - rotated});
  p.rope_index("attn.index_rope", {in.q, i.heads, i.width, rotated}, {in.k, 1, i.width, rotated});
}

}  // namespace

Tensor chosen_keys(Pass& p, Value x, Value low) {
  const Indexer& i = p.mixer().indexer;
  if (!i.runs()) return i.shared ? p.last_choice() : nullptr;
  Indexed in = i.kind == IndexerKind::lightning ? lightning(p, std::move(x), std::move(low)) : blocks(p, std::move(x));
  rotate(p, in);
  const Step& s = p.step();
  const IndexScores scores{.sequences = s.sequences,
                           .heads = i.heads,
                           .queries = s.queries,
                           .keys = add(s.past, s.queries),
                           .width = i.width,
                           .selection = i.selection(),
                           .pooled = p.mixer().compressed.ratio};
  return p.choose("attn.index_scores", scores, std::move(in.q), std::move(in.k), std::move(in.weights));
}

void Pass::rope_index(std::string_view op, const RopePart& q, const RopePart& k) {
  rope_at(op, positions(rotaries_.of_index(kind())), q, k);
}

void Pass::cache_index_keys(const LayerCache& c, const HeadView& keys) {
  to_cache(c, c.index_keys, c.index_keys.width, 0, keys, c.index_keys.width);
  encode_rows(c.index_keys, step_.past, step_.queries);
}

HeadView Pass::cached_index_keys(const LayerCache& c) const {
  decode_rows(c.index_keys, step_.past + step_.queries);
  return cached(c, c.index_keys, c.index_keys.width, 0, 0);
}

Tensor Pass::choose(std::string_view op, const IndexScores& s, Value given_q, Value given_k, Value given_weights) {
  const std::vector<Value> in{std::move(given_q), std::move(given_k), std::move(given_weights)};
  const auto view = [s](const std::vector<const void*>& at) {
    return IndexView{.q = {at[0], mul(s.queries, s.heads, s.width), mul(s.heads, s.width), s.width},
                     .k = {at[1], mul(s.pooled > 0 ? ceil_div(s.queries, s.pooled) : s.queries, s.width), s.width, 0},
                     .weights = {at[2], mul(s.queries, s.heads), s.heads, 1}};
  };
  std::vector<const void*> read;
  for (const Value& x : in) read.push_back(data(x.data));
  IndexView from = view(read);
  if (cache_ != nullptr) {
    const LayerCache& c = cache_->layer(layer_);
    if (s.pooled > 0)
      cache_pooled(c.index_keys, s.pooled, s.width, from.k);
    else
      cache_index_keys(c, from.k);
    if (s.past() > 0 && c.index_keys)
      from.k = s.pooled > 0 ? cached_pooled(c, c.index_keys, s.width) : cached_index_keys(c);
  }
  const Tensor chosen = arena_.make(Purpose::activations, op, Bytes(mul(4, s.chosen())));
  auto* const indices = static_cast<ChosenIndex*>(chosen->data());
  forward(op, s, [&] { backend_.index_scores(s, from, plan().attention, indices); });
  if (arch_.shares_choices()) choice_ = chosen;
  if (!taping()) return chosen;

  if (!std::any_of(in.begin(), in.end(), [](const Value& x) { return x.slot && x.slot->asks; })) return chosen;
  chosen->claim(op);
  std::vector<Tensor> held;
  std::vector<std::shared_ptr<TapeSlot>> slots;
  for (const Value& x : in) {
    if (!x.data) continue;
    held.push_back(keep(op, x).data);
    slots.push_back(x.slot);
  }
  remember(op, s, [this, op, s, view, held, slots, chosen, indices] {
    std::vector<const void*> reread(3), to(3);
    for (std::size_t i = 0; i < held.size(); ++i) {
      into_rows(op, slots[i], held[i]->bytes().value / backend_.number().value, true);
      reread[i] = held[i]->data();
      to[i] = slots[i]->gradient->data();
    }
    const IndexView gradients = view(to);
    backend_.index_gradient(s, view(reread), indices, nullptr,
                            {.q = gradients.q, .k = gradients.k, .weights = gradients.weights});
  });
  return chosen;
}

}  // namespace llmcalc::model
