// Encoder-decoders: tokens of both stacks, relative-position biases shared by a stack's layers, the encoder's result,
// and the decoder's attention to it (calc/block/cross.hpp).

#include "calc/block/cross.hpp"

#include "model/layers/mixer.hpp"

namespace llmcalc::model {

// ---- tokens: the encoder's ids come first

std::span<const std::int64_t> Pass::tokens(std::span<const std::int64_t> ids, std::span<const std::int64_t> targets) {
  const Step encoder = half_step(arch_, whole_, true), decoder = half_step(arch_, whole_, false);
  if (!arch_.is_encoder_decoder() || encoder.queries == 0) return ids;
  both_.assign(ids.begin(), ids.end());
  for (Count s = 0; s < decoder.sequences; ++s) {
    both_.push_back(0);
    const auto own = targets.empty() ? targets : targets.subspan(static_cast<std::size_t>(s * decoder.queries));
    both_.insert(both_.end(), own.begin(), own.begin() + (own.empty() ? 0 : decoder.queries - 1));
  }
  return both_;
}

Pass::Stack Pass::stack(const Parameter& table, bool encoder) const {
  const Step own = half_step(arch_, whole_, encoder);
  return {.rows = {own.tokens(), table.shape.out, table.shape.in},
          .first = encoder ? 0 : half_step(arch_, whole_, true).tokens(),
          .at = {.queries = own.queries, .past = own.past, .documents = documents()}};
}

Stacks Pass::lookup_stacks(std::string_view op, std::span<const std::int64_t> ids) {
  Parameter& table = weights_.at(layer_, std::string(op) + ".weight");
  const Lookup all{embedded_tokens(arch_, whole_), table.shape.out, table.shape.in};
  const Stack before = stack(table, true), behind = stack(table, false);
  Stacks x;
  if (before.rows.tokens > 0) x.encoder = make(op, before.rows.tokens, all.width);
  x.decoder = make(op, behind.rows.tokens, all.width);
  const Tensor saved = saved_ids(op, ids);
  const auto of = [ids, saved](const Stack& s) {
    const auto* copy = static_cast<const std::int64_t*>(data(saved));
    return Ids{ids.data() + s.first, copy != nullptr ? copy + s.first : nullptr};
  };
  forward(op, all, [&] {
    if (x.encoder.data) look_up(op, before.rows, of(before), before.at, table, x.encoder);
    look_up(op, behind.rows, of(behind), behind.at, table, x.decoder);
  });
  if (taping())
    remember(op, all, [this, op, of, before, behind, &table, first = x.encoder.slot, second = x.decoder.slot] {
      look_up_gradient(op, before.rows, of(before), before.at, table, first);
      look_up_gradient(op, behind.rows, of(behind), behind.at, table, second);
    });
  return x;
}

/// Applies dropout in place. The stacks share one mask buffer but have separate random streams.
void Pass::dropout_stacks(std::string_view op, Stacks& x) {
  if (!step_.dropout) return;
  const auto shape = [](const Value& v) {
    return Pointwise{.kind = PointwiseKind::dropout, .rows = v.rows, .width = v.width};
  };
  const Pointwise first = shape(x.encoder), second = shape(x.decoder);
  Pointwise all = first;
  all.rows = first.rows + second.rows;
  const Dropout one = dice(op), other = dice("embedding.decoder_dropout");
  const Tensor mask = taping() ? own(op, Bytes(mul(all.rows, all.width))) : nullptr;
  const auto part = [mask, n = x.encoder.elements()](bool decoder) -> void* {
    return mask ? static_cast<std::byte*>(mask->data()) + (decoder ? n : 0) : nullptr;
  };
  forward(op, all, [&] {
    backend_.dropout(first, one, x.encoder.data->data(), part(false));
    backend_.dropout(second, other, x.decoder.data->data(), part(true));
  });
  if (!taping()) return;
  x.encoder.slot->apart = x.decoder.slot->apart = true;
  remember(op, all, [this, first, second, one, other, part, a = x.encoder.slot, b = x.decoder.slot] {
    backend_.dropout_gradient(first, one, part(false), a->gradient->data());
    backend_.dropout_gradient(second, other, part(true), b->gradient->data());
  });
}

// ---- distances: a table row for every query and key, the same in all sequences

namespace {
std::vector<std::int64_t> distance_rows(const DistanceRanges& ranges, Count queries) {
  std::vector<std::int64_t> rows;
  for (Count i = 0; i < queries; ++i)
    for (Count j = 0; j < queries; ++j) rows.push_back(ranges.of(j - i));
  return rows;
}
}  // namespace

void Pass::make_distances(std::string_view op, bool encoder) {
  const Step s = half_step(arch_, whole_, encoder);
  if (whole_.past > 0 || s.queries == 0) return;  // in a decoding step, the attention core reads the table
  Parameter& table = weights_.at(layer_, std::string(op) + ".weight");
  std::vector<std::int64_t> rows = distance_rows({table.shape.out, numerics().farthest, encoder}, s.queries);
  const Lookup shape{static_cast<Count>(rows.size()), table.shape.out, table.shape.in};
  Value& y = distances_[encoder ? 0 : 1] = make(op, shape.tokens, shape.width);
  forward(op, shape, [&] { look_up(op, shape, {rows.data()}, {}, table, y); });
  if (!taping()) return;
  y.data->claim(op);
  remember(op, shape, [this, op, shape, rows = std::move(rows), &table, &y] {
    const Value held = std::exchange(y, {});
    look_up_gradient(op, shape, {rows.data()}, {}, table, held.slot);
  });
}

Value Pass::own_distances(std::string_view op) {
  if (!arch_.layer_distances || whole_.past > 0) return {};
  Parameter& table = matrix(op);
  std::vector<std::int64_t> rows =
      distance_rows({table.shape.out, numerics().farthest, mixer().bidirectional}, step_.queries);
  const Lookup shape{static_cast<Count>(rows.size()), table.shape.out, table.shape.in};
  Value y = make(op, shape.tokens, shape.width);
  forward(op, shape, [&] { look_up(op, shape, {rows.data()}, {}, table, y); });
  if (flows_from(table, y))
    remember(op, shape, [this, op, shape, rows = std::move(rows), &table, out = y.slot] {
      look_up_gradient(op, shape, {rows.data()}, {}, table, out);
    });
  return y;
}

RelativeInputs Pass::relative(const Attention& s) {
  if (!s.relative) return {};
  const bool encoder = mixer().bidirectional;
  if (const Value& all = distances(); all.data) return {.numbers = all.data->data()};
  const char* const of_stack = encoder ? "embedding.encoder_distances.weight" : "embedding.distances.weight";
  const Parameter* table =
      arch_.layer_distances ? weights_.find(layer_, "attn.distances.weight") : weights_.find(-1, of_stack);
  return {.numbers = value(table), .is_table = true, .ranges = {table->shape.out, numerics().farthest, encoder}};
}

// ---- the encoder's result

Value Pass::encoder_result(const std::function<Value()>& norm) {
  if (!taping()) return norm();
  const auto held = std::make_shared<Tensor>();
  tape_->remember([held] {});
  Value y = norm();
  *held = y.data;
  return y;
}

void Pass::leave_stack(const Value& encoded) {
  const Value& all = distances();
  if (!taping()) {
    if (layer_ + 1 == arch_.layers) distances_ = {};
    return;
  }
  for (const Value& shared : {bare(all), bare(encoded)})
    if (shared.slot) tape_->remember([this, shared] { into_rows("cross.core", shared.slot, shared.elements(), true); });
}

/// softmax(Q K' scale) V W_o with keys and values from the encoder's result; a decoding step reads them from the cache.
Value cross_attention(Pass& p, Value x) {
  const Mixer& m = p.mixer();
  const Step& s = p.step();
  const Value encoded = p.encoded();
  const Attention core{.sequences = s.sequences,
                       .heads = m.heads,
                       .kv_heads = m.kv_heads,
                       .queries = s.queries,
                       .keys = s.training ? s.queries : s.encoded,
                       .qk_dim = m.head_dim,
                       .v_dim = m.v_dim(),
                       .shared_kv = !s.training && s.past > 0,
                       .bidirectional = true,
                       .cross = true};
  const Count keys = mul(m.kv_heads, m.head_dim), values = mul(m.kv_heads, m.v_dim());
  const CoreLayout layout{.q = {0, 0, mul(m.heads, m.head_dim), m.head_dim},
                          .q_rope = {},
                          .k = {1, 0, keys, m.head_dim, core.keys},
                          .k_rope = {},
                          .v = {2, 0, values, m.v_dim(), core.keys},
                          .scale = score_scale(p, m.head_dim),
                          .cap = p.numerics().score_cap};
  Value q = p.linear("cross.q", std::move(x)), k, v;
  if (!core.shared_kv) {
    k = p.linear("cross.k", encoded);
    v = p.linear("cross.v", encoded);
  }
  Value o = p.attention("cross.core", core, layout, {std::move(q), std::move(k), std::move(v)});
  return p.linear("cross.out", std::move(o));
}

}  // namespace llmcalc::model
