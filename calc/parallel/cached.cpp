#include "calc/parallel/cached.hpp"

namespace llmcalc {
namespace {

/// Shards the cached tokens of attention cores, and inserts the collectives of a decode step around the cores.
class CachedPass {
 public:
  CachedPass(const OpList& ops, const Layout& layout, bool decodes)
      : in_(ops), ranks_(ranks(layout, Group::cached)), decodes_(decodes) {
    out_.take_tensors(ops);
  }

  OpList run() {
    for (const Op& op : in_)
      if (const Attention* a = std::get_if<Attention>(&op.shape))
        core(op, *a);
      else
        out_.push(op);
    return out_;
  }

 private:
  void core(const Op& op, const Attention& a) {
    const Count heads = mul(a.rows(), a.heads, ranks_);  // number of heads of all D ranks, over all new tokens
    if (decodes_) send(op, op.in[0], {.forward = CollectiveOp::all_gather, .elements = mul(heads, a.qk_dim)});
    std::get<Attention>(out_.push(op).shape).token_ranks = ranks_;
    if (!decodes_) return;
    send(op, op.out, {.forward = CollectiveOp::all_gather, .elements = mul(heads, ranks_), .number_bytes = 4});
    send(op, op.out, {.forward = CollectiveOp::reduce_scatter, .elements = mul(heads, a.v_dim)});
  }
  void send(const Op& core, TensorId of, Collective c) {
    c.forward_on = true;
    c.group = Group::cached;
    c.ranks = ranks_;
    out_.push({core.name, c, core.component, Split::inside, 1, of, no_tensor});
  }

  const OpList& in_;
  Count ranks_;
  bool decodes_;
  OpList out_;
};

}  // namespace

OpList split_cached(const OpList& ops, const Layout& layout, bool decodes) {
  return CachedPass(ops, layout, decodes).run();
}

}  // namespace llmcalc
