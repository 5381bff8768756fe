#include "calc/parallel/context.hpp"

#include "calc/parallel/tensor.hpp"

namespace llmcalc {
namespace {

/// Number of inputs of an attention core that are queries; keys and values follow.
std::size_t query_inputs(const Attention& a) { return a.absorbed ? 2 : 1; }

Inputs key_inputs(const Op& op, const Attention& a) {
  Inputs kv;
  for (std::size_t i = query_inputs(a); i < op.in.size(); ++i) kv.push(op.in[i]);
  return kv;
}

/// Walks the operators once and inserts collectives around attention's core.
class ContextPass {
 public:
  ContextPass(const OpList& ops, const Layout& layout) : in_(ops), ranks_(layout.cp), method_(layout.context_method) {
    out_.take_tensors(ops);
  }

  OpList run() {
    for (const Op& op : in_)
      if (const Attention* a = std::get_if<Attention>(&op.shape))
        core(op, *a);
      else
        cut_tokens(out_.push(op).shape, ranks_);
    return out_;
  }

 private:
  void core(const Op& op, const Attention& a) {
    switch (method_) {
      case ContextMethod::ring:
        return ring(op, own_queries(a));
      case ContextMethod::all_gather:
        return gather(op, own_queries(a));
      case ContextMethod::ulysses:
        return trade_heads(op, own_heads(a));
    }
  }

  Attention own_queries(Attention a) const {
    a.queries = ceil_div(a.queries, ranks_);
    a.pair_ranks = ranks_;
    return a;
  }
  Attention own_heads(Attention a) const {
    a.heads = ceil_div(a.heads, ranks_);
    a.kv_heads = ceil_div(a.kv_heads, ranks_);
    a.head_ranks = ranks_;
    return a;
  }
  Collective collective_call(Count elements) const {
    return {.group = Group::context, .elements = elements, .ranks = ranks_};
  }
  void send(const Op& core, const Collective& c, const Inputs& in, TensorId out) {
    out_.push({core.name, c, core.component, Split::inside, 1, in, out});
  }

  /// Sends c - 1 messages of keys and values in forward and in backward. Backward also sends c messages of their
  /// gradients; the last one returns the gradients to their own rank.
  void ring(const Op& op, Attention a) {
    a.ring = true;
    const Inputs kv = key_inputs(op, a);
    Collective passing = collective_call(mul(a.rows(), a.key_numbers()));
    Collective home = passing;
    passing.forward_on = passing.regather = true;
    passing.forward = CollectiveOp::p2p;
    passing.repeats = ranks_ - 1;
    home.backward_on = true;
    home.backward = CollectiveOp::p2p;
    home.repeats = ranks_;
    send(op, passing, kv, no_tensor);
    send(op, home, kv, no_tensor);
    out_.push(op).shape = a;
  }

  void gather(const Op& op, const Attention& a) {
    Collective c = collective_call(mul(a.sequences, a.keys, a.key_numbers()));
    c.forward_on = c.backward_on = c.regather = true;
    c.forward = CollectiveOp::all_gather;
    c.backward = CollectiveOp::reduce_scatter;
    c.out_elements = c.elements;
    const TensorId all = out_.new_tensor();
    send(op, c, key_inputs(op, a), all);
    Inputs in;
    for (std::size_t i = 0; i < query_inputs(a); ++i) in.push(op.in[i]);
    in.push(all);
    push_core(op, a, in, op.out);
  }

  void trade_heads(const Op& op, const Attention& a) {
    const TensorId qkv = out_.new_tensor(), o = out_.new_tensor();
    trade(op, op.in, mul(a.rows(), add(mul(a.heads, a.qk_dim), a.key_numbers())), qkv);
    push_core(op, a, qkv, o);
    trade(op, o, mul(a.rows(), a.heads, a.v_dim), op.out);
  }
  /// All-to-all of `elements` elements; the result has the same number of elements.
  void trade(const Op& core, const Inputs& in, Count elements, TensorId out) {
    Collective c = collective_call(elements);
    c.forward_on = c.backward_on = true;
    c.forward = c.backward = CollectiveOp::all_to_all;
    c.out_elements = elements;
    send(core, c, in, out);
  }
  void push_core(const Op& op, const Attention& a, const Inputs& in, TensorId out) {
    Op& core = out_.push(op);
    core.shape = a;
    core.in = in;
    core.out = out;
  }

  const OpList& in_;
  Count ranks_;
  ContextMethod method_;
  OpList out_;
};

}  // namespace

OpList split_context(const OpList& ops, const Layout& layout) { return ContextPass(ops, layout).run(); }

}  // namespace llmcalc
