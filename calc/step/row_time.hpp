#pragma once
/// Seconds of the rows of a price list on a cluster: the work of each row, the collectives that this work waits for,
/// and the collectives of weights and gradients across data-parallel ranks.

#include <algorithm>
#include <span>

#include "calc/pipeline/chunk.hpp"
#include "calc/spent.hpp"
#include "calc/step/assemble.hpp"

namespace llmcalc {

/// Times of one micro-batch in one layer of a kind, or in the embedding or head.
struct RowTime {
  Spent forward, backward_input, backward_weight;  ///< backward_input includes recomputation
  Seconds gather;                                  ///< time to gather its weights from the ranks that shard them
  Seconds reduce;  ///< time to reduce its gradients across all ranks that hold the same weights
  Seconds down{};  ///< time to move its gradients to host memory, once per step
  Seconds experts_forward{}, experts_backward{};  ///< time of all its expert collectives, if the schedule pairs slots
  constexpr Seconds backward() const { return backward_input.total() + backward_weight.total(); }
};

struct RowTimes {
  InplaceVector<RowTime, most_rows> rows;
  /// Times of recomputed layers under RecomputeMethod::block; otherwise empty.
  InplaceVector<RowTime, most_rows> recomputed{};
  Count first_recomputed = 0;  ///< number of layers recomputed at the start of each chunk
  Count modules = 0;           ///< number of MTP modules; the last three rows are their parts
  double hidden = 1;           ///< hidden fraction of gathers and reductions
  bool lands = false;          ///< whether gradients go to host memory once per step
  /// Time that a slot stalls while its message to or from the next stage is sent: with one chunk per rank, and with
  /// several.
  Seconds send{}, send_of_chunks{};
  const RowTime& embedding() const { return rows[0]; }
  const RowTime& layer(std::size_t kind) const { return rows[1 + kind]; }
  const RowTime& layer(std::size_t kind, bool recomputes) const { return (recomputes ? recomputed : rows)[1 + kind]; }
  const RowTime& head() const { return *(rows.end() - mtp().size() - 1); }
  /// The input, layer and head of one MTP module, or an empty span.
  std::span<const RowTime> mtp() const { return {rows.end() - (modules > 0 ? 3 : 0), rows.end()}; }
  /// Calls f(row, n) for each kind of layer with n layers in the chunk, separately for recomputed layers.
  template <typename F>
  void for_each_kind(const LayerKinds& kinds, const ModelChunk& c, const F& f) const {
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      const Count n = layers_in(kinds[k], c);
      const Count of_block = first_recomputed > 0 ? layers_in(kinds[k], first_layers(c, first_recomputed)) : 0;
      if (of_block > 0) f(layer(k, true), of_block);
      if (n > of_block) f(layer(k), n - of_block);
    }
  }
  /// Seconds of a micro-batch in a chunk, forward and backward, by part.
  Spent spent_in(const LayerKinds& kinds, const ModelChunk& c) const;
  /// Calls f(row, n) for every run of n equal consecutive layers, from first to last.
  template <typename F>
  void for_each_run_of(const LayerKinds& kinds, const ModelChunk& c, const F& f) const {
    for_each_run(kinds, first_layers(c, first_recomputed), [&](std::size_t k, Count n) { f(layer(k, true), n); });
    for_each_run(kinds, behind_first(c, first_recomputed), [&](std::size_t k, Count n) { f(layer(k), n); });
  }
};

enum class Efficiency : std::uint8_t { full, estimated };
constexpr const Rates& rates_of(const Prices& prices, Efficiency e) {
  return e == Efficiency::full ? prices.bound_rates : prices.estimated_rates;
}

/// Seconds to send a micro-batch's activations from one stage to the next, or its gradients back. Without sequence
/// parallelism, tensor-parallel ranks hold the same activations: each rank sends a part over its own share of the
/// network, and the receivers gather the parts (Megatron-LM, arXiv:2104.04473, section 4.1).
Seconds send_seconds(const Prices& prices, const Layout& layout, const Cluster& cluster, Efficiency e);

