#include "calc/liveness.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include "calc/cost.hpp"
#include "calc/held.hpp"

namespace llmcalc {
namespace {

constexpr std::size_t max_tensors = OpList::capacity + 8;

/// An operator's tensors after aliasing: an exchange that makes nothing new (an all-reduce) works in place.
struct Tensors {
  Inputs in;
  TensorId out;
};

class Walk {
 public:
  Walk(const OpList& ops, const Pricing& p, Count input_elements, bool without_core, Bytes logits = {})
      : ops_(ops), p_(p), without_core_(without_core) {
    assert(ops.tensors() <= max_tensors);
    for (std::size_t t = 0; t < ops.tensors(); ++t) begin(t);
    size_[block_input] = bytes_of(p.activation, input_elements);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      held_.push(held(ops[i].shape, p));
      read(i);
    }
    if (!p.training()) return;
    for (std::size_t i = 0; i < ops.size(); ++i) mark_needs(i);
    for (std::size_t i = 0; i < ops.size(); ++i)
      if (std::holds_alternative<Loss>(ops[i].shape)) mark_logits(of_[i].in[0], logits);
  }

  Liveness run() {
    r_.input = size_[block_input];
    r_.keeps_input = needed_[block_input];
    r_.output = size_[result_];
    forward_pass();
    if (p_.training()) backward_pass([](std::size_t, const Gradients&) {});
    if (logits_ != no_tensor) r_.kept -= size_[logits_];
    return r_;
  }

  /// The moments of the high-water marks. Call after run().
  WorstMoments moments() {
    WorstMoments w;
    for (std::size_t t = 0; t < ops_.tensors(); ++t)
      if (exists(t) && producer_[t] <= forward_at_ && (needed_[t] || last_use_[t] >= forward_at_ || t == result_))
        w.forward.add(tensor(Alive::As::result, t));
    add_own(w.forward, forward_at_, false);
    if (!p_.training()) return w;
    std::fill_n(alive_again_.begin(), ops_.tensors(), false);
    const std::size_t at = backward_at_;
    backward_pass([&](std::size_t i, const Gradients& gradient) {
      if (i != at) return;
      for (std::size_t t = 0; t < ops_.tensors(); ++t) {
        if (needed_[t] && first_need_[t] <= i) w.backward.add(tensor(Alive::As::result, t));
        if (alive_again_[t] && first_need_[t] <= i) w.backward.add(tensor(Alive::As::again, t));
        if (gradient[t] != Bytes()) w.backward.add(tensor(Alive::As::gradient, t));
      }
      add_own(w.backward, i, true);
    });
    return w;
  }

  KeptByOperator by_operator() const {
    KeptByOperator kept{};
    for (std::size_t i = 0; i < ops_.size(); ++i) kept[i] = own(i);
    for (std::size_t t = 0; t < ops_.tensors(); ++t)
      if (needed_[t] && t != logits_) kept[first_need_[t]] += size_[t];
    return kept;
  }

 private:
  void begin(std::size_t t) {
    size_[t] = {};
    same_[t] = static_cast<TensorId>(t);
    producer_[t] = last_use_[t] = first_need_[t] = 0;
    needed_[t] = masked_[t] = remade_[t] = alive_again_[t] = false;
  }

  static bool makes_nothing(const Op& op) {
    return op.in_place() || (std::holds_alternative<Collective>(op.shape) && out_elements(op.shape) == 0);
  }
  TensorId same(TensorId t) const { return t == no_tensor ? no_tensor : same_[t]; }

  void read(std::size_t i) {
    const Op& op = ops_[i];
    Tensors& t = of_[i];
    for (std::size_t k = 0; k < Inputs::most; ++k) t.in[k] = same(op.in[k]);
    for (std::size_t k = 1; k < Inputs::most; ++k)  // each once
      if (std::find(t.in.begin(), t.in.begin() + k, t.in[k]) != t.in.begin() + k) t.in[k] = no_tensor;
    for (const TensorId in : t.in)
      if (in != no_tensor) last_use_[in] = i;
    t.out = makes_nothing(op) ? no_tensor : op.out;
    if (!op.in_place() && t.out == no_tensor) same_[op.out] = t.in[0];
    if (is_dropout(op)) masked_[t.in[0]] = true;
    if (t.out == no_tensor) return;
    size_[t.out] = bytes_of(p_.activation, out_elements(op.shape));
    producer_[t.out] = last_use_[t.out] = i;
    result_ = t.out;
  }
  static bool is_dropout(const Op& op) {
    const Pointwise* p = std::get_if<Pointwise>(&op.shape);
    return p && p->kind == PointwiseKind::dropout;
  }

