#include "calc/parallel/tensor.hpp"

#include <algorithm>

#include "calc/cost/cost.hpp"
#include "calc/parallel/expert.hpp"

namespace llmcalc {
namespace {

/// Size of the largest shard of n if the ranks divide n in whole multiples of `unit`; 0 for heads of width 0.
Count cut(Count n, Count unit, Count ranks) { return n == 0 ? 0 : ceil_div(n / unit, ranks) * unit; }

// Shards the rows of an operator that works on single tokens.
void cut_rows(Lookup& s, Count ranks) { s.tokens = ceil_div(s.tokens, ranks); }
void cut_rows(Linear& s, Count ranks) { s.rows = ceil_div(s.rows, ranks); }
void cut_rows(Norm& s, Count ranks) { s.rows = ceil_div(s.rows, ranks); }
void cut_rows(Pointwise& s, Count ranks) {
  s.rows = ceil_div(s.rows, ranks);
  s.gate_rows = ceil_div(s.gate_rows, ranks);
}
void cut_rows(Loss& s, Count ranks) { s.rows = ceil_div(s.rows, ranks); }
void cut_rows(Collective& s, Count ranks) {
  s.elements = ceil_div(s.elements, ranks);
  s.out_elements = ceil_div(s.out_elements, ranks);
}
void cut_rows(Attention&, Count) {}    // unchanged: attention works on whole sequences
void cut_rows(IndexScores&, Count) {}  // unchanged: scores need whole sequences
void cut_rows(Pool& s, Count ranks) { s.queries = ceil_div(s.queries, ranks); }
void cut_rows(LinearAttention&, Count) {}  // unchanged: a recurrence works on whole sequences
void cut_rows(Convolution&, Count) {}      // unchanged: a convolution works on whole sequences
void cut_rows(Shift&, Count) {}            // unchanged: a token shift works on whole sequences

/// Shards a qk-norm, which works on tokens x heads rows. Its weights are either shared by the heads or separate per
/// head.
void cut_heads(Norm& s, Count heads, Count ranks) {
  const Count mine = ceil_div(heads, ranks);
  Count& part = s.spans ? s.width : s.rows;
  part = part / heads * mine;
  if (s.per_head) s.weights = s.weights / heads * mine;
}

// Tensor parallelism: shards columns, rows, heads or width, according to the operator's split.
void cut_width(const Op& op, Lookup& s, Count ranks) {
  Count& size = op.split == Split::heads ? s.width : s.rows;  // number of values per head, or of rows of the vocabulary
  size = ceil_div(size, ranks);
}
void cut_width(const Op& op, Linear& s, Count ranks) {
  if (op.split == Split::column) s.out = cut(s.out, op.unit, ranks);
  if (op.split == Split::row) s.in = cut(s.in, op.unit, ranks);
  if (op.split != Split::heads) return;
  const Count mine = ceil_div(s.groups, ranks);
  s.rows = s.rows / s.groups * mine;
  s.groups = mine;
}
void cut_width(const Op& op, Norm& s, Count ranks) {
  if (op.split == Split::heads) return cut_heads(s, op.unit, ranks);
  s.width = cut(s.width, op.unit, ranks);
  s.weights = s.width;
}
void cut_width(const Op&, Attention& s, Count ranks) {
  s.heads = ceil_div(s.heads, ranks);
  s.kv_heads = ceil_div(s.kv_heads, ranks);
}
void cut_width(const Op&, IndexScores&, Count) {}  // replicated on every rank
void cut_width(const Op&, Pool&, Count) {}         // replicated on every rank
void cut_width(const Op&, LinearAttention& s, Count ranks) {
  const Count mine = ceil_div(s.heads, ranks);
  s.weights = ceil_div(mul(s.weights, mine), s.heads);
  s.gates = s.gates / s.heads * mine;
  s.heads = mine;
  s.key_heads = ceil_div(s.key_heads, ranks);
}
void cut_width(const Op& op, Convolution& s, Count ranks) { s.channels = cut(s.channels, op.unit, ranks); }
void cut_width(const Op&, Shift&, Count) {}  // replicated on every rank
void cut_width(const Op& op, Pointwise& s, Count ranks) {
  if (op.split == Split::heads) {  // a row per token and head; the heads share the parameters
    s.rows = s.rows / op.unit * ceil_div(op.unit, ranks);
    return;
  }
  s.width = cut(s.width, op.unit, ranks);
  if (s.per_number) s.weights = s.width;
}
void cut_width(const Op&, Loss& s, Count ranks) { s.vocabulary = ceil_div(s.vocabulary, ranks); }
void cut_width(const Op&, Collective&, Count) {}  // inserted by this pass

bool works_inside(Split s) { return s != Split::tokens; }

/// Returns the shape of `op` if it is an element-wise operator of this kind, otherwise null.
const Pointwise* as_kind(const Op& op, PointwiseKind kind) {
  const Pointwise* p = std::get_if<Pointwise>(&op.shape);
  return p != nullptr && p->kind == kind ? p : nullptr;
}

/// Walks the operators once, inserts collectives between them and renames tensors.
class TensorWalk {
 public:
  TensorWalk(const OpList& ops, const Layout& layout) : in_(ops), layout_(layout) {
    out_.take_tensors(ops);
    for (std::size_t t = 0; t < ops.tensors(); ++t) inside_[t] = static_cast<TensorId>(t);
    for (const Op& op : ops) {
      if (!op.in_place()) maker_[op.out] = &op;
      for (const TensorId t : op.in)
        if (t != no_tensor && op.split == Split::partial) summed_later_[t] = true;
      if (as_kind(op, PointwiseKind::route) != nullptr) router_logits_ = op.in[0];
    }
  }

