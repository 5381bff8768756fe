// The attention core: softmax(q k') v, its cache, and its gradient.

#include <stdexcept>

#include "model/pass/pass.hpp"

namespace llmcalc::model {

/// Buffers that the core saves for backward, or keeps only while it runs.
struct Pass::CoreSaved {
  Tensor scores, probabilities, dropped, mask, log_sum_exp;
  AttentionSaved view() const {
    return {.scores = data(scores),
            .probabilities = data(probabilities),
            .dropped = data(dropped),
            .mask = data(mask),
            .log_sum_exp = data(log_sum_exp)};
  }
};

namespace {

/// Whether the last input is the bias from the layer's own table of relative positions; q, k and v come first.
bool reads_own_distances(const Attention& s, const std::vector<Value>& in) { return s.relative && in.size() > 3; }

std::vector<Tensor> tensors(const std::vector<Value>& in) {
  std::vector<Tensor> data;
  for (const Value& v : in) data.push_back(v.data);
  return data;
}

}  // namespace

HeadView Pass::view(const HeadPart& p, const std::vector<Tensor>& data) const {
  const Tensor& tensor = data[p.tensor];
  if (!tensor) return {};  // the tensor is in the cache
  const auto* at = static_cast<const std::byte*>(tensor->data()) + (p.offset * backend_.number()).value;
  const Count tokens = p.tokens > 0 ? p.tokens : step_.queries;
  return {.data = at, .sequence = mul(tokens, p.token), .token = p.token, .head = p.head};
}

HeadView Pass::pooled_view(const HeadPart& p, const std::vector<Tensor>& data) const {
  HeadView v = view(p, data);
  if (const Count ratio = mixer().compressed.ratio; ratio > 0)
    v.sequence = mul(ceil_div(step_.queries, ratio), p.token);
  return v;
}

AttentionInputs Pass::inputs(std::string_view op, const CoreLayout& l, const std::vector<Tensor>& data) const {
  const Parameter* sinks = weight(op, "sinks");
  return {.q = view(l.q, data),
          .q_rope = view(l.q_rope, data),
          .k = view(l.k, data),
          .k_rope = view(l.k_rope, data),
          .v = view(l.v, data),
          .pooled = pooled_view(l.pooled, data),
          .rope_dim = l.rope_dim,
          .scale = l.scale,
          .cap = l.cap,
          .sinks = value(sinks),
          .alibi = l.alibi,
          .documents = documents()};
}

Pass::CoreSaved Pass::core_saved(std::string_view op, const Attention& s, bool is_saved, bool passing) {
  const auto tensor = [&](Bytes bytes) {
    return passing ? arena_.make(Purpose::activations, op, bytes) : own(op, bytes);
  };
  CoreSaved k;
  const Count keys = s.keys + (s.pooled > 0 ? ceil_div(s.keys, s.pooled) : 0);
  const Count rows = mul(s.rows(), s.heads), pairs = mul(rows, keys);
  if (plan().attention == AttentionImpl::flash) {
    if (is_saved) k.log_sum_exp = tensor(rows * backend_.wide());
    return k;
  }
  const bool dropped = step_.dropout && is_saved;
  if (is_saved && plan().softmax_store == SoftmaxStore::seed && !dropped) k.scores = tensor(pairs * backend_.number());
  k.probabilities = tensor(pairs * backend_.number());
  if (dropped) {
    k.dropped = tensor(pairs * backend_.number());
    k.mask = tensor(Bytes(pairs));
  }
  return k;
}

/// Records the backward pass: the inputs' gradients, after recomputing the core under selective recomputation.
void Pass::remember_attention(std::string_view op, const Attention& s, const CoreLayout& l,
                              const std::vector<Value>& in, const Value& y, const ReadInputs& reading, const Dropout& d,
                              CoreSaved saved) {
  const AttentionImpl how = plan().attention;
  const bool remade = plan().recompute == Recompute::selective;
  std::vector<Tensor> held;
  std::vector<std::shared_ptr<TapeSlot>> slots;
  for (const Value& v : in) {
    held.push_back(keep(op, v).data);
    slots.push_back(v.slot);
  }
  Tensor o;
  if (how == AttentionImpl::flash) o = keep(op, y).data;
  if (remade) saved = {};
  const std::function<CoreSaved()> again = [this, op, s, reading, how, d, held, o] {
    const CoreSaved k = core_saved(op, s, true, true);
    const Tensor out =
        o ? o : arena_.make(Purpose::activations, op, mul(s.rows(), s.heads, s.v_dim) * backend_.number());
    run(op, s, Direction::recompute, [&] { backend_.attention(s, reading(held), how, d, k.view(), out->data()); });
    return k;
  };
  const bool own_numbers = reads_own_distances(s, in);
  const Value added = s.relative ? distances() : Value();
  const std::function<void(const CoreSaved&)> rule = [this, op, s, l, reading, how, d, held, slots, o, added,
                                                      own_numbers, out = y.slot](const CoreSaved& k) {
    const Tensor dy = taken(out);
    std::vector<Tensor> gradients;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const Count n = held[i]->bytes().value / backend_.number().value;
      into_rows(op, slots[i], n, true);
      gradients.push_back(slots[i]->gradient);
    }
    const Tensor scratch =
        how == AttentionImpl::naive ? arena_.make(Purpose::activations, op, k.probabilities->bytes()) : nullptr;
    AttentionInputs to = inputs(op, l, gradients);
    void* const numbers = own_numbers ? data(gradients.back()) : added.slot ? data(added.slot->gradient) : nullptr;
    const AttentionGradients g{.q = to.q,
                               .q_rope = to.q_rope,
                               .k = to.k,
                               .k_rope = to.k_rope,
                               .v = to.v,
                               .pooled = to.pooled,
                               .add_keys = s.shared_kv || s.shares_kv,
                               .sinks = sum(weight(op, "sinks")),
                               .relative = numbers};
    run(op, s, Direction::backward, [&] {
      backend_.attention_gradient(s, reading(held), how, d, k.view(), data(o), dy->data(), data(scratch), g);
    });
  };
  tape_->remember([this, layer = layer_, remade, again, rule, saved] {
    layer_ = layer;
    rule(remade ? again() : saved);
  });
}

