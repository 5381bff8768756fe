#include "calc/parallel/cached.hpp"

namespace llmcalc {

OpList split_cached(const OpList& ops, const Layout& layout, bool decodes) {
  const Count token_ranks = ranks(layout, Group::cached);
  OpList out;
  out.take_tensors(ops);
  const auto send = [&](const Op& core, TensorId of, Collective c) {
    c.forward_on = true;
    c.group = Group::cached;
    c.ranks = token_ranks;
    if (decodes) out.push({core.name, c, core.component, Split::inside, 1, of, no_tensor});
  };
  for (const Op& op : ops) {
    const Attention* a = std::get_if<Attention>(&op.shape);
    if (a == nullptr) {
      out.push(op);
      continue;
    }
    const Count heads = mul(a->rows(), a->heads, token_ranks);  // number of heads of all D ranks, over all new tokens
    send(op, op.in[0], {.forward = CollectiveOp::all_gather, .elements = mul(heads, a->qk_dim)});
    std::get<Attention>(out.push(op).shape).token_ranks = token_ranks;
    send(op, op.out, {.forward = CollectiveOp::all_gather, .elements = mul(heads, token_ranks), .number_bytes = 4});
    send(op, op.out, {.forward = CollectiveOp::reduce_scatter, .elements = mul(heads, a->v_dim)});
  }
  return out;
}

}  // namespace llmcalc
