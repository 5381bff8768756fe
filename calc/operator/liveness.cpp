#include "calc/operator/liveness.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "calc/cost/cost.hpp"
#include "calc/cost/held.hpp"
#include "calc/training/gradient_flow.hpp"
#include "calc/training/recompute.hpp"

namespace llmcalc {
namespace {

using OpId = std::uint8_t;

/// A tensor: its size, its producer, its last reader in forward, the first operator whose backward needs it, and
/// flags.
struct LiveTensor {
  Bytes size;
  TensorId same;  ///< id of this tensor after aliasing
  OpId producer = 0, last_use = 0, first_need = 0;
  bool needed = false, apart = false, discarded = false, remade = false, alive_in_recompute = false;
  bool asks = true;        ///< whether it requires a gradient
  bool outside = false;    ///< whether another segment produces it and counts its bytes; its gradient is computed here
  bool carried = false;    ///< whether it is produced here and read by other segments; it is then live to the end of
                           ///< this segment
  bool shared_kv = false;  ///< whether it is carried and read by several layers; its gradient then exists before
                           ///< backward begins
  bool in_place = false;   ///< whether it is carried and overwritten by the gradients that later segments compute
  bool passed = false;     ///< whether it is the result and this segment's backward also needs it; the next segment
                           ///< saves it
};

/// An operator's tensors after aliasing. A collective without a new result (an all-reduce) works in place.
struct Operands {
  Inputs in;
  TensorId out;
};

class Walk {
 public:
  Walk(const OpList& ops, const Pricing& p, Count input_elements, Bytes logits = {}) : ops_(ops), p_(p) {
    assert(ops.tensors() <= most_tensors);
    for (std::size_t t = 0; t < ops.tensors(); ++t)
      tensors_.push({.size = {}, .same = static_cast<TensorId>(t), .outside = t != block_input});
    tensors_[block_input].size = bytes_of(p.activation, input_elements);
    tensors_[block_input].asks = ops.empty() || ops[0].asks;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      held_.push(held(ops[i], p));
      read(static_cast<OpId>(i));
    }
    if (ops.result() != no_tensor) result_ = tensors_[ops.result()].same;
    if (ops.cross_layer_tensors() != no_tensor) r_.cross_layer_tensors = tensors_[ops.cross_layer_tensors()].size;
    mark_carried();
    if (!p.training()) return;
    if (!p.recomputed.empty()) mark_recomputed();
    for (std::size_t i = 0; i < ops.size(); ++i) mark_needs(static_cast<OpId>(i));
    if (ops.result() != no_tensor) tensors_[result_].passed = tensors_[result_].needed;
    if (ops.result_is_carried()) keep_carried(result_);
    for (std::size_t i = 0; i < ops.size(); ++i)
      if (std::holds_alternative<Loss>(ops[i].shape)) mark_logits(of_[i].in[0], logits);
  }

  Liveness run() {
    r_.input = tensors_[block_input].size;
    r_.keeps_input = tensors_[block_input].needed;
    r_.output = tensors_[result_].size;
    forward_pass();
    if (p_.training()) backward_pass([](std::size_t, const Gradients&) {});
    if (logits_ != no_tensor) r_.saved -= tensors_[logits_].size;
    return r_;
  }

  /// The moments at which the high-water marks occur. Precondition: run() was called.
  WorstMoments moments() {
    WorstMoments w;
    for (std::size_t t = 0; t < ops_.tensors(); ++t) {
      const LiveTensor& x = tensors_[t];
      const bool alive = x.needed || x.carried || x.last_use >= forward_at_ || is_read_later(t);
      if (alive && !x.outside && x.producer <= forward_at_) w.forward.add(tensor(Alive::As::result, t));
    }
    add_own(w.forward, forward_at_, false);
    if (!p_.training()) return w;
    for (LiveTensor& x : tensors_) x.alive_in_recompute = false;
    own_recomputed_.fill(false);
    const std::size_t at = backward_at_;
    backward_pass([&](std::size_t i, const Gradients& gradient) {
      if (i != at) return;
      for (std::size_t t = 0; t < ops_.tensors(); ++t) {
        const LiveTensor& x = tensors_[t];
        if (x.needed && !x.in_place && x.first_need <= i) w.backward.add(tensor(Alive::As::result, t));
        if (x.alive_in_recompute && x.first_need <= i) w.backward.add(tensor(Alive::As::recomputed, t));
        if (gradient[t] != Bytes()) w.backward.add(tensor(Alive::As::gradient, t));
      }
      add_own(w.backward, i, true);
    });
    return w;
  }