Value Pass::attention(std::string_view op, const Attention& s, const CoreLayout& l, std::vector<Value> given,
                      Tensor chosen) {
  const std::vector<Value> in = std::move(given);
  const AttentionImpl how = plan().attention;
  const Dropout d = dice(op);
  const bool remade = plan().recompute == Recompute::selective;
  const Tensor read_chosen = std::move(chosen);
  const ReadInputs reading = [this, op, l, numbers = relative(s), own = reads_own_distances(s, in),
                              chosen = read_chosen,
                              indices = s.selection.indices(s.pooled > 0 ? ceil_div(s.keys, s.pooled) : s.keys)](
                                 const std::vector<Tensor>& data) {
    AttentionInputs read = inputs(op, l, data);
    read.relative = own ? RelativeInputs{.numbers = data.back()->data()} : numbers;
    read.chosen = chosen ? static_cast<const ChosenIndex*>(chosen->data()) : nullptr;
    read.indices = indices;
    return read;
  };
  AttentionInputs from = reading(tensors(in));
  if (cache_ != nullptr && s.past() > 0 && s.queries > 1 && s.reach.limited())
    throw std::logic_error(
        "a sliding-window cache accepts one token at a time after the prompt");  // else it would overwrite unread rows
  if (cache_ != nullptr && (s.caches() || s.shared_kv)) {
    write_cache(s, from);
    if (s.cross ? s.shared_kv : s.past() > 0) read_cache(s, from);
  }
  Value y = make(op, s.rows(), mul(s.heads, s.v_dim));
  const bool back = flows(op, in, y);
  if (back && read_chosen) read_chosen->claim(op);
  CoreSaved saved = core_saved(op, s, step_.training && y.slot->asks, !back || remade);
  forward(op, s, [&] { backend_.attention(s, from, how, d, saved.view(), y.data->data()); });
  if (back) remember_attention(op, s, l, in, y, reading, d, std::move(saved));
  return y;
}

// ---- the cache

/// The values of a cache's rows. Dequantized values are valid from decode_rows or to_cache until the operator ends.
void* Pass::numbers_of(const CachedRows& r) const {
  return r.format ? r.numbers->of(mul(step_.sequences, r.slots, r.heads, r.width) * backend_.number()) : r.data->data();
}

/// Quantizes the rows of n tokens that to_cache has written.
void Pass::encode_rows(const CachedRows& r, Count first, Count n) {
  if (!r.format) return;
  const auto* const numbers = static_cast<const std::byte*>(numbers_of(r));
  auto* const codes = static_cast<std::byte*>(r.data->data());
  for (Count s = 0; s < step_.sequences; ++s)
    for (Count t = std::max(Count{0}, n - r.slots); t < n; ++t) {
      const Count at = s * r.slots + (first + t) % r.slots;
      backend_.encode(r.coded(), r.heads, numbers + (mul(at, r.heads, r.width) * backend_.number()).value,
                      codes + (at * r.row(backend_.number())).value);
    }
}

