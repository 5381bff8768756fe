#include "calc/liveness.hpp"

#include <algorithm>
#include <array>

#include "calc/cost.hpp"

namespace llmcalc {
namespace {

constexpr std::size_t max_tensors = 128;

class Walk {
 public:
  Walk(const OpList& ops, const Pricing& p, Count input_elements, bool without_core)
      : ops_(ops), p_(p), without_core_(without_core) {
    size_[block_input] = bytes_of(p.activation, input_elements);
    for (std::size_t i = 0; i < ops.size(); ++i) read(i);
    if (!p.training()) return;
    for (const Op& op : ops)  // the logits' bytes are a convention of their own (logits_bytes)
      if (std::holds_alternative<Loss>(op.shape)) size_[op.in[0]] = {};
    for (std::size_t i = 0; i < ops.size(); ++i) mark_needs(i);
  }

  Liveness run() {
    r_.input = size_[block_input];
    r_.keeps_input = needed_[block_input];
    r_.output = size_[result()];
    forward_pass();
    if (p_.training()) backward_pass();
    return r_;
  }

 private:
  void read(std::size_t i) {
    const Op& op = ops_[i];
    for (const TensorId t : op.in)
      if (t != no_tensor) last_use_[t] = i;
    if (op.in_place()) return;
    size_[op.out] = bytes_of(p_.activation, out_elements(op.shape));
    producer_[op.out] = i;
    last_use_[op.out] = i;
  }

  /// Gathered tensors are gathered again and recomputed products made again: their sources are kept instead.
  void need(TensorId t, std::size_t by) {
    if (t == no_tensor) return;
    if (t != block_input) {
      const Op& maker = ops_[producer_[t]];
      if (std::holds_alternative<Collective>(maker.shape) && size_[t] != Bytes() && is_gather(maker))
        return need(maker.in[0], by);
      const Pointwise* p = std::get_if<Pointwise>(&maker.shape);
      if (p && p->kind == PointwiseKind::gate && p_.glu_store == GluStore::recompute) return;
      if (std::holds_alternative<Collective>(maker.shape) && size_[t] == Bytes()) return need(maker.in[0], by);
    }
    if (!needed_[t]) first_need_[t] = by;
    needed_[t] = true;
  }
  static bool is_gather(const Op& op) {
    const Collective& c = std::get<Collective>(op.shape);
    return c.forward_on && c.forward == CollectiveOp::all_gather;
  }
  void mark_needs(std::size_t i) {
    const Op& op = ops_[i];
    const Needs n = needs(op.shape, p_);
    for (std::size_t k = 0; k < 3; ++k)
      if (n.in[k]) need(op.in[k], i);
    if (n.out) need(op.out, i);
  }

  Bytes own(const Op& op) const {
    if (!p_.training() || op.component == Component::position) return {};  // positions need no ids
    const bool core = std::holds_alternative<Attention>(op.shape);
    return core && without_core_ ? Bytes() : kept(op.shape, p_);
  }
  void raise(Bytes& mark, Bytes now) const { mark = std::max(mark, now); }
  TensorId result() const {
    for (std::size_t i = ops_.size(); i-- > 0;)
      if (!ops_[i].in_place()) return ops_[i].out;
    return block_input;
  }

  void forward_pass() {
    const TensorId last = result();
    Bytes live = size_[block_input];
    if (needed_[block_input]) r_.kept += size_[block_input];
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      const Op& op = ops_[i];
      if (!op.in_place()) {
        live += size_[op.out];
        if (needed_[op.out]) r_.kept += size_[op.out];
      }
      const Bytes mine = own(op);
      live += mine, r_.kept += mine;
      if (std::holds_alternative<Attention>(op.shape)) r_.core += kept(op.shape, p_);
      raise(r_.forward, live + scratch(op.shape, p_, false));
      for (const TensorId t : distinct(op))
        if (t != no_tensor && last_use_[t] == i && !needed_[t] && t != last) live -= size_[t];
    }
  }

  /// An operator's tensors, each once.
  static std::array<TensorId, 4> distinct(const Op& op) {
    std::array<TensorId, 4> r{op.in[0], op.in[1], op.in[2], op.out};
    for (std::size_t a = 0; a < 4; ++a)
      for (std::size_t b = a + 1; b < 4; ++b)
        if (r[a] == r[b]) r[b] = no_tensor;
    return r;
  }

  void backward_pass() {
    std::array<Bytes, max_tensors> gradient{};
    Bytes live = r_.kept;
    gradient[result()] = size_[result()];
    live += size_[result()];
    for (std::size_t i = ops_.size(); i-- > 0;) {
      const Op& op = ops_[i];
      live += backward_inputs(op, gradient);
      // A recomputed core's own tensors come back while it runs.
      const bool again = without_core_ && std::holds_alternative<Attention>(op.shape);
      raise(r_.backward, live + scratch(op.shape, p_, true) + (again ? kept(op.shape, p_) : Bytes()));
      if (!op.in_place()) live -= gradient[op.out], gradient[op.out] = {};
      live -= own(op);
      for (const TensorId t : distinct(op))
        if (t != no_tensor && needed_[t] && first_need_[t] == i) live -= size_[t];
    }
  }

  /// Gradients of the inputs that have none yet. A sum hands its own gradient on, and shares it with the branch.
  Bytes backward_inputs(const Op& op, std::array<Bytes, max_tensors>& gradient) const {
    if (op.in_place() || std::holds_alternative<Lookup>(op.shape)) return {};
    const Pointwise* p = std::get_if<Pointwise>(&op.shape);
    const bool sum = p && p->kind == PointwiseKind::add;
    if (sum && gradient[op.in[0]] == Bytes()) {
      gradient[op.in[0]] = gradient[op.out];
      gradient[op.out] = {};
      return {};
    }
    if (sum) return {};
    Bytes added;
    for (const TensorId t : distinct(op)) {
      if (t == no_tensor || t == op.out || gradient[t] != Bytes()) continue;
      gradient[t] = size_[t];
      added += size_[t];
    }
    return added;
  }

  const OpList& ops_;
  Pricing p_;
  bool without_core_;
  Liveness r_;
  std::array<Bytes, max_tensors> size_{};
  std::array<std::size_t, max_tensors> producer_{}, last_use_{}, first_need_{};
  std::array<bool, max_tensors> needed_{};
};

}  // namespace

Liveness liveness(const OpList& ops, const Pricing& p, Count input_elements, bool without_core) {
  return Walk(ops, p, input_elements, without_core).run();
}

}  // namespace llmcalc