/// Seconds of the ring of c context-parallel ranks in one direction of a layer (arXiv:2310.01889). Attention's core
/// runs in c steps, one for the keys and values of each rank. A rank passes on a block of keys and values during every
/// step but the last, and in backward the block's gradients during every step but the first: c - 1 messages of each
/// overlap with c - 1 steps. The last message returns the gradients to their rank without overlap. Not modeled: the
/// first and the last step of backward overlap with one message each, not two; steps may have unequal work.
struct RingTime {
  Seconds passing;  ///< time of the messages that overlap with the attention core
  Seconds core;     ///< time of the attention core's steps that overlap with these messages
  Seconds home;     ///< time of the last message, which returns the gradients to their rank
  constexpr Seconds exposed(double hidden, double hidden_at_home) const {
    const Seconds longer = std::max(Seconds(), passing - core), both = std::min(passing, core);
    return longer + (1 - hidden) * both + (1 - hidden_at_home) * home;
  }
};
constexpr bool passes_round(const CollectiveCall& e) { return e.group == Group::context && e.op == CollectiveOp::p2p; }
/// `all`: seconds of all messages of a ring of `ranks` ranks. `core`: seconds of the whole attention core. In
/// backward, gradients return to their own rank.
RingTime ring_time(const CollectiveCall& e, Seconds all, Seconds core, Count ranks, bool backward);

/// Fraction of a tensor-parallel collective in backward that only weight gradients wait for; 0 for other groups. All
/// gradients need the keys and values that context-parallel ranks gather.
double for_weights(const CollectiveCall& e);

/// Seconds of collectives between the ranks of a layout, at the rates that links reach. If the time of a kind of
/// collective is linear in messages and bytes, its rates are computed once, on first use.
class Links {
 public:
  Links(const Layout& layout, const Cluster& cluster, const LinkRates& reached)
      : layout_(layout), cluster_(cluster), reached_(reached) {}
  Seconds operator()(const CollectiveCall& e) {
    if (!is_linear(e.op, layout_.collectives)) return communication_time(e, layout_, cluster_, reached_).total();
    const CommunicationTime& one = of_one(e);
    return static_cast<double>(e.messages) * one.waits + static_cast<double>(e.bytes.value) * one.transfer;
  }

 private:
  struct Kind {
    Group group = Group::tensor;
    CollectiveOp op = CollectiveOp::all_reduce;
    CommunicationTime one{};  ///< time per message, and per byte
  };
  const CommunicationTime& of_one(const CollectiveCall& e);
  const Layout& layout_;
  const Cluster& cluster_;
  LinkRates reached_;
  InplaceVector<Kind, 8 * group_count> kinds_;
};

/// Times of all rows, in the order of the price list. Gradients of sharded states (ZeRO) are reduce-scattered, and
/// weights are gathered; without sharding, gradients are all-reduced. Each row sends one message (one bucket per
/// layer). Gradients travel in the plan's gradient format, weights in the training format. The head's gradients
/// include the gradients of a copy of the token embedding, if the last stage has one. Sources: ZeRO
/// (arXiv:1910.02054); PyTorch FSDP (arXiv:2304.11277), whose hybrid sharding also all-reduces each shard across the
/// replicas. Host transfers in every micro-batch are exposed as in calc/training/offload.hpp. In backward they are
/// part of backward_input; with separate weight gradients, each transfer counts with the gradients that it overlaps
/// with. If a fraction `hidden` of an e-second collective inside a layer can overlap with the layer's w seconds of
/// work, e - hidden min(w, e) seconds are exposed; each further collective overlaps with the work that no previous
/// collective overlaps with.
RowTimes row_times(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster, Efficiency e);
RowTimes row_times(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster, Links& links,
                   Efficiency e);

/// Seconds of a row's forward work that backward recomputes, if any; part of backward_input.
Spent recompute_time(const LayerPrice& row, const Prices& prices, const Plan& plan, const Layout& layout, Links& links,
                     Efficiency e);

}  // namespace llmcalc