  SavedByOperator by_operator() const {
    SavedByOperator saved{};
    for (std::size_t i = 0; i < ops_.size(); ++i) saved[i] = own(i);
    for (std::size_t t = 0; t < ops_.tensors(); ++t)
      if (tensors_[t].needed && !tensors_[t].passed && t != logits_) saved[tensors_[t].first_need] += tensors_[t].size;
    return saved;
  }

 private:
  static bool makes_nothing(const Op& op) {
    return op.in_place() || (std::holds_alternative<Collective>(op.shape) && out_elements(op.shape) == 0);
  }

  void read(OpId i) {
    const Op& op = ops_[i];
    Operands& t = of_.push({op.in, makes_nothing(op) ? no_tensor : op.out});
    for (TensorId* in = t.in.begin(); in != t.in.end(); ++in) {
      *in = tensors_[*in].same;
      LiveTensor& x = tensors_[*in];
      x.last_use = i;
      const auto place = static_cast<std::size_t>(in - t.in.begin());
      if (x.outside) x.size = outside_bytes(op, place);
      if (x.outside && reads_cross_layer(op))
        x.asks = false;  // its gradient outlives this segment (calc/arch/cross_layer.hpp)
      if (shares_onward(op, place)) x.carried = x.shared_kv = true;
      if (std::find(t.in.begin(), in, *in) != in) *in = no_tensor;  // counts each tensor once
    }
    if (!op.in_place()) tensors_[op.out].outside = false;
    if (!op.in_place() && t.out == no_tensor) tensors_[op.out].same = t.in[0];
    if (is_dropout(op)) tensors_[t.in[0]].apart = true;
    if (is_sum(op) && waits(t.in)) tensors_[t.in[1]].apart = true;
    if (t.out == no_tensor) return;
    LiveTensor& made = tensors_[t.out];
    made.size = result_bytes(op.shape, p_.activation);
    made.producer = made.last_use = i;
    made.asks = result_asks(op);
    result_ = t.out;
  }
  /// Whether the operator reads tensors shared across layers, including an encoder's result. shares_onward(): whether
  /// later layers read its input `in`.
  static bool reads_cross_layer(const Op& op) {
    const Pointwise* p = std::get_if<Pointwise>(&op.shape);
    const bool blends = p != nullptr && p->kind == PointwiseKind::blend;
    return blends || std::holds_alternative<Attention>(op.shape) || std::holds_alternative<Linear>(op.shape);
  }
  static bool shares_onward(const Op& op, std::size_t in) {
    const Attention* core = std::get_if<Attention>(&op.shape);
    const LinearAttention* state = std::get_if<LinearAttention>(&op.shape);
    return (core && core->shares_kv && in > 0) || (state && state->shares_values && in == state->values_at);
  }
  /// Bytes of a tensor from another segment: keys and values of an attention core, an encoder's result, or a factor of
  /// a product.
  Bytes outside_bytes(const Op& op, std::size_t in) const {
    if (const Linear* l = std::get_if<Linear>(&op.shape)) return bytes_of(p_.activation, mul(l->rows, l->in));
    const Attention* a = std::get_if<Attention>(&op.shape);
    if (is(PointwiseKind::mix, op)) return saved_bytes(std::get<Pointwise>(op.shape));
    if (a == nullptr) return bytes_of(p_.activation, out_elements(op.shape));
    return in == 1 ? bytes_of(p_.activation, mul(a->sequences, a->keys, a->key_numbers())) : Bytes();
  }
  /// Bytes of all tensors of a mix except the current stream.
  Bytes saved_bytes(const Pointwise& mix) const {
    return bytes_of(p_.activation, mul(mix.top_k - 1, mix.rows, mix.width));
  }
  /// Marks the results that only other segments read.
  void mark_carried() {
    for (TensorId t = 1; t < ops_.tensors(); ++t) {
      const LiveTensor& x = tensors_[t];
      if (x.shared_kv) share_onward(x);
      if (!x.outside && x.same == t && t != result_ && x.last_use == x.producer && x.size != Bytes()) keep_carried(t);
    }
    if (ops_.saves_input()) save(tensors_[block_input]);
    if (ops_.result_is_carried()) r_.carried += tensors_[result_].size;
  }
  void keep_carried(TensorId t) {
    LiveTensor& x = tensors_[t];
    x.first_need = x.producer;
    x.needed = p_.training();
    x.carried = true;
    x.shared_kv = t != result_ && std::holds_alternative<Lookup>(ops_[x.producer].shape);  // relative-position biases
    x.in_place = t != result_ && !x.shared_kv && x.needed && x.asks;
    if (x.shared_kv) r_.awaited_by_encoder = r_.awaited;
    if (x.shared_kv) return share_onward(x);
    if (t != result_) r_.carried += x.size;
  }
  /// Marks an input that all later segments also read.
  void save(LiveTensor& x) {
    x.carried = x.shared_kv = true;
    share_onward(x);
  }
  void share_onward(const LiveTensor& x) {
    r_.carried += x.size;
    if (p_.training() && x.asks) r_.awaited += x.size;
  }
  static bool is(PointwiseKind kind, const Op& op) {
    const Pointwise* p = std::get_if<Pointwise>(&op.shape);
    return p && p->kind == kind;
  }
  static bool is_dropout(const Op& op) { return is(PointwiseKind::dropout, op); }
  static bool is_sum(const Op& op) { return is(PointwiseKind::add, op); }
  /// Whether the second input of a sum was produced before the first input, which is itself a sum. If so, the two
  /// inputs cannot share a gradient: the first input passes it on to its own inputs, and other gradients are added to
  /// it before the second input uses it.
  bool waits(const Inputs& in) const {
    if (in[0] == no_tensor || in[1] == no_tensor) return false;
    const OpId first = tensors_[in[0]].producer;
    return tensors_[in[1]].producer < first && is_sum(ops_[first]);
  }

