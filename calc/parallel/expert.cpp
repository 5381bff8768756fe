#include "calc/parallel/expert.hpp"

#include <algorithm>

namespace llmcalc {
namespace {

/// Walks the operators once, inserts collectives before and after the experts and renames tensors.
class ExpertPass {
 public:
  ExpertPass(const OpList& ops, const Layout& layout)
      : in_(ops),
        experts_(ranks(layout, Group::expert)),
        widths_(ranks(layout, Group::expert_tensor)),
        load_(layout.expert_load) {
    out_.take_tensors(ops);
    for (std::size_t t = 0; t < ops.tensors(); ++t) now_[t] = static_cast<TensorId>(t);
    for (const Op& op : ops)
      if (kind_is(op, PointwiseKind::route)) read_router(op);
  }

  OpList run() {
    for (const Op& op : in_) {
      Op& mine = out_.push(op);
      const bool sums_shards = op.split == Split::partial && reads_shard(op);
      for (TensorId& t : mine.in) t = now_[t];
      if (is_divided_over_experts(op)) {
        std::visit([&](auto& shape) { divide(op.split, shape); }, mine.shape);
        mine.split = Split::tokens;
        if (op.split == Split::row) bring_back(op);
      } else if (routes(op) || sums_shards) {
        mine.split = Split::tokens;
        is_shard_[op.out] = true;
        if (kind_is(op, PointwiseKind::dispatch)) send(op);
      }
    }
    return out_;
  }

 private:
  void read_router(const Op& route) {
    logits_ = route.in[0];
    for (const Op& op : in_)
      if (const Linear* l = std::get_if<Linear>(&op.shape); l != nullptr && l->top_k > 0)
        routing_ = {l->top_k, l->groups};
  }
  static bool kind_is(const Op& op, PointwiseKind kind) {
    const Pointwise* p = std::get_if<Pointwise>(&op.shape);
    return p && p->kind == kind;
  }
  /// Whether the operator works on the rank's own tokens, before they are sent to the experts or after the results
  /// return.
  bool routes(const Op& op) const {
    return (logits_ != no_tensor && op.out == logits_) || op.name == "mlp.latent_down" ||
           op.name == "mlp.latent_norm" || kind_is(op, PointwiseKind::route) || kind_is(op, PointwiseKind::dispatch) ||
           kind_is(op, PointwiseKind::combine);
  }
  bool reads_shard(const Op& op) const {
    return std::any_of(op.in.begin(), op.in.end(), [&](TensorId t) { return is_shard_[t]; });
  }

  /// Number of rows on the most loaded rank.
  Count loaded(Count rows) const { return ceil_div(mul(rows, load_.numerator), load_.denominator); }

  void divide(Split split, Linear& s) const {
    s.rows = loaded(mul(s.rows, widths_));
    s.groups = ceil_div(s.groups, experts_);
    s.expert_ranks = experts_;
    Count& width = split == Split::row ? s.in : s.out;
    width = ceil_div(width, widths_);
  }
  void divide(Split, Pointwise& s) const {
    s.rows = loaded(mul(s.rows, widths_));
    s.width = ceil_div(s.width, widths_);
  }
  template <typename S>
  void divide(Split, S&) const {}  // operators of experts have no other shapes

  void send(const Op& dispatch) {
    const Pointwise& p = std::get<Pointwise>(dispatch.shape);
    const Count own = mul(loaded(p.rows), p.width), gathered = mul(loaded(mul(p.rows, widths_)), p.width);
    collective_call(dispatch, Group::expert, own, own);
    collective_call(dispatch, Group::expert_tensor, gathered, gathered);
  }
  void bring_back(const Op& down) {
    const Linear& l = std::get<Linear>(down.shape);
    collective_call(down, Group::expert_tensor, mul(loaded(mul(l.rows, widths_)), l.out), mul(loaded(l.rows), l.out));
    collective_call(down, Group::expert, mul(loaded(l.rows), l.out), mul(l.rows, l.out));
  }
  /// Appends a collective on the operator's result if the group has several ranks. Tensors gathered by it are saved for
  /// backward.
  void collective_call(const Op& op, Group group, Count elements, Count result) {
    const Count n = group == Group::expert ? experts_ : widths_;
    if (n == 1) return;
    Collective c{.forward_on = true,
                 .backward_on = true,
                 .forward = CollectiveOp::all_to_all,
                 .backward = CollectiveOp::all_to_all,
                 .group = group,
                 .elements = elements,
                 .ranks = n,
                 .out_elements = result,
                 .routing = group == Group::expert ? routing_ : ExpertRouting{}};
    if (group == Group::expert_tensor) {
      const bool there = kind_is(op, PointwiseKind::dispatch);
      c.forward = there ? CollectiveOp::all_gather : CollectiveOp::reduce_scatter;
      c.backward = there ? CollectiveOp::reduce_scatter : CollectiveOp::all_gather;
    }
    const TensorId received = out_.new_tensor();
    out_.push({op.name, c, op.component, Split::tokens, 1, now_[op.out], received});
    now_[op.out] = received;
  }

  const OpList& in_;
  Count experts_, widths_;
  Ratio load_;
  OpList out_;
  ExpertRouting routing_{};
  TensorId logits_ = no_tensor;
  std::array<TensorId, most_tensors> now_{};   // id of a tensor after its collectives
  std::array<bool, most_tensors> is_shard_{};  // whether the tensor has only the rank's own tokens and is already
                                               // summed over ranks
};

}  // namespace

bool folds_experts(const Layout& layout) {
  return ranks(layout, Group::expert) > 1 || ranks(layout, Group::expert_tensor) != ranks(layout, Group::tensor);
}

OpList split_experts(const OpList& ops, const Layout& layout) { return ExpertPass(ops, layout).run(); }

}  // namespace llmcalc