  /// Whether backward recomputes the tensor: gathered from its shard, or a product of two kept tensors.
  bool is_remade(TensorId t) const {
    if (t == block_input) return false;
    const Op& maker = ops_[producer_[t]];
    const Collective* c = std::get_if<Collective>(&maker.shape);
    const Pointwise* p = std::get_if<Pointwise>(&maker.shape);
    return (c && c->forward == CollectiveOp::all_gather) ||
           (p && p->kind == PointwiseKind::gate && in_mlp(maker.component) && p_.glu_store == GluStore::recompute);
  }
  void need(TensorId t, std::size_t by) {
    if (t == no_tensor) return;
    first_need_[t] = needed_[t] || remade_[t] ? std::min(first_need_[t], by) : by;
    if (is_remade(t)) {
      remade_[t] = true;
      // The shard is kept; a product's factors are kept by the operator that computes it.
      if (std::holds_alternative<Collective>(ops_[producer_[t]].shape)) need(of_[producer_[t]].in[0], producer_[t]);
      return;
    }
    needed_[t] = true;
  }
  void mark_needs(std::size_t i) {
    const Needs& n = held_[i].needs;
    for (std::size_t k = 0; k < Inputs::most; ++k)
      if (n.in[k]) need(same(ops_[i].in[k]), i);
    if (n.out) need(of_[i].out, i);
  }

  /// Marks the logits, whose bytes are a convention (logits_bytes): their gradient overwrites them, and they live until
  /// the head's matrix has read it.
  void mark_logits(TensorId t, Bytes bytes) {
    logits_ = t;
    size_[t] = bytes;
    needed_[t] = true;
    first_need_[t] = producer_[t];
  }

  bool is_core(const Op& op) const { return std::holds_alternative<Attention>(op.shape); }
  /// Bytes that the operator keeps besides tensors.
  Bytes own(std::size_t i) const {
    const Op& op = ops_[i];
    if (!p_.training() || op.component == Component::position) return {};  // positions need no ids
    return is_core(op) && without_core_ ? Bytes() : held_[i].kept;
  }
  bool runs_again(const Op& op) const { return p_.training() && is_core(op) && without_core_; }
  /// Bytes held only while the operator runs; a recomputed core needs its scores too. Its recomputed output is freed
  /// before the gradients, which are larger, are allocated.
  Bytes passing(std::size_t i, bool is_backward) const {
    const Held& h = held_[i];
    return (is_backward ? h.scratch_backward : h.scratch) + (runs_again(ops_[i]) ? h.kept : Bytes());
  }
  bool exists(std::size_t t) const { return size_[t] != Bytes(); }
  Alive tensor(Alive::As as, std::size_t t) const {
    return {as, t == block_input ? Alive::no_op : producer_[t], size_[t]};
  }
  void add_own(Moment& m, std::size_t until, bool is_backward) const {
    for (std::size_t i = 0; i <= until; ++i) m.add({Alive::As::own, i, own(i)});
    m.add({Alive::As::scratch, until, passing(until, is_backward)});
  }

  void forward_pass() {
    Bytes live = size_[block_input];
    if (needed_[block_input]) r_.kept += size_[block_input];
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      const Op& op = ops_[i];
      const Tensors& t = of_[i];
      if (t.out != no_tensor) {
        live += size_[t.out];
        if (needed_[t.out]) r_.kept += size_[t.out];
      }
      const Bytes mine = own(i);
      live += mine;
      r_.kept += mine;
      if (is_core(op) && p_.training()) r_.core += held_[i].kept;
      raise(live + passing(i, false), i, r_.forward, forward_at_);
      for (const TensorId in : t.in) live -= freed(in, i);
    }
  }
  static void raise(Bytes now, std::size_t i, Bytes& peak, std::size_t& at) {
    if (now > peak) at = i;
    peak = std::max(peak, now);
  }
  Bytes freed(TensorId t, std::size_t i) const {
    return t != no_tensor && last_use_[t] == i && !needed_[t] && t != result_ ? size_[t] : Bytes();
  }