  /// Marks the recomputed operators, and those of their results that are discarded and recomputed in backward.
  void mark_recomputed() {
    for (std::size_t i = 0; i < ops_.size(); ++i) recomputed_[i] = holds_any(p_.recomputed, ops_[i]);
    for (std::size_t i = 0; i < ops_.size(); ++i)
      if (recomputed_[i] && of_[i].out != no_tensor)
        tensors_[of_[i].out].discarded =
            !tensors_[of_[i].out].carried && (discards_result(p_.recomputed, ops_[i]) || is_inside(i));
  }
  /// Whether the result of operator i, in a recomputed MLP, is needed only by recomputed operators.
  bool is_inside(std::size_t i) const {
    if (!p_.recomputed.has(RecomputeModule::mlp) || !holds(RecomputeModule::mlp, ops_[i])) return false;
    for (std::size_t k = i + 1; k < ops_.size(); ++k)
      if (!recomputed_[k] && needs(k, of_[i].out)) return false;
    return true;
  }
  bool needs(std::size_t i, TensorId t) const {
    for (std::size_t k = 0; k < ops_[i].in.size(); ++k)
      if (held_[i].needs.in[k] && tensors_[ops_[i].in[k]].same == t) return true;
    return false;
  }

  /// Whether backward recomputes the tensor: a tensor gathered from its shards, an element-wise product of two saved
  /// tensors, or a result of a recomputed module.
  bool is_remade(TensorId t) const {
    if (t == block_input) return false;
    if (tensors_[t].discarded) return true;
    const Op& maker = ops_[tensors_[t].producer];
    const Collective* c = std::get_if<Collective>(&maker.shape);
    const Pointwise* p = std::get_if<Pointwise>(&maker.shape);
    return (c && c->regather) ||
           (p && p->kind == PointwiseKind::gate && is_glu(maker) && p_.glu_store == GluStore::recompute);
  }
  /// Whether the operator multiplies by a gate within an MLP, or by a per-layer input. RWKV's receptance gates the
  /// MLP's result, and is saved.
  static bool is_glu(const Op& op) { return in_mlp(op.component) && op.split != Split::partial; }
  void need(TensorId t, OpId by) {
    if (t == no_tensor || tensors_[t].outside) return;
    LiveTensor& x = tensors_[t];
    x.first_need = x.needed || x.remade ? std::min(x.first_need, by) : by;
    if (is_remade(t)) {
      x.remade = true;
      for (const TensorId source : of_[x.producer].in) need(source, x.producer);
      return;
    }
    x.needed = true;
  }
  void mark_needs(OpId i) {
    const Needs& n = held_[i].needs;
    for (std::size_t k = 0; k < ops_[i].in.size(); ++k)
      if (n.in[k]) need(tensors_[ops_[i].in[k]].same, i);
    if (n.out) need(of_[i].out, i);
  }