  OpList run() {
    for (const Op& op : in_) {
      enter(op);
      Op& mine = out_.push(op);
      if (routes_own_tokens(op)) {
        route_own_tokens(op, mine);
      } else if (works_inside(op.split)) {
        rename_inputs(mine);
        if (layout_.sp) keep_own_gates(mine);
        if (op.split != Split::inside && op.split != Split::partial)
          std::visit([&](auto& shape) { cut_width(op, shape, layout_.tp); }, mine.shape);
        if (!op.in_place()) is_inside_[op.out] = true;
      } else if (layout_.sp) {
        cut_tokens(mine.shape, layout_.tp);
      }
      leave(op, mine);
    }
    return out_;
  }

 private:
  /// With sequence parallelism, a router and its selection see the rank's own tokens, before the tokens are gathered
  /// for the experts (Megatron-Core's TopKRouter, whose weights are marked sequence_parallel).
  bool routes_own_tokens(const Op& op) const {
    const bool is_router = router_logits_ != no_tensor && op.out == router_logits_;
    return layout_.sp && works_inside(op.split) && (is_router || as_kind(op, PointwiseKind::route) != nullptr);
  }
  /// Shards a router or its selection by tokens. Not counted: the gather of gates with the tokens.
  void route_own_tokens(const Op& op, Op& mine) {
    cut_tokens(mine.shape, layout_.tp);
    mine.split = Split::tokens;
    if (as_kind(op, PointwiseKind::route) != nullptr) is_inside_[op.out] = true;
  }
  void keep_own_gates(Op& mine) const {
    if (const Pointwise* p = as_kind(mine, PointwiseKind::combine))
      std::get<Pointwise>(mine.shape).gate_rows = ceil_div(p->rows, layout_.tp);
  }

  /// Inserts the collective before the first sharded operator that reads a whole tensor. If the operator passes no
  /// gradient to its inputs, the collective only gathers tokens, under sequence parallelism.
  void enter(const Op& op) {
    if (!works_inside(op.split) || std::holds_alternative<Lookup>(op.shape) || (op.detached && !layout_.sp)) return;
    if (routes_own_tokens(op)) return;
    for (const TensorId t : op.in) {
      if (t == no_tensor || is_inside_[t] || (op.in_place() && op.split == Split::width)) continue;
      if (inside_[t] != t) {
        if (!op.detached) return_gradient(*collective_call_[t]);
        continue;
      }
      if (is_cut_elsewhere(op, t)) continue;
      const Op* maker = maker_[t];
      const Count n = maker ? entering(op, t, out_elements(maker->shape)) : input_elements(op);
      Collective c{.backward_on = !op.detached, .elements = n, .ranks = layout_.tp};
      if (layout_.sp) {
        c.forward_on = c.regather = true;
        c.forward = CollectiveOp::all_gather;
        c.backward = CollectiveOp::reduce_scatter;
        c.out_elements = n;
      }
      const TensorId gathered = out_.new_tensor();
      collective_call_[t] = &out_.push({op.name, c, op.component, Split::inside, 1, t, gathered});
      collective_call_[t]->asks = !op.detached;
      inside_[t] = gathered;
    }
  }

  static void return_gradient(Op& collective_call) {
    std::get<Collective>(collective_call.shape).backward_on = true;
    collective_call.asks = true;
  }

