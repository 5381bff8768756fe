#pragma once
/// Seconds of a chunk of layers: forward and backward of a micro-batch, and the exchanges of weights and gradients that
/// run beside them.

#include <span>

#include "calc/pipeline/chunk.hpp"
#include "calc/pipeline/times.hpp"
#include "calc/step/row_time.hpp"

namespace llmcalc {

/// A forward and a backward of a micro-batch in a chunk, as far as another chunk's work runs beside them.
struct PairedWork {
  Seconds forward, backward;                  ///< without exchanges with experts
  Seconds experts_forward, experts_backward;  ///< these exchanges
};

/// Seconds of a micro-batch in a chunk, and of what happens once per step before its first and after its last one.
struct ChunkSeconds {
  Seconds forward, backward_input, backward_weight;  ///< with the waits for weights and gradients
  Seconds waiting;                                   ///< these waits
  Seconds sending{};  ///< the part of forward, and as much of backward, that waits for messages between stages
  // Exposed once per step, with full overlap:
  Seconds gathering;  ///< delay of the first forward, which waits for weights from the ranks that updated them
  Seconds reducing;   ///< time from the end of the last backward until all gradients are summed
  // Duration of the same exchanges without any compute:
  Seconds gather;     ///< all-gather of the weights, before the first forward
  Seconds reduction;  ///< reduction of all gradients
  // Transfers of gradients to the host, where they go there once per step:
  Seconds landing{};    ///< time from the end of the last backward until all are there, with full overlap
  Seconds passing{};    ///< the same from when their reduction begins, if all of them are ready then
  Seconds down{};       ///< the transfers alone
  PairedWork paired{};  ///< where slots are paired and experts lie over ranks
};

/// How data-parallel exchanges run beside layers, by ZeRO stage:
///   0      gradients are all-reduced during the last micro-batch's backward, a layer at a time, as they are ready; in
///          schedules that compute gradients of weights apart, during its gradients of weights
///   1      the same, reduced and scattered; updated weights are gathered during the next step's first forward, one
///          layer after another from the step's begin on
///   2      on one stage as 1, in every micro-batch: all but the last one's run beside the next micro-batch
///   (DeepSpeed).
///          In a pipeline as 1: gradients of a step are accumulated whole (accumulates_gradients) and reduced once
///   3      weights are gathered in every forward and backward, the next layer's while one runs; gradients of a layer
///          are reduced during the next one's backward. Embedding and head are one unit, gathered once per micro-batch;
///          a module that predicts a further token is one like a layer. Schedules that compute gradients of weights
///          apart gather beside gradients of inputs, and reduce beside those of weights
/// Compute of a seconds that overlaps an exchange of b seconds takes max(a, b) + (1 - hidden) min(a, b) with it.
/// Gradients that go to the host once per step follow their layer's reduction, one layer after another.
/// Sources: PyTorch DDP (arXiv:2006.15704), FSDP (arXiv:2304.11277); Megatron-Core's distributed optimizer.
/// The `micro_batches` that run in the chunk take equal times, whichever of them wait.
ChunkSeconds chunk_seconds(const Prices& prices, const RowTimes& times, const Layout& layout, const ModelChunk& chunk,
                           Count micro_batches = 1);

/// Seconds of a paired slot, of a forward of one chunk and the backward of another: DualPipe has the exchanges with
/// experts of each beside the work of the other (arXiv:2412.19437, 3.2.1). Both together take the longer of all work
/// and all exchanges, and what is not hidden of the shorter; no longer than one after the other. 0: nothing to hide.
Seconds paired_seconds(const ChunkSeconds& forward, const ChunkSeconds& backward, double hidden);

/// Model chunk q of a pipeline, for its simulation.
ChunkTime chunk_time(std::span<const ChunkSeconds> chunks, Count q, Schedule schedule, double hidden);

}  // namespace llmcalc
