#pragma once
/// Offload: parts of what training holds lie in the host's memory (Plan::offload) and travel over the device's way
/// there.
///
///   optimizer    A fraction of the states of the rank's shard, and of its updates, which the host computes in its own
///                memory. Of the gradients that fraction goes down, of the updated weights up.
///                ZeRO 0 and 1: the device keeps the gradients of a step, and they go down once per step, a layer's as
///                soon as they are reduced, beside the last backward, into buffers beside the host's states (Megatron's
///                --optimizer-cpu-offload with --optimizer-offload-fraction, which starts them after backward). From
///                ZeRO 2: the gradients of a shard have their place on the host, and go there in every micro-batch
///                (ZeRO-Offload, arXiv:2101.06840, section 4; PyTorch FSDP2's CPUOffloadPolicy). ZeRO 2 in a pipeline
///                sends them once per step, when the whole gradients are reduced. Device and host update
///                their parts side by side, once all ranks' gradients are summed; weights go up while the host works on
///                the rest (arXiv:2101.06840, section 5; Megatron's --overlap-cpu-optimizer-d2h-h2d). Without a master
///                copy the host holds the weights that it updates. Left out: one-step delayed updates, and the host's
///                additions of gradients of several micro-batches.
///   activations  A fraction of the bytes that every layer keeps for backward (of its input, where it runs again) goes
///                down beside the layer's forward and comes up beside its backward. Of every layer's bytes rather than
///                of some layers: that is the even load, which hides best. The device holds the rest, and one layer's
///                on their way. What embedding and head keep stays. Sources: PyTorch's save_on_cpu; TransformerEngine's
///                get_cpu_offload_context, which spreads the transfers of whole layers likewise.
///   weights      A fraction of the rank's weights (under ZeRO-3 of its shard, which is gathered from the devices)
///                comes up for forward, and a layer's again for backward: the lookup's gradient reads no table, the
///                head's backward follows its forward. A layer that runs again has them for both passes. Without
///                resharding ZeRO-3 keeps what it gathered, and they come once. The device holds the layer that runs
///                and the next. Where more weights than updates lie on the host, the device's updates go down. Left
///                out: under ZeRO 1 and 2, that weights gathered from other ranks go down too. Source: ZeRO-Infinity
///                (arXiv:2104.07857), sections 5 and 6.
///
/// Up and down have the link's bandwidth each. A layer's transfers run beside its own work; exposed are
/// max(0, transfer - work) and (1 - hidden) min(transfer, work). Latencies of the link count as 0.

#include "calc/memory.hpp"

namespace llmcalc {

/// Takes what lies on the host from the memory of a device that holds all but activations, and adds what is on its way.
void move_to_host(Memory& m, const HeldSums& sums, const StageAlive& alive, const Plan& plan, const Layout& layout);

/// Bytes of a row that travel.
struct RowTravel {
  Bytes weights{}, weights_again{};  ///< up, for forward and for backward
  Bytes activations{};               ///< down, and up again
  Bytes gradients{};                 ///< down
};
/// `runs_again`: the layer is one of those that recomputation of a block runs again.
RowTravel row_travel(const LayerPrice& row, const Plan& plan, const Layout& layout, bool runs_again);

/// Whether gradients go to the host in every micro-batch.
inline bool sends_every_gradient(const Layout& layout) {
  return layout.zero >= Zero::gradients && !accumulates_gradients(layout);
}

/// Whether the host can do updates: the optimizer has states, and no products for which the host is too slow (Muon's).
bool updates_on_host(const Plan& plan);

/// Seconds of updating a rank's states: on the device; on the host; and of the weights that then travel.
struct UpdateSeconds {
  Seconds device, host, weights;
  /// From when gradients are summed everywhere until this rank's weights are updated and where they belong; the host
  /// has its gradients `late` after that.
  Seconds total(Seconds late, double hidden) const;
};
UpdateSeconds update_seconds(const States& updated, const Plan& plan, const Rates& rates);

}  // namespace llmcalc