  using Gradients = std::array<Bytes, max_tensors>;

  /// Calls see(i, gradients) when all tensors that operator i's backward pass needs are alive.
  template <typename See>
  void backward_pass(See see) {
    Gradients gradient;
    std::fill_n(gradient.begin(), ops_.tensors(), Bytes());
    gradient[result_] = size_[result_];
    Bytes live = r_.kept + size_[result_];
    for (std::size_t i = ops_.size(); i-- > 0;) {
      const Tensors& t = of_[i];
      live += remake(i) + gradients_of_inputs(i, gradient);
      raise(live + passing(i, true), i, r_.backward, backward_at_);
      see(i, gradient);
      if (t.out != no_tensor) live -= std::exchange(gradient[t.out], {});
      live -= own(i);
      for (const TensorId in : t.in) live -= done_with(in, i);
      live -= done_with(t.out, i);
    }
  }

  /// Bytes of the inputs that this operator's backward recomputes: once, and kept until no operator needs them.
  Bytes remake(std::size_t i) {
    Bytes added;
    const Needs& n = held_[i].needs;
    for (std::size_t k = 0; k < Inputs::most; ++k) {
      const TensorId t = of_[i].in[k];
      if (!n.in[k] || t == no_tensor || !remade_[t] || alive_again_[t]) continue;
      alive_again_[t] = true;
      added += size_[t];
    }
    return added;
  }
  /// Bytes of a tensor that no operator before this one needs in backward.
  Bytes done_with(TensorId t, std::size_t i) const {
    return t != no_tensor && first_need_[t] == i && (needed_[t] || alive_again_[t]) ? size_[t] : Bytes();
  }

  /// Bytes of the gradients of inputs that have none yet. A sum hands its gradient to its first input and shares it
  /// with the second; a branch that dropout masks in place needs a copy.
  Bytes gradients_of_inputs(std::size_t i, Gradients& gradient) const {
    const Op& op = ops_[i];
    const Tensors& t = of_[i];
    if (t.out == no_tensor || std::holds_alternative<Lookup>(op.shape) || std::holds_alternative<Loss>(op.shape))
      return {};
    const Pointwise* p = std::get_if<Pointwise>(&op.shape);
    const bool sum = p && p->kind == PointwiseKind::add;
    Bytes added;
    for (const TensorId in : t.in) {
      if (in == no_tensor || gradient[in] != Bytes()) continue;
      if (sum && !masked_[in]) {
        if (in == t.in[0]) gradient[in] = std::exchange(gradient[t.out], {});
        continue;
      }
      gradient[in] = size_[in];
      added += size_[in];
    }
    return added;
  }

  const OpList& ops_;
  Pricing p_;
  bool without_core_;
  Liveness r_;
  TensorId result_ = block_input, logits_ = no_tensor;
  std::size_t forward_at_ = 0, backward_at_ = 0;
  InPlace<Held, OpList::capacity> held_;
  std::array<Tensors, OpList::capacity> of_;
  // Indexed by tensor.
  std::array<Bytes, max_tensors> size_;
  std::array<TensorId, max_tensors> same_;
  std::array<std::size_t, max_tensors> producer_, last_use_, first_need_;
  std::array<bool, max_tensors> needed_, masked_, remade_, alive_again_;
};

}  // namespace

Liveness liveness(const OpList& ops, const Pricing& p, Count input_elements, bool without_core, Bytes logits) {
  return Walk(ops, p, input_elements, without_core, logits).run();
}

WorstMoments worst_moments(const OpList& ops, const Pricing& p, Count input_elements, bool without_core, Bytes logits) {
  Walk walk(ops, p, input_elements, without_core, logits);
  walk.run();
  return walk.moments();
}

Bytes Moment::total() const {
  Bytes b;
  for (const Alive& a : *this) b += a.bytes;
  return b;
}

KeptByOperator kept_by_operator(const OpList& ops, const Pricing& p, Count input_elements, bool without_core) {
  return Walk(ops, p, input_elements, without_core).by_operator();
}

}  // namespace llmcalc