  /// Inserts the collective after an operator whose result is a sum across ranks, before readers of whole tensors.
  void leave(const Op& op, Op& mine) {
    if (std::holds_alternative<Loss>(op.shape)) {
      out_.push({op.name,
                 Collective{.forward_on = true,
                            .elements = std::get<Loss>(op.shape).rows,
                            .ranks = layout_.tp,
                            .repeats = 3,
                            .number_bytes = 4},
                 op.component, Split::inside, 1, op.in[0], no_tensor});
      return;
    }
    const bool sums = op.split == Split::row || op.split == Split::partial;
    if (!sums || op.in_place() || summed_later_[op.out]) return;
    const Count n = out_elements(op.shape);
    Collective c{.forward_on = true, .elements = n, .ranks = layout_.tp};
    if (layout_.sp) {
      c.backward_on = true;
      c.forward = CollectiveOp::reduce_scatter;
      c.backward = CollectiveOp::all_gather;
      c.out_elements = ceil_div(n, layout_.tp);
    }
    const TensorId partial = out_.new_tensor();
    mine.out = partial;
    is_inside_[op.out] = false;
    out_.push({op.name, c, op.component, Split::inside, 1, partial, op.out});
  }

  /// Whether a tensor of another segment is already sharded. Keys and values of another layer have only this rank's
  /// heads; an encoder's result, which matmuls read, is whole.
  bool is_cut_elsewhere(const Op& op, TensorId t) const {
    return t != block_input && maker_[t] == nullptr && !std::holds_alternative<Linear>(op.shape);
  }
  /// Number of elements that enter the heads. For a latent row, only the shared RoPE part, since the rest enters
  /// through kv_up or the latent norm.
  static Count entering(const Op& op, TensorId t, Count all) {
    const Attention* a = std::get_if<Attention>(&op.shape);
    return a && a->rope_dim > 0 && t == op.in[a->absorbed ? 3 : 2] ? mul(a->rows(), a->rope_dim) : all;
  }
  /// Number of elements in the block's input, from the shape of the operator that reads it.
  static Count input_elements(const Op& op) {
    if (const Shift* s = std::get_if<Shift>(&op.shape)) return mul(s->rows(), s->width);
    if (const Pointwise* p = as_kind(op, PointwiseKind::dispatch)) return mul(p->rows / p->top_k, p->width);
    const Linear* l = std::get_if<Linear>(&op.shape);
    return l ? mul(l->rows, l->in) : out_elements(op.shape);
  }
  void rename_inputs(Op& op) const {
    for (TensorId& t : op.in)
      if (t != no_tensor) t = inside_[t];
  }

  const OpList& in_;
  const Layout& layout_;
  OpList out_;
  std::array<TensorId, most_tensors> inside_{};      // id of a whole tensor inside the sharded region
  std::array<Op*, most_tensors> collective_call_{};  // collective that produced the tensor
  std::array<bool, most_tensors> is_inside_{};       // whether a sharded operator produced the tensor
  std::array<bool, most_tensors> summed_later_{};    // whether an operator on partial sums reads the tensor
  std::array<const Op*, most_tensors> maker_{};      // operator that produced the tensor; null: the block's input
  TensorId router_logits_ = no_tensor;
};

}  // namespace

void cut_tokens(Shape& shape, Count ranks) {
  std::visit([&](auto& s) { cut_rows(s, ranks); }, shape);
}

OpList split_tensor(const OpList& ops, const Layout& layout) {
  return layout.tp > 1 ? TensorWalk(ops, layout).run() : ops;
}

Count summed_over_tensor_ranks(const OpList& ops, const Layout& layout) {
  if (layout.tp == 1) return 0;
  Count n = 0;
  for (const Op& op : ops) {
    if (is_divided_over_experts(op) && folds_experts(layout)) continue;
    const Norm* norm = std::get_if<Norm>(&op.shape);
    const Linear* linear = std::get_if<Linear>(&op.shape);
    if (op.is_frozen() || op.borrowed) continue;
    const bool whole = op.split == Split::inside || op.split == Split::partial;
    // Around the experts of a latent MoE, the gradients of the latent projections and their norm are summed because the
    // experts are sharded. Gradients of RWKV's receptance matrix are summed because its result multiplies a partial
    // sum. Routers are excluded here; with sequence parallelism, they count as sharded by tokens below.
    const bool around_experts = whole && op.component == Component::mlp && (norm || linear);
    // Gradients of token shifts and low-rank projections are summed because their readers are sharded. An indexer is
    // replicated.
    const bool before_heads = std::holds_alternative<Shift>(op.shape) ||
                              (whole && op.component == Component::attention && linear && !op.detached);
    const Pointwise* factors = std::get_if<Pointwise>(&op.shape);
    const bool shared = (op.split == Split::heads && ((norm && !norm->per_head) || factors)) || around_experts ||
                        before_heads || (op.weights == Op::Weights::adapter && whole);
    if (shared || (layout.sp && op.split == Split::tokens)) n = add(n, learned(op.shape).total);
    if (layout.sp && linear && linear->bias && op.split == Split::row) n = add(n, mul(linear->groups, linear->out));
  }
  return n;
}

}  // namespace llmcalc
