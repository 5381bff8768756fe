#pragma once
/// The price list of a model, computed in one walk over the operators of one rank: one row each for the embedding,
/// every kind of layer, the head, and the parts of MTP modules. A row has all values that depend on shapes: FLOPs,
/// bytes, seconds of compute, saved tensors and communication. Memory and time are arithmetic on the rows
/// (memory.hpp, train.hpp, infer.hpp) and do not walk the operators.

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <vector>

#include "calc/block/program.hpp"
#include "calc/cluster.hpp"
#include "calc/cost/held.hpp"
#include "calc/links/collective_call.hpp"
#include "calc/operator/liveness.hpp"
#include "calc/roofline.hpp"

namespace llmcalc {

/// Seconds of matmuls, attention cores and all other operators, excluding launches.
struct WorkTime {
  Seconds matmul, attention, elementwise;
};

/// Cost and time of one direction of one layer on one rank; communication is listed separately.
struct PassPrice {
  Cost cost;
  Time bound;                          ///< time at the datasheet's rates; under Roofline::step, counts only FLOPs
  Time estimate;                       ///< time at measured or stated efficiencies; empty if unknown
  WorkTime bound_work, estimate_work;  ///< breakdowns of `bound` and `estimate`
  double kernels = 0;                  ///< number of kernels that the software launches; only for the estimate
  CollectiveCalls collectives;
};

/// FLOPs of a pass by part of the model.
struct Work {
  Flops linear{};  ///< FLOPs of projections, MLPs, routers, absorbed projections and linear attention
  Flops core{};    ///< FLOPs of attention scores and of their matmul with the values
  Flops head{};    ///< FLOPs of the language-model head
  constexpr Flops total() const { return linear + core + head; }
  constexpr Work& operator+=(const Work& o) {
    linear += o.linear;
    core += o.core;
    head += o.head;
    return *this;
  }
};
constexpr Work operator*(Count n, const Work& w) { return {n * w.linear, n * w.core, n * w.head}; }

/// FLOPs of the whole model, before sharding.
struct WholeFlops {
  Work forward;
  Flops backward{}, recomputed{};  ///< model FLOPs of backward and of recomputation
  Flops executed{};                ///< FLOPs executed by the kernels in forward, backward and recomputation
  Flops executed_recompute{};      ///< the part of `executed` due to recomputation
  constexpr WholeFlops& operator+=(const WholeFlops& o) {
    forward += o.forward;
    backward += o.backward;
    recomputed += o.recomputed;
    executed += o.executed;
    executed_recompute += o.executed_recompute;
    return *this;
  }
};
constexpr WholeFlops operator*(Count n, const WholeFlops& w) {
  return {n * w.forward, n * w.backward, n * w.recomputed, n * w.executed, n * w.executed_recompute};
}

/// Time of Muon's Newton-Schulz iterations for a layer's matrices, once per step, on a rank that has whole matrices.
struct Orthogonalizing {
  struct Clocked {
    Time all;         ///< time of all matrices in sequence
    Seconds longest;  ///< time of the largest matrix
    constexpr Clocked& operator+=(const Clocked& o) {
      all += o.all;
      longest = std::max(longest, o.longest);
      return *this;
    }
  };
  Clocked bound, estimate;
  Count cut = 0;  ///< number of elements of matrices sharded across tensor-parallel ranks
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

/// Weights that a layer uses but that belong to another layer (Arch::repeats).
struct Borrowed {
  Count own = 0, experts = 0;  ///< numbers of elements outside expert-parallel experts, and in these experts
  Bytes weights{};
};

/// Price of one layer of a kind, of the embedding or of the head, for one micro-batch or inference pass on one rank.
struct LayerPrice {
  SegmentKind segment = SegmentKind::block;
  Count layers = 1;      ///< number of layers of this kind, or of MTP modules
  bool backward = true;  ///< whether backward passes through the row
  bool mtp = false;      ///< whether the row is part of an MTP module
  PassPrice forward{};
  PassPrice backward_input{}, backward_weight{};  ///< prices of the gradients; training only
  PassPrice recomputed{};                         ///< price of the forward work that backward recomputes
  WholeFlops whole{};
  Learned learned{};
  Learned experts{};  ///< the part of `learned` in expert-parallel experts
  Borrowed borrowed{};
  Learned tied{};       ///< head: parameters of the token embedding, if the head or an MTP module also uses it
  Bytes tied_frozen{};  ///< bytes of the token embedding if it is frozen
  Bytes weights{};
  Bytes frozen{}, frozen_experts{};  ///< bytes of frozen weights outside expert-parallel experts, and in these
                                     ///< experts
  CacheRow cache{};
  Bytes logits{};  ///< training: bytes of the logits of the head
  /// Bytes saved for the weight gradients of matmuls: output gradients, and inputs, each counted once. Gathered
  /// inputs count as shards.
  Bytes for_weights{};
  Liveness alive{};
  Count summed = 0;                        ///< number of elements whose gradients the tensor-parallel ranks all-reduce
  Orthogonalizing muon{}, muon_experts{};  ///< work on matrices outside expert-parallel experts, and in these experts
};

/// Maximum number of rows: the kinds of layer, the embedding, the head, and the three parts of an MTP module.
inline constexpr std::size_t most_rows = most_kinds + 5;

/// Rows in model order: stored in place up to a typical number, otherwise on the heap (Nemotron-NAS has a kind of
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
  InplaceVector<LayerPrice, 24> few_;
  std::vector<LayerPrice> many_;  // holds either all rows or none
};

/// Prices of a model under a plan and a layout.
struct Prices {
  PriceRows rows;
  LayerKinds kinds;
  WholeFlops whole;  ///< FLOPs of all layers
  /// Weight bytes of the rank's layers and of the plan's MTP modules, in each component's format.
  std::array<ComponentBytes, owner_count> weights;
  Rates bound_rates, estimated_rates;
  bool estimated = false, uniform = false;  ///< `uniform`: Rates::uniform() of the estimated rates
  const ComponentBytes& weights_of(Owner owner) const { return weights[static_cast<std::size_t>(owner)]; }
  const LayerPrice& embedding() const { return rows[0]; }
  const LayerPrice& layer(std::size_t kind) const { return rows[1 + kind]; }
  const LayerPrice& head() const { return rows[1 + kinds.size()]; }
  /// Input, layer and head of an MTP module; empty without modules. MTP modules are on the head's rank.
  std::span<const LayerPrice> mtp() const { return {rows.begin() + 2 + kinds.size(), rows.end()}; }
};

/// Prices of one micro-batch of training.
Prices price(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device);

/// FLOPs of one micro-batch of training or of one inference pass.
WholeFlops whole_flops(const Arch& arch, const Plan& plan, const Step& step, Phase phase);

/// Prices of one inference pass; `phase` selects its kernels and number formats. Weights and cache are counted for the
/// stored projections, even if latent attention is absorbed.
Prices price_pass(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device, const Step& step,
                  Phase phase);

/// Prices of a prefill with `tokens` prompt tokens in every sequence.
Prices price_prefill(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device, Count tokens);

/// Prices of the pass that generates the token at `context` (inclusive): a decode step, or the whole sequence without a
/// KV cache.
Prices price_decode(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device, Count context);

/// Prices of the last pass of the plan's generation: last_step(), or the whole sequence without a KV cache.
Prices price_last(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device);

/// The attention core of a kind of layer or of an MTP module, on one rank and in the whole model.
struct Core {
  Op op, whole;
  std::size_t row;  ///< index of its row in the prices
  Count layers;
  bool cut;     ///< whether `op` is a shard of `whole`
  Count other;  ///< number of context tokens that are not among the core's keys (the encoder's tokens)
};
using Cores = InplaceVector<Core, 2 * most_unlike + 2>;
/// Prices of a decode step, with the attention cores moved from the rows to `cores`. Liveness is computed at the
/// step's context.
Prices price_without_cores(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device,
                           const Step& step, Cores& cores);
/// Price of an attention core at another context.
struct CorePrice {
  PassPrice pass;
  Flops whole;  ///< model FLOPs of the whole model
};
CorePrice price_core(const Core& core, const Prices& prices, const Plan& plan, const Layout& layout, Count context);

/// An operator of one rank, with its segment.
struct OperatorRow {
  const Segment& segment;
  std::size_t index;  ///< index of the operator in segment.ops
  const Op& op;
  bool recomputed;  ///< whether its forward pass is recomputed in backward
};

/// Calls visit for every operator of one rank, for reports and checks.
void for_each_operator(const Arch& arch, const Plan& plan, const Layout& layout, const Step& step,
                       const std::function<void(const OperatorRow&)>& visit);

}  // namespace llmcalc
