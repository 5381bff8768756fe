#pragma once
/// Offload: parts of the training state are in host memory (Plan::offload) and move over the device's link to the host.
///
///   optimizer    A fraction of the states of the rank's shard is on the host, which also computes their updates. The
///                same fraction of the gradients goes to the host, and of the updated weights to the device.
///                ZeRO 0 and 1: the device keeps the gradients of a step. They go to the host once per step, layer by
///                layer as soon as they are reduced, overlapped with the last backward, into separate buffers on the
///                host (Megatron's --optimizer-cpu-offload with --optimizer-offload-fraction, which starts them after
///                backward). From ZeRO 2 on: a shard's gradients reside on the host and are sent in every micro-batch
///                (ZeRO-Offload, arXiv:2101.06840, section 4; PyTorch FSDP2's CPUOffloadPolicy). ZeRO 2 in a pipeline
///                sends them once per step, when the whole gradients are reduced. Device and host update their parts
///                concurrently, once all ranks' gradients are summed; weights go to the device while the host works on
///                the rest (arXiv:2101.06840, section 5; Megatron's --overlap-cpu-optimizer-d2h-h2d). Without a master
///                copy the host holds the weights that it updates. Excludes one-step delayed updates and the host's
///                accumulation of gradients over micro-batches.
///   activations  A fraction of the bytes that every layer saves for backward (of its input, if recomputed) goes to the
///                host during the layer's forward and returns during its backward. The fraction applies to every layer
///                rather than to some layers: an even load, which overlaps best. The device holds the rest, plus the
///                bytes of one layer in transit. Tensors saved by embedding and head stay on the device. Sources:
///                PyTorch's save_on_cpu; TransformerEngine's get_cpu_offload_context, which also spreads the transfers
///                of whole layers.
///   weights      A fraction of the rank's weights is fetched for forward; under ZeRO-3, a fraction of its shard, which
///                is then gathered from the devices. Weights of layers are fetched again for backward. Weights of
///                embedding and head are not: the lookup's gradient does not read the table, and the head's backward
///                directly follows its forward. A recomputed layer uses one fetch for both passes. Without resharding,
///                ZeRO-3 keeps the gathered weights and fetches once. The device holds the running layer and the next.
///                If the host holds more weights than it updates, the device sends its updated weights there. Excludes
///                sending other ranks' gathered weights to the host under ZeRO 1 and 2. Source: ZeRO-Infinity
///                (arXiv:2104.07857), sections 5 and 6.
///
/// Each direction has the link's full bandwidth. A layer's transfers overlap with its own work; max(0, transfer - work)
/// and (1 - hidden) min(transfer, work) are exposed. The link's latency counts as 0.

#include "calc/memory.hpp"

namespace llmcalc {

/// Moves offloaded bytes from the device to the host and adds bytes in transit. Precondition: `m` already excludes
/// offloaded activations.
void move_to_host(Memory& m, const HeldSums& sums, const StageAlive& alive, const Plan& plan, const Layout& layout);

/// Bytes of a row that are transferred between the device and the host.
struct RowTravel {
  Bytes weights{}, backward_weights{};  ///< bytes sent to the device, for forward and for backward
  Bytes activations{};                  ///< bytes sent to the host and back
  Bytes gradients{};                    ///< bytes sent to the host
};
/// `recomputes`: whether RecomputeMethod::block recomputes the layer.
RowTravel row_travel(const LayerPrice& row, const Plan& plan, const Layout& layout, bool recomputes);

/// Whether gradients go to the host in every micro-batch.
inline bool sends_every_gradient(const Layout& layout) {
  return layout.zero >= Zero::gradients && !accumulates_gradients(layout);
}

/// Whether the host can compute updates: only if the optimizer has states but no matmuls (Muon's are too slow on the
/// host).
bool updates_on_host(const Plan& plan);

/// Seconds to update a rank's states on the device and on the host, and to transfer the weights that the host
/// updated.
struct UpdateSeconds {
  Seconds device, host, weights;
  /// Time from the end of gradient reduction until this rank's updated weights are in place. The host receives its
  /// gradients `late` seconds after the end of the reduction.
  Seconds total(Seconds late, double hidden) const;
};
UpdateSeconds update_seconds(const States& updated, const Plan& plan, const Rates& rates);

}  // namespace llmcalc