  /// Marks the logits, whose size follows a convention (logits_bytes). Their gradient overwrites the logits, which
  /// are live until the head's matmul has read the gradient.
  void mark_logits(TensorId t, Bytes bytes) {
    logits_ = t;
    LiveTensor& x = tensors_[t];
    x.size = bytes;
    x.needed = true;
    x.first_need = x.producer;
  }

  /// Bytes that the operator saves in addition to its inputs and output.
  Bytes own(std::size_t i) const {
    const bool later_table = i > 0 && std::holds_alternative<Lookup>(ops_[i].shape);
    if (!p_.training() || later_table) return {};  // positions need no ids; other tables share the ids of the first
    return recomputed_[i] ? Bytes() : held_[i].saved;
  }
  /// Bytes live only while the operator runs. For a recomputed operator, they include the bytes that it would otherwise
  /// save, unless backward has already recomputed these. The output of a recomputed attention core is freed before the
  /// larger gradients are allocated.
  Bytes passing(std::size_t i, bool is_backward) const {
    const Held& h = held_[i];
    const bool mine = recomputed_[i] && !(is_backward && own_recomputed_[i]);
    return (is_backward ? h.scratch_backward : h.scratch) + (mine ? h.saved : Bytes());
  }
  Alive tensor(Alive::As as, std::size_t t) const {
    return {as, t == block_input || tensors_[t].outside ? Alive::no_op : tensors_[t].producer, tensors_[t].size};
  }
  void add_own(Moment& m, std::size_t until, bool is_backward) const {
    for (std::size_t i = 0; i <= until; ++i) m.add({Alive::As::own, i, own_recomputed_[i] ? held_[i].saved : own(i)});
    m.add({Alive::As::scratch, until, passing(until, is_backward)});
  }

  /// Whether a later segment reads the tensor.
  bool is_read_later(std::size_t t) const {
    return t == result_ || t == ops_.cross_layer_tensors() || (t == block_input && ops_.leaves_input());
  }

  void forward_pass() {
    Bytes live = tensors_[block_input].size;
    if (tensors_[block_input].needed) r_.saved += tensors_[block_input].size;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      const Op& op = ops_[i];
      const Operands& t = of_[i];
      if (t.out != no_tensor) {
        live += tensors_[t.out].size;
        if (tensors_[t.out].needed && !tensors_[t.out].passed) r_.saved += tensors_[t.out].size;
      }
      const Bytes mine = own(i);
      live += mine;
      r_.saved += mine;
      if (reads_past(op.shape) && p_.training()) r_.core += held_[i].saved;
      raise(live + passing(i, false), i, r_.forward, forward_at_);
      for (const TensorId in : t.in) live -= freed(in, i);
    }
  }
  static void raise(Bytes now, std::size_t i, Bytes& peak, std::size_t& at) {
    if (now > peak) at = i;
    peak = std::max(peak, now);
  }
  Bytes freed(TensorId t, std::size_t i) const {
    if (t == no_tensor || is_read_later(t)) return {};
    const LiveTensor& x = tensors_[t];
    return x.last_use == i && !x.needed && !x.outside && !x.carried ? x.size : Bytes();
  }

  using Gradients = std::array<Bytes, most_tensors>;

  /// Calls see(i, gradients) at the moment when all tensors that the backward of operator i needs are live.
  template <typename See>
  void backward_pass(See see) {
    Gradients gradient{};
    if (!tensors_[result_].asks) return;
    gradient[result_] = tensors_[result_].size;
    Bytes live = r_.saved + r_.awaited + (tensors_[result_].passed ? 2 : 1) * tensors_[result_].size;
    for (std::size_t t = 0; t < ops_.tensors(); ++t)
      if (const LiveTensor& x = tensors_[t]; x.in_place || (x.shared_kv && x.asks)) gradient[t] = x.size;
    for (std::size_t i = ops_.size(); i-- > 0;) {
      if (!has_backward(ops_[i])) {
        live -= own(i);
        continue;
      }
      const Operands& t = of_[i];
      live += remake(i) + gradients_of_inputs(i, gradient);
      raise(live + passing(i, true), i, r_.backward, backward_at_);
      see(i, gradient);
      if (t.out != no_tensor) live -= std::exchange(gradient[t.out], {});
      live -= own(i);
      if (std::exchange(own_recomputed_[i], false)) live -= held_[i].saved;
      for (const TensorId in : t.in) live -= done_with(in, i) + moved_out(in, i, gradient);
      live -= done_with(t.out, i);
    }
  }