/// Dequantizes the first `filled` slots of every sequence.
void Pass::decode_rows(const CachedRows& r, Count filled) const {
  if (!r.format) return;
  auto* const numbers = static_cast<std::byte*>(numbers_of(r));
  const auto* const codes = static_cast<const std::byte*>(r.data->data());
  for (Count s = 0; s < step_.sequences; ++s)
    backend_.decode(r.coded(), 0, mul(std::min(filled, r.slots), r.heads),
                    codes + (s * r.slots * r.row(backend_.number())).value,
                    numbers + (mul(s, r.slots, r.heads, r.width) * backend_.number()).value);
}

/// Appends a part of every head of the new tokens to the cache.
void Pass::to_cache(const LayerCache& c, const CachedRows& to, Count row, Count offset, const HeadView& from,
                    Count width) {
  auto* at = static_cast<std::byte*>(numbers_of(to)) + (offset * backend_.number()).value;
  backend_.cache(step_.sequences, c.positions.value_or(positions()), from.data, from.token, width, at, row, c.capacity);
}

void Pass::cache_latent(const Attention& s, const Value& rows) {
  if (cache_ == nullptr || !s.caches_latent()) return;
  const LayerCache& c = cache_->layer(layer_);
  to_cache(c, c.k, s.latent_dim, 0, {.data = rows.data->data(), .token = rows.width}, rows.width);
}

void Pass::write_cache(const Attention& s, const AttentionInputs& in) {
  if (!s.caches()) return;
  const LayerCache& c = s.cross ? cache_->cross(layer_) : cache_->layer(layer_);
  const Count plain = s.qk_dim - s.rope_dim;
  if (s.latent_dim == 0) {
    to_cache(c, c.k, mul(s.kv_heads, s.qk_dim), 0, in.k, mul(s.kv_heads, s.qk_dim));
    if (!s.shared) to_cache(c, c.v, mul(s.kv_heads, s.v_dim), 0, in.v, mul(s.kv_heads, s.v_dim));
    if (s.pooled > 0) cache_pooled(c.pooled, s.pooled, s.qk_dim, in.pooled);
  } else if (s.caches_latent()) {
    to_cache(c, c.k, s.latent_dim, s.latent_dim - s.rope_dim, in.k_rope, s.rope_dim);
  } else {
    const Count row = mul(s.kv_heads, plain + s.v_dim);
    to_cache(c, c.k, row, 0, in.k, row);
    for (Count h = 0; h < s.kv_heads; ++h)
      to_cache(c, c.v, mul(s.kv_heads, s.rope_dim), h * s.rope_dim, in.k_rope, s.rope_dim);
  }
  const Positions at = c.positions.value_or(positions());
  for (const CachedRows& rows : {c.k, c.v})
    if (rows) encode_rows(rows, at.past, at.queries);
}

HeadView Pass::cached(const LayerCache& c, const CachedRows& rows, Count row, Count head, Count offset) const {
  const auto* at = static_cast<const std::byte*>(numbers_of(rows)) + (offset * backend_.number()).value;
  return {.data = at, .sequence = mul(c.capacity, row), .token = row, .head = head, .capacity = c.capacity};
}

void Pass::read_cache(const Attention& s, AttentionInputs& in) {
  const LayerCache& c =
      s.cross ? cache_->cross(layer_) : cache_->layer(s.shared_kv ? kv_source(kinds_, layer_) : layer_);
  const Count plain = s.qk_dim - s.rope_dim, wide = plain + s.v_dim;
  for (const CachedRows& rows : {c.k, c.v})
    if (rows) decode_rows(rows, s.keys);
  if (s.latent_dim == 0) {
    in.k = cached(c, c.k, mul(s.kv_heads, s.qk_dim), s.qk_dim, 0);
    in.v = s.shared ? in.k : cached(c, c.v, mul(s.kv_heads, s.v_dim), s.v_dim, 0);
    if (c.pooled) in.pooled = cached_pooled(c, c.pooled, s.qk_dim);
  } else if (s.caches_latent()) {
    in.k = in.v = cached(c, c.k, s.latent_dim, 0, 0);
    in.k_rope = cached(c, c.k, s.latent_dim, 0, s.latent_dim - s.rope_dim);
  } else {
    in.k = cached(c, c.k, mul(s.kv_heads, wide), wide, 0);
    in.v = cached(c, c.k, mul(s.kv_heads, wide), wide, plain);
    in.k_rope = cached(c, c.v, mul(s.kv_heads, s.rope_dim), s.rope_dim, 0);
  }
}

}  // namespace llmcalc::model
