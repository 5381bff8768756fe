// All operators except attention and experts: the forward run of each, next to the rule for its gradient. In a rule, dy
// is the gradient of the loss with respect to the result; it is freed with the rule's saved tensors when the rule ends.

#include <algorithm>

#include "model/pass/pass.hpp"

namespace llmcalc::model {
namespace {

/// Whether an operator looks up rows of the token embedding of the model or of an MTP module.
bool reads_tokens(std::string_view op) { return op == "embedding.tokens" || op == "mtp.tokens"; }

}  // namespace

// ---- y = table[ids]; token gradients are summed into the table's rows

/// Device copy of token ids for backward: one for all lookups in training, and one for each module.
Tensor Pass::saved_ids(std::string_view op, std::span<const std::int64_t> ids) {
  if (ids.empty() || !step_.training || (taping() && !matrix(op).gradient)) return nullptr;
  Tensor once;
  Tensor& saved = in_module() ? once : ids_;
  if (saved) return saved;
  saved = own(op, Bytes(static_cast<Count>(ids.size_bytes())));
  backend_.upload(saved->data(), ids.data(), saved->bytes());
  return saved;
}

/// Decodes the rows of a quantized table that tokens, or their positions, select.
void Pass::decode_chosen(const Lookup& s, const Ids& ids, const Positions& at, const Parameter& table, const Value& y) {
  for (Count t = 0; t < s.tokens; ++t)
    backend_.decode(table.coded(), ids.host != nullptr ? ids.host[t] : at.past + t % at.queries, 1, table.value->data(),
                    static_cast<std::byte*>(y.data->data()) + (t * s.width * backend_.number()).value);
}

void Pass::look_up(std::string_view op, const Lookup& s, const Ids& ids, const Positions& at, Parameter& table,
                   const Value& y) {
  table.format ? decode_chosen(s, ids, at, table, y) : backend_.lookup(s, ids, at, table.value->data(), y.data->data());
  if (!reads_tokens(op)) return;
  const double scale = numerics().embedding_scale;
  if (scale != 1) backend_.multiply_all(y.elements(), scale, y.data->data());
  if (!in_module() && arch_.position == Position::sinusoidal) backend_.add_sinusoid(s, at, y.data->data());
}

void Pass::look_up_gradient(std::string_view op, const Lookup& s, const Ids& ids, const Positions& at, Parameter& table,
                            const std::shared_ptr<TapeSlot>& y) {
  const Tensor dy = taken(y);  // has no other owner at this point
  const double scale = reads_tokens(op) ? numerics().embedding_scale : 1;
  if (scale != 1) backend_.multiply_all(mul(s.tokens, s.width), scale, dy->data());
  backend_.lookup_gradient(s, ids, at, dy->data(), sum(&table));
}

Value Pass::lookup(std::string_view op, std::span<const std::int64_t> ids) {
  Parameter& table = matrix(op);
  const Lookup s{step_.tokens(), table.shape.out, table.shape.in, borrows(op)};
  Value y = make(op, s.tokens, s.width);
  const Tensor saved = saved_ids(op, ids);
  forward(op, s, [&] { look_up(op, s, {ids.data(), data(saved)}, positions(), table, y); });
  if (flows_from(table, y))
    remember(op, s, [this, op, s, ids, saved, at = positions(), &table, out = y.slot] {
      look_up_gradient(op, s, {ids.data(), data(saved)}, at, table, out);
    });
  return y;
}

// ---- y = x W' + b; dx = dy W, dW = dy' x, db = the sum of dy

Value Pass::linear(std::string_view op, Value x) { return adapted(op, std::move(x), {}); }
Value Pass::detached(std::string_view op, Value x) { return product(op, std::move(x), {.detached = true}); }
Value Pass::logits(std::string_view op, Value x) {
  if (!step_.training || plan().logits.chunks == 1) return product(op, std::move(x), {.for_loss = step_.training});
  unprojected_ = std::move(x);
  return {nullptr, unprojected_.rows, matrix(op).shape.out, unprojected_.slot};
}
Value Pass::first_tokens(std::string_view op, Value x) { return product(op, std::move(x), {.first = true}); }
Value Pass::routed(std::string_view op, Value x, const Value& gates) {
  return adapted(op, std::move(x), {.gates = &gates});
}

Value Pass::product(std::string_view op, Value given, const Product& how) {
  const Value x = std::move(given);
  const bool for_loss = how.for_loss, first = how.first;
  const Value* const gates = how.gates;
  const bool wide = for_loss && wide_logits();
  const bool tied = borrows(op);
  Parameter* w = &matrix(op);
  Parameter* b = weight(op, "bias");
  Linear s{.rows = x.rows,
           .in = w->shape.in,
           .out = w->shape.out,
           .groups = w->shape.groups,
           .bias = b != nullptr && !(tied && in_module()),
           .tied = tied};
  LinearView v{.weight = value(w), .bias = value(b), .wide_output = wide};
  if (gates != nullptr) {
    s.top_k = arch_.moe.visited();
    v.choice = gates->data->data();
  }
  const bool in_head = looked_at_ && op.starts_with("head.") && x.rows != step_.sequences;
  const bool last = in_head && !first;  // generation reads only one token of each sequence
  if (first || last) {
    s.rows = step_.sequences;
    v.x_stride = step_.queries * s.in;
  }
  const bool narrow = gates == nullptr && x.width != s.in;  // reads the first elements of each row
  if (narrow) v.x_stride = x.width;
  const Bytes each = wide ? backend_.wide() : backend_.number();
  Value y = make(for_loss ? Purpose::logits : Purpose::activations, op, s.rows, s.out, each);
  const Count before = (last ? *looked_at_ * s.in : how.from) * backend_.number().value;
  v.x = static_cast<const std::byte*>(data(x.data)) + before;
  const double most = op == "head.logits" ? numerics().logit_cap : 0;
  forward(op, s, [&] {
    backend_.linear(s, v, y.data->data());
    if (most > 0) backend_.cap(mul(s.rows, s.out), most, y.data->data(), wide);
  });
  if (how.detached ? flows(op, {}, y) : flows(op, {&x}, y))
    remember(op, s,
             [this, op, s, v, before, strided = narrow || first, asks = x.slot->asks && !how.detached,
              saved = keep_for(w, op, x), in = x.slot, n = x.elements(), out = y.slot, w, b,
              chosen = gates != nullptr ? gates->slot->saved : nullptr]() mutable {
               const Tensor dy = taken(out), x_data = saved.get();
               const Into dx = asks ? into_rows(op, in, n, strided) : Into{nullptr, false};
               v.x = x_data ? static_cast<const std::byte*>(x_data->data()) + before : nullptr;
               v.weight = value(w);
               v.choice = data(chosen);
               const Into dw = matrix_sum(w);
               v.add_weight_gradient = dw.add;
               void* const to = asks ? static_cast<std::byte*>(dx.data) + before : nullptr;
               backend_.linear_gradient(s, v, dy->data(), to, dx.add, dw.data, bias_sum(b));
             });
  return y;
}

// ---- y = norm(x) w + b

Value Pass::norm(std::string_view op, Value x, const Norm& s, Count stride, Count first) {
  return normed(op, std::move(x), s, {numerics().unit_offset ? 1.0 : 0.0}, stride, first);
}
Value Pass::output_norm(std::string_view op, Value x, const Norm& s, double epsilons) {
  return normed(op, std::move(x), s, {0, epsilons}, 0, 0);
}

Value Pass::normed(std::string_view op, Value given, Norm s, const NormNumbers& own_numbers, Count stride,
                   Count first) {
  const Value x = std::move(given);
  Parameter *w = weight(op, "weight"), *b = weight(op, "bias");
  s.weights = borrows(op) ? 0 : w->elements() + (b != nullptr ? b->elements() : 0);
  NormView v{.weight = value(w),
             .bias = value(b),
             .x_stride = stride > 0 ? stride : s.width,
             .epsilon = own_numbers.epsilons * numerics().norm_epsilon,
             .offset = own_numbers.offset};
  if (w != nullptr) v.heads = w->elements() / s.width;
  const Bytes before = first * backend_.number();
  const auto from = [before](void* t) { return static_cast<std::byte*>(t) + before.value; };
  v.x = from(x.data->data());
  Value y = stride > 0 ? make(op, s.rows, s.width) : make(op, x.rows, x.width);
  const bool back = flows(op, {&x}, y);
  Tensor statistics;
  if (back && plan().norm_stats) statistics = own(op, mul(s.rows, s.centered ? 2 : 1) * backend_.wide());
  forward(op, s, [&] { backend_.norm(s, v, y.data->data(), data(statistics)); });
  if (back)
    remember(op, s,
             [this, op, s, v, from, statistics, saved = keep(op, x), in = x.slot, n = x.elements(), out = y.slot, w,
              b]() mutable {
               const Tensor dy = taken(out), x_data = saved.get();
               const Into dx = into_rows(op, in, n, v.x_stride > s.width);
               v.x = from(x_data->data());
               v.weight = value(w);
               v.bias = value(b);
               backend_.norm_gradient(s, v, data(statistics), dy->data(), from(dx.data), dx.add, sum(w), sum(b));
             });
  return y;
}

// ---- rotations, in place, also in backward

void Pass::rotate(const RopePart& p, const Positions& at, void* x, bool inverse) {
  backend_.rope(p.x.rows, at, x, p.x.width, p.heads, p.head, p.width, p.offset, inverse);
}

void Pass::rope(std::string_view op, const RopePart& a, const RopePart& b) { rope_at(op, positions(), a, b); }

void Pass::rope_at(std::string_view op, const Positions& at, const RopePart& a, const RopePart& b) {
  const Pointwise s{.kind = PointwiseKind::rope, .rows = a.x.rows, .width = a.heads * a.width + b.heads * b.width};
  forward(op, s, [&] {
    rotate(a, at, a.x.data->data(), false);
    rotate(b, at, b.x.data->data(), false);
  });
  if (!taping() || !has_backward(op, {&a.x, &b.x})) return;
  const auto back = [this, at](RopePart p) {
    return [this, at, p, rows = p.x.rows, width = p.x.width, slot = p.x.slot] {
      Value dx{nullptr, rows, width, nullptr};
      rotate({dx, p.heads, p.head, p.width, p.offset}, at, slot->gradient->data(), true);
    };
  };
  remember(op, s, [first = back(a), second = back(b)] { first(), second(); });
}

// ---- y = a + b: dy is the gradient of both inputs. The first input takes over dy's buffer; the second shares it,
// unless it needs a separate one (TapeSlot::apart).

void Pass::share(std::string_view op, const Tensor& dy, const std::shared_ptr<TapeSlot>& to, Count n, bool alone) {
  if (!to->asks) return;
  if (to->gradient) return backend_.accumulate(n, dy->data(), to->gradient->data());
  if (!to->apart || alone) {
    to->gradient = dy;
    return;
  }
  backend_.copy(into(op, to, n).data, dy->data(), dy->bytes());
}

Value Pass::add(std::string_view op, Value a, Value b) {
  const Value left = std::move(a), right = std::move(b);
  const Pointwise s{.kind = PointwiseKind::add, .rows = left.rows, .width = left.width};
  Value y = make(op, left.rows, left.width);
  forward(op, s, [&] { backend_.add(s, left.data->data(), right.data->data(), y.data->data()); });
  if (flows(op, {&left, &right}, y))
    remember(op, s, [this, op, n = left.elements(), first = left.slot, second = right.slot, out = y.slot] {
      const Tensor dy = taken(out);
      const bool alone = dy.use_count() == 1;
      share(op, dy, second, n, false);
      share(op, dy, first, n, alone);
    });
  return y;
}

// ---- element-wise products and activations

Value Pass::multiply(std::string_view op, Value a, Value b) {
  const Value left = std::move(a), right = std::move(b);
  const Pointwise s{.kind = PointwiseKind::multiply, .rows = left.rows, .width = left.width};
  Value y = make(op, left.rows, left.width);
  forward(op, s, [&] { backend_.multiply(s, left.data->data(), right.data->data(), y.data->data()); });
  if (flows(op, {&left, &right}, y))
    remember(op, s,
             [this, op, s, l = keep(op, left), r = keep(op, right), first = left.slot, second = right.slot,
              out = y.slot, n = left.elements()] {
               const Tensor dy = taken(out), x = l.get(), z = r.get();
               const Into da = into(op, first, n), db = into(op, second, n);
               backend_.multiply_gradient(s, x->data(), z->data(), dy->data(), da.data, da.add, db.data, db.add);
             });
  return y;
}

Value Pass::scale(std::string_view op, Value a, Value g) {
  return scaled(op, {.kind = PointwiseKind::multiply, .rows = a.rows, .width = a.width}, std::move(a), std::move(g));
}

Value Pass::sigmoid_gate(std::string_view op, Value g, Value y) {
  return scaled(op, {.kind = PointwiseKind::gate, .rows = y.rows, .width = y.width}, std::move(y), std::move(g));
}

/// y sigmoid(g): each element of g gates one row of the kernel.
Value Pass::scaled(std::string_view op, const Pointwise& s, Value a, Value g) {
  const Value left = std::move(a), gate = std::move(g);
  const Pointwise rows{.kind = s.kind, .rows = gate.elements(), .width = left.elements() / gate.elements()};
  Value y = make(op, left.rows, left.width);
  forward(op, s, [&] { backend_.scale(rows, left.data->data(), gate.data->data(), y.data->data()); });
  if (flows(op, {&left, &gate}, y))
    remember(
        op, s,
        [this, op, rows, l = keep(op, left), r = keep(op, gate), first = left.slot, second = gate.slot, out = y.slot] {
          const Tensor dy = taken(out), x = l.get(), z = r.get();
          const Into da = into(op, first, mul(rows.rows, rows.width)), dg = into(op, second, rows.rows);
          backend_.scale_gradient(rows, x->data(), z->data(), dy->data(), da.data, da.add, dg.data, dg.add);
        });
  return y;
}

Value Pass::activate(std::string_view op, Value given) {
  const Value x = std::move(given);
  Parameter* const bends = weight(op, "bends");  // learned parameters of xIELU
  const Pointwise s{.kind = PointwiseKind::activate,
                    .rows = x.rows,
                    .width = x.width,
                    .weights = bends != nullptr ? bends->elements() : 0};
  const Activation act = arch_.activation;
  Value y = make(op, x.rows, x.width);
  forward(op, s, [&] {
    bends != nullptr ? backend_.xielu(s, value(bends), x.data->data(), nullptr, y.data->data())
                     : backend_.activate(s, act, x.data->data(), y.data->data());
  });
  if (flows(op, {&x}, y))
    remember(op, s, [this, op, s, act, bends, saved = keep(op, x), in = x.slot, out = y.slot, n = x.elements()] {
      const Tensor dy = taken(out), x_data = saved.get();
      const Into dx = into(op, in, n);
      bends != nullptr ? backend_.xielu_gradient(s, value(bends), x_data->data(), nullptr, dy->data(), dx.data, dx.add,
                                                 nullptr, false, sum(bends))
                       : backend_.activate_gradient(s, act, x_data->data(), dy->data(), dx.data, dx.add);
    });
  return y;
}

Value Pass::gate(std::string_view op, Value a, Value b) {
  return gated(op, arch_.activation, plan().glu_store == GluStore::recompute, std::move(a), std::move(b));
}

Value Pass::gate_output(std::string_view op, Value g, Value y) {
  return gated(op, arch_.activation, false, std::move(g), std::move(y));
}

Value Pass::silu_gate(std::string_view op, Value g, Value y) {
  return gated(op, Activation::silu, false, std::move(g), std::move(y));
}

/// act(a) b. remade: the product is not saved but recomputed for the matrix that reads it.
Value Pass::gated(std::string_view op, Activation act, bool remade, Value a, Value b) {
  const Value left = std::move(a), right = std::move(b);
  Parameter* const bends = weight(op, "bends");  // learned parameters of xIELU
  const Pointwise s{.kind = PointwiseKind::gate,
                    .rows = left.rows,
                    .width = left.width,
                    .weights = bends != nullptr ? bends->elements() : 0};
  const auto make_it = [this, s, act, op, bends](const Tensor& x, const Tensor& z) {
    Value y = make(op, s.rows, s.width);
    bends != nullptr ? backend_.xielu(s, value(bends), x->data(), z->data(), y.data->data())
                     : backend_.gate(s, act, x->data(), z->data(), y.data->data());
    return y;
  };
  Value y;
  forward(op, s, [&] { y = make_it(left.data, right.data); });
  if (!flows(op, {&left, &right}, y)) return y;
  if (remade) y.slot->recompute = [make_it, x = left.data, z = right.data] { return make_it(x, z).data; };
  remember(op, s,
           [this, op, s, act, bends, l = keep(op, left), r = keep(op, right), first = left.slot, second = right.slot,
            out = y.slot, n = left.elements()] {
             const Tensor dy = taken(out), x = l.get(), z = r.get();
             const Into da = into(op, first, n), db = into(op, second, n);
             bends != nullptr
                 ? backend_.xielu_gradient(s, value(bends), x->data(), z->data(), dy->data(), da.data, da.add, db.data,
                                           db.add, sum(bends))
                 : backend_.gate_gradient(s, act, x->data(), z->data(), dy->data(), da.data, da.add, db.data, db.add);
           });
  return y;
}

// ---- y = f x in place, with one learned f: dx = f dy, and df = the sum of dy x, where x = y / f. The next layer saves
// y as its input anyway, so y merely lives longer.

void Pass::multiply_by(std::string_view op, Value& x) {
  Parameter* const f = weight(op, "factor");
  const Pointwise s{.kind = PointwiseKind::scale, .rows = x.rows, .width = x.width, .weights = f->elements()};
  forward(op, s, [&] { backend_.multiply_by_learned(s, value(f), x.data->data()); });
  if (taping() && has_backward(op, {&x}))
    remember(op, s, [this, s, f, y = x.data, slot = x.slot] {
      backend_.multiply_by_learned_gradient(s, value(f), y->data(), slot->gradient->data(), sum(f));
    });
}

// ---- dropout, in place

void Pass::dropout(std::string_view op, Value& x) {
  if (!step_.dropout) return;
  const Pointwise s{.kind = PointwiseKind::dropout, .rows = x.rows, .width = x.width};
  const Dropout d = dice(op);
  const bool back = taping() && has_backward(op, {&x});
  const Tensor mask = back ? own(op, Bytes(x.elements())) : nullptr;
  forward(op, s, [&] { backend_.dropout(s, d, x.data->data(), data(mask)); });
  if (!back) return;
  x.slot->apart = true;
  remember(op, s, [this, s, d, mask, slot = x.slot] {
    backend_.dropout_gradient(s, d, mask->data(), slot->gradient->data());
  });
}

// ---- cross-entropy: the logits are overwritten by their gradient. Wide logits may become log-probabilities in
// between; rounding would make other formats too coarse, so their rows' log-sum-exps are saved separately.

void Pass::entropy(std::string_view op, const Value& x, std::span<const std::int64_t> targets, double share,
                   double* mean) {
  const Loss s{x.rows, x.width};
  const Tensor log_sums = wide_logits() ? nullptr : own(op, s.rows * backend_.wide());
  const double most = numerics().logit_cap;
  forward(op, s, [&] {
    most > 0 && !log_sums ? backend_.capped_loss(s, targets.data(), x.data->data(), mean)
                          : backend_.loss(s, targets.data(), x.data->data(), data(log_sums), mean);
  });
  if (!taping() || !x.slot->asks) return;
  remember(op, s, [this, s, x_data = x.data, slot = x.slot, log_sums, targets, most, scale = share * loss_scale_] {
    const Count known = std::count_if(targets.begin(), targets.end(), [](std::int64_t t) { return t >= 0; });
    const double each = scale / static_cast<double>(std::max<Count>(1, known));
    most > 0 ? backend_.capped_loss_gradient(s, targets.data(), each, most, x_data->data(), data(log_sums))
             : backend_.loss_gradient(s, targets.data(), each, x_data->data(), data(log_sums));
    slot->gradient = x_data;
  });
}

void Pass::further_loss(std::string_view op, Value given, std::span<const std::int64_t> targets, double share,
                        double* mean, double* sum) {
  const Value x = std::move(given);
  entropy(op, x, targets, share, mean);
  backend_.add_share(share, mean, sum);
}

void Pass::loss(std::string_view op, Value given, std::span<const std::int64_t> targets, double* mean) {
  const Value x = std::move(given);
  x.data ? entropy(op, x, targets, 1, mean) : chunked_loss(op, std::exchange(unprojected_, {}), targets, mean);
  for (const Value& y : std::exchange(judged_, {})) backend_.add_mean(y.elements(), y.data->data(), mean);
}

}  // namespace llmcalc::model
