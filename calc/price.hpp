#pragma once
/// The price list of a model: one walk over the operators of one rank, and a row for the embedding, every kind of layer
/// and the head, and for those of modules that predict further tokens. A row holds all that depends on shapes (FLOPs,
/// bytes, seconds of compute, kept tensors, exchanges); counting and scheduling rows is arithmetic on them: memory.hpp,
/// train.hpp, infer.hpp. Nothing else walks the operators.

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <vector>

#include "calc/block/program.hpp"
#include "calc/cluster.hpp"
#include "calc/cost/held.hpp"
#include "calc/links/exchange.hpp"
#include "calc/operator/liveness.hpp"
#include "calc/roofline.hpp"

namespace llmcalc {

/// Seconds of matrix products, of attention's cores and of all other operators, without launches.
struct WorkTime {
  Seconds matmul, attention, elementwise;
};

/// Cost and time of one direction of one layer on one rank, exchanges listed separately.
struct PassPrice {
  Cost cost;
  Time bound;     ///< at the datasheet's rates; under the roofline of a whole step, of the FLOPs alone
  Time estimate;  ///< at measured or stated efficiencies; empty where there are none
  WorkTime bound_work, estimate_work;  ///< parts of the two
  double kernels = 0;                  ///< that the estimate's software puts on the device
  Exchanges exchanges;
};

/// FLOPs of a pass by part of the model.
struct Work {
  Flops linear{};  ///< projections, MLPs, routers, absorbed projections, linear attention
  Flops core{};    ///< attention scores and their product with the values
  Flops head{};    ///< the language-model head
  constexpr Flops total() const { return linear + core + head; }
  constexpr Work& operator+=(const Work& o) {
    linear += o.linear;
    core += o.core;
    head += o.head;
    return *this;
  }
};
constexpr Work operator*(Count n, const Work& w) { return {n * w.linear, n * w.core, n * w.head}; }

/// FLOPs of the whole model, before it is cut over ranks.
struct WholeFlops {
  Work forward;
  Flops backward{}, again{};  ///< model FLOPs of backward, and of recomputation
  Flops executed{};           ///< by the kernels in forward, backward and recomputation
  Flops executed_again{};     ///< the part of it that recomputation does
  constexpr WholeFlops& operator+=(const WholeFlops& o) {
    forward += o.forward;
    backward += o.backward;
    again += o.again;
    executed += o.executed;
    executed_again += o.executed_again;
    return *this;
  }
};
constexpr WholeFlops operator*(Count n, const WholeFlops& w) {
  return {n * w.forward, n * w.backward, n * w.again, n * w.executed, n * w.executed_again};
}

/// Muon's Newton-Schulz iterations of a layer's matrices on a rank that has them whole, once per step.
struct Orthogonalizing {
  struct Clocked {
    Time all;         ///< one matrix after another
    Seconds longest;  ///< of the largest
    constexpr Clocked& operator+=(const Clocked& o) {
      all += o.all;
      longest = std::max(longest, o.longest);
      return *this;
    }
  };
  Clocked bound, estimate;
  Count cut = 0;  ///< numbers of matrices of which tensor-parallel ranks hold parts
  constexpr Orthogonalizing& operator+=(const Orthogonalizing& o) {
    bound += o.bound;
    estimate += o.estimate;
    cut = add(cut, o.cut);
    return *this;
  }
};
constexpr Orthogonalizing::Clocked operator*(Count n, const Orthogonalizing::Clocked& c) {
  return {static_cast<double>(n) * c.all, c.longest};
}
constexpr Orthogonalizing operator*(Count n, const Orthogonalizing& o) {
  return {n * o.bound, n * o.estimate, mul(n, o.cut)};
}

/// Weights of another layer that a layer works with (Arch::repeats): they are held there, and fetched here.
struct Borrowed {
  Count own = 0, experts = 0;  ///< numbers, those of experts that are divided over expert-parallel ranks apart
  Bytes weights{};
};

/// The price of one layer of one kind, the embedding or the head: one micro-batch or one inference pass on one rank.
struct LayerPrice {
  SegmentKind segment = SegmentKind::block;
  Count layers = 1;      ///< layers of this kind, or modules
  bool backward = true;  ///< whether backward passes through it
  bool mtp = false;      ///< of modules that predict further tokens
  PassPrice forward{};
  PassPrice backward_input{}, backward_weight{};  ///< training only
  PassPrice again{};                              ///< forward work that backward recomputes
  WholeFlops whole{};
  Learned learned{};
  Learned experts{};  ///< the part of `learned` that is divided over expert-parallel ranks
  Borrowed borrowed{};
  Learned tied{};       ///< of the head: the token table's, where the head or a module uses it too
  Bytes tied_frozen{};  ///< its bytes, where it is not trained
  Bytes weights{};
  Bytes frozen{}, frozen_experts{};  ///< of them, those that are not trained, without and of divided experts
  CacheRow cache{};
  Bytes logits{};  ///< logits of the head in training
  /// Kept for the products' weight gradients: inputs, each once, of gathered ones the shard, and gradients of results.
  Bytes for_weights{};
  Liveness alive{};
  Count summed = 0;                        ///< numbers whose gradients the tensor-parallel ranks sum
  Orthogonalizing muon{}, muon_experts{};  ///< without and of divided experts
};

/// The most rows: of the kinds of layer, the embedding, the head, and the three parts of a module.
inline constexpr std::size_t most_rows = most_kinds + 5;

/// Rows in the order of the model: in place up to a usual number, on the heap beyond it (Nemotron-NAS has a kind of
/// layer for each width of its MLPs).
class PriceRows {
 public:
  LayerPrice& push(const LayerPrice& row) {
    if (many_.empty() && few_.size() < few_.capacity) return few_.push(row);
    if (many_.empty()) many_.assign(few_.begin(), few_.end());
    return many_.emplace_back(row);
  }
  std::size_t size() const { return many_.empty() ? few_.size() : many_.size(); }
  bool empty() const { return size() == 0; }
  const LayerPrice* begin() const { return many_.empty() ? few_.begin() : many_.data(); }
  const LayerPrice* end() const { return begin() + size(); }
  LayerPrice* begin() { return many_.empty() ? few_.begin() : many_.data(); }
  LayerPrice* end() { return begin() + size(); }
  const LayerPrice& operator[](std::size_t i) const { return begin()[i]; }
  LayerPrice& operator[](std::size_t i) { return begin()[i]; }