  /// Bytes of the inputs that this operator's backward recomputes. Each input is recomputed once and kept until no
  /// operator needs it.
  Bytes remake(std::size_t i) {
    Bytes added;
    const Needs& n = held_[i].needs;
    for (std::size_t k = 0; k < of_[i].in.size(); ++k)
      if (n.in[k] && of_[i].in[k] != no_tensor) added += remake_tensor(of_[i].in[k]);
    return added;
  }
  /// Bytes recomputed for one tensor, including all tensors needed to recompute it.
  Bytes remake_tensor(TensorId t) {
    LiveTensor& x = tensors_[t];
    if (!x.remade || x.alive_in_recompute) return {};
    x.alive_in_recompute = true;
    Bytes added = x.size;
    if (recomputed_[x.producer] && !std::exchange(own_recomputed_[x.producer], true)) added += held_[x.producer].saved;
    for (const TensorId source : of_[x.producer].in)
      if (source != no_tensor) added += remake_tensor(source);
    return added;
  }
  /// Bytes of a gradient that overwrites a tensor of another segment, such as a layer's part of the per-layer input.
  Bytes moved_out(TensorId t, std::size_t i, Gradients& gradient) const {
    const bool moves = t != no_tensor && tensors_[t].outside && std::holds_alternative<Pointwise>(ops_[i].shape);
    return moves ? std::exchange(gradient[t], {}) : Bytes();
  }
  /// Bytes of the tensor if backward frees it after this operator, the last one that needs it; otherwise 0.
  Bytes done_with(TensorId t, std::size_t i) const {
    if (t == no_tensor) return {};
    const LiveTensor& x = tensors_[t];
    return x.first_need == i && !x.in_place && (x.needed || x.alive_in_recompute) ? x.size : Bytes();
  }

  /// Bytes of new gradients, for the inputs that require a gradient and do not have one yet. A sum passes its
  /// gradient on to the first such input, and the second input shares it. A branch that dropout masks in place, or
  /// that waits (see waits()), needs a copy unless it receives a gradient that no other tensor shares. In a weighted
  /// sum, only the first input takes over the sum's gradient.
  Bytes gradients_of_inputs(std::size_t i, Gradients& gradient) const {
    const Op& op = ops_[i];
    const Operands& t = of_[i];
    const bool ends = std::holds_alternative<Lookup>(op.shape) || std::holds_alternative<Loss>(op.shape);
    if (t.out == no_tensor || ends || op.detached) return {};
    const bool sum = is_sum(op), weighted = is(PointwiseKind::add_own, op);
    const auto asks = [&](TensorId in) { return in != no_tensor && tensors_[in].asks && gradient[in] == Bytes(); };
    const TensorId* heir = std::find_if(t.in.begin(), t.in.end(), asks);
    Bytes added;
    for (const TensorId in : t.in) {
      if (!asks(in)) continue;
      const bool alone = sum && in == t.in[0] && gradient[t.out] != Bytes();  // the sum's gradient is not shared yet
      if ((sum || (weighted && in == t.in[0])) && (!tensors_[in].apart || alone)) {
        if (in == *heir) gradient[in] = std::exchange(gradient[t.out], {});
        continue;
      }
      gradient[in] = tensors_[in].size;
      added += tensors_[in].size;
    }
    return added;
  }

  const OpList& ops_;
  Pricing p_;
  Liveness r_;
  TensorId result_ = block_input, logits_ = no_tensor;
  std::size_t forward_at_ = 0, backward_at_ = 0;
  std::array<bool, OpList::capacity> recomputed_{};      // whether the operator is recomputed in backward
  std::array<bool, OpList::capacity> own_recomputed_{};  // whether the operator's own saved bytes have been recomputed
                                                         // in backward; they are live until its gradient is computed
  InplaceVector<Held, OpList::capacity> held_;
  InplaceVector<Operands, OpList::capacity> of_;
  InplaceVector<LiveTensor, most_tensors> tensors_;
};

}  // namespace

Liveness liveness(const OpList& ops, const Pricing& p, Count input_elements, Bytes logits) {
  return Walk(ops, p, input_elements, logits).run();
}

WorstMoments worst_moments(const OpList& ops, const Pricing& p, Count input_elements, Bytes logits) {
  Walk walk(ops, p, input_elements, logits);
  walk.run();
  return walk.moments();
}

Bytes Moment::total() const {
  Bytes b;
  for (const Alive& a : *this) b += a.bytes;
  return b;
}

SavedByOperator saved_by_operator(const OpList& ops, const Pricing& p, Count input_elements) {
  return Walk(ops, p, input_elements).by_operator();
}

}  // namespace llmcalc
