#include "calc/parallel/tensor.hpp"

#include <algorithm>

#include "calc/cost.hpp"

namespace llmcalc {
namespace {

/// n in whole multiples of `unit`, over the ranks, rounded up.
Count cut(Count n, Count unit, Count ranks) { return ceil_div(n / unit, ranks) * unit; }

void cut_tokens(Shape& shape, Count ranks) {
  if (Lookup* s = std::get_if<Lookup>(&shape)) s->tokens = ceil_div(s->tokens, ranks);
  if (Linear* s = std::get_if<Linear>(&shape)) s->rows = ceil_div(s->rows, ranks);
  if (Norm* s = std::get_if<Norm>(&shape)) s->rows = ceil_div(s->rows, ranks);
  if (Pointwise* s = std::get_if<Pointwise>(&shape)) s->rows = ceil_div(s->rows, ranks);
}

/// A qk-norm works on tokens x heads rows; its weights are shared by the heads or one set per head.
void cut_heads(Norm& s, Count heads, Count ranks) {
  const Count mine = ceil_div(heads, ranks);
  Count& part = s.spans ? s.width : s.rows;
  part = part / heads * mine;
  if (s.per_head) s.weights = s.weights / heads * mine;
}

void cut_width(const Op& op, Shape& shape, Count ranks) {
  if (Linear* s = std::get_if<Linear>(&shape)) {
    if (op.split == Split::column) s->out = cut(s->out, op.unit, ranks);
    if (op.split == Split::row) s->in = cut(s->in, op.unit, ranks);
    if (op.split == Split::heads)
      s->rows = s->rows / s->groups * ceil_div(s->groups, ranks), s->groups = ceil_div(s->groups, ranks);
  }
  if (Lookup* s = std::get_if<Lookup>(&shape)) s->rows = ceil_div(s->rows, ranks);
  if (Pointwise* s = std::get_if<Pointwise>(&shape)) s->width = cut(s->width, op.unit, ranks);
  if (Loss* s = std::get_if<Loss>(&shape)) s->vocabulary = ceil_div(s->vocabulary, ranks);
  if (LinearAttention* s = std::get_if<LinearAttention>(&shape)) s->heads = ceil_div(s->heads, ranks);
  if (Attention* s = std::get_if<Attention>(&shape))
    s->heads = ceil_div(s->heads, ranks), s->kv_heads = ceil_div(s->kv_heads, ranks);
  if (Norm* s = std::get_if<Norm>(&shape)) {
    if (op.split == Split::heads)
      cut_heads(*s, op.unit, ranks);
    else
      s->width = cut(s->width, op.unit, ranks), s->weights = s->width;
  }
}

bool works_inside(Split s) { return s != Split::tokens; }

/// Walks the operators once, renaming tensors as exchanges are put between them.
class Pass {
 public:
  Pass(const OpList& ops, const TensorParallel& tp) : in_(ops), tp_(tp) {
    out_.clear_tensors(ops.tensors());
    for (std::size_t t = 0; t < ops.tensors(); ++t) inside_[t] = static_cast<TensorId>(t);
  }

  OpList run() {
    for (const Op& op : in_) {
      enter(op);
      Op& mine = out_.push(op);
      if (works_inside(op.split)) {
        rename_inputs(mine);
        if (op.split != Split::inside && op.split != Split::partial) cut_width(op, mine.shape, tp_.ranks);
        if (!op.in_place()) is_inside_[op.out] = true;
      } else if (tp_.sequence) {
        cut_tokens(mine.shape, tp_.ranks);
      }
      leave(op, mine);
    }
    return out_;
  }

 private:
  /// Before the first operator inside that reads a whole tensor.
  void enter(const Op& op) {
    if (!works_inside(op.split) || std::holds_alternative<Lookup>(op.shape)) return;
    for (const TensorId t : op.in) {
      if (t == no_tensor || is_inside_[t] || inside_[t] != t || (op.in_place() && op.split == Split::width)) continue;
      const Op* maker = producer(t);
      const Count n = maker ? entering(op, t, out_elements(maker->shape)) : input_elements(op);
      Collective c{.backward_on = true, .elements = n, .ranks = tp_.ranks, .out_elements = 0};
      if (tp_.sequence)
        c.forward_on = c.regather = true, c.forward = CollectiveOp::all_gather,
        c.backward = CollectiveOp::reduce_scatter, c.out_elements = n;
      const TensorId gathered = out_.new_tensor();
      out_.push({op.name, c, op.component, Split::inside, 1, t, gathered});
      inside_[t] = gathered;
    }
  }

  /// After an operator whose result is a sum over the ranks and whose reader works on whole tensors.
  void leave(const Op& op, Op& mine) {
    if (std::holds_alternative<Loss>(op.shape)) {
      out_.push({op.name,
                 Collective{.forward_on = true,
                            .elements = std::get<Loss>(op.shape).rows,
                            .ranks = tp_.ranks,
                            .repeats = 3,
                            .number_bytes = 4},
                 op.component, Split::inside, 1, op.in[0], no_tensor});
      return;
    }
    const bool sums = op.split == Split::row || op.split == Split::partial;
    if (!sums || op.in_place() || read_inside(op.out)) return;
    const Count n = out_elements(op.shape);
    Collective c{.forward_on = true, .elements = n, .ranks = tp_.ranks};
    if (tp_.sequence)
      c.backward_on = true, c.forward = CollectiveOp::reduce_scatter, c.backward = CollectiveOp::all_gather,
      c.out_elements = ceil_div(n, tp_.ranks);
    const TensorId partial = out_.new_tensor();
    mine.out = partial;
    is_inside_[op.out] = false;
    out_.push({op.name, c, op.component, Split::inside, 1, partial, op.out});
  }

  /// Of the latent row the heads need what they share as it is; the rest reaches them through kv_up or the latent norm.
  static Count entering(const Op& op, TensorId t, Count all) {
    const Attention* a = std::get_if<Attention>(&op.shape);
    return a && a->rope_dim > 0 && t == op.in[a->absorbed ? 3 : 2] ? mul(a->rows(), a->rope_dim) : all;
  }
  const Op* producer(TensorId t) const {
    for (const Op& op : in_)
      if (op.out == t) return &op;
    return nullptr;
  }
  bool read_inside(TensorId t) const {
    for (const Op& op : in_)
      for (const TensorId in : op.in)
        if (in == t && works_inside(op.split)) return true;
    return false;
  }
  /// The block's input, as the operator that reads it sees it.
  static Count input_elements(const Op& op) {
    const Linear* l = std::get_if<Linear>(&op.shape);
    return l ? mul(l->rows, l->in) : out_elements(op.shape);
  }
  void rename_inputs(Op& op) const {
    for (TensorId& t : op.in)
      if (t != no_tensor) t = inside_[t];
  }

  const OpList& in_;
  TensorParallel tp_;
  OpList out_;
  std::array<TensorId, 128> inside_{};  // a whole tensor's name inside
  std::array<bool, 128> is_inside_{};   // made by a cut operator
};

}  // namespace

OpList split_tensor(const OpList& ops, const TensorParallel& tp) { return tp.ranks > 1 ? Pass(ops, tp).run() : ops; }

}  // namespace llmcalc