 private:
  InPlace<LayerPrice, 24> few_;
  std::vector<LayerPrice> many_;  // all of them, or none
};

/// A model under a plan and a layout.
struct Prices {
  PriceRows rows;
  LayerKinds kinds;
  WholeFlops whole;  ///< of all layers
  /// Bytes of the rank's layers, and of the plan's modules, in each component's format.
  std::array<ComponentBytes, owner_count> weights;
  Rates bound_rates, estimated_rates;
  bool estimated = false, uniform = false;  ///< the estimated rates are Rates::uniform()
  const ComponentBytes& weights_of(Owner owner) const { return weights[static_cast<std::size_t>(owner)]; }
  const LayerPrice& embedding() const { return rows[0]; }
  const LayerPrice& layer(std::size_t kind) const { return rows[1 + kind]; }
  const LayerPrice& head() const { return rows[1 + kinds.size()]; }
  /// A module's input, layer and head; nothing where the plan has no modules. They lie with the head.
  std::span<const LayerPrice> mtp() const { return {rows.begin() + 2 + kinds.size(), rows.end()}; }
};

/// Prices of one micro-batch of training.
Prices price(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device);

/// FLOPs of one micro-batch of training or of one inference pass, and nothing else.
WholeFlops whole_flops(const Arch& arch, const Plan& plan, const Step& step, Phase phase);

/// Prices of one inference pass; `phase` selects its kernels and number formats. A rank holds the same weights and
/// cache however latent attention is computed: those of the projections as stored.
Prices price_pass(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device, const Step& step,
                  Phase phase);

/// Prices of a prompt of `tokens` tokens in every sequence.
Prices price_prefill(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device, Count tokens);

/// Prices of the pass that generates the token at `context`, which counts it: a decode step, or without a KV cache the
/// whole sequence.
Prices price_decode(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device, Count context);

/// Prices of the last pass of the plan's generation: that of last_step(), or without a KV cache the whole sequence.
Prices price_last(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device);

/// The attention core of a kind of layer or of a module, on one rank and of the whole model.
struct Core {
  Op op, whole;
  Count layers;
  bool cut;     ///< whether `op` is a part of `whole`
  Count other;  ///< tokens of the context that are not its keys: those of an encoder
};
using Cores = InPlace<Core, 2 * most_unlike + 2>;
/// Prices of a decode step with the attention cores in `cores` instead of the rows; liveness is that at the step's
/// context.
Prices price_without_cores(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device,
                           const Step& step, Cores& cores);
/// The price of a core at any other context.
struct CorePrice {
  PassPrice pass;
  Flops whole;  ///< model FLOPs of the whole model
};
CorePrice price_core(const Core& core, const Prices& prices, const Plan& plan, const Layout& layout, Count context);

/// One operator of one rank.
struct OperatorRow {
  const Segment& segment;
  std::size_t index;  ///< in segment.ops
  const Op& op;
  bool again;  ///< its forward pass runs again during backward
};

/// Visits every operator of one rank, to report or check it.
void for_each_operator(const Arch& arch, const Plan& plan, const Layout& layout, const Step& step,
                       const std::function<void(const OperatorRow&)>& visit);

}  // namespace llmcalc
