#pragma once
/// Seconds of a chunk of layers: forward and backward of a micro-batch, and the weight and gradient collectives that
/// overlap with them.

#include <span>

#include "calc/pipeline/chunk.hpp"
#include "calc/pipeline/times.hpp"
#include "calc/step/row_time.hpp"

namespace llmcalc {

/// Forward and backward of a micro-batch in a chunk, to be overlapped with another chunk's work.
struct PairedWork {
  Seconds forward, backward;                  ///< seconds, excluding expert collectives
  Seconds experts_forward, experts_backward;  ///< seconds of the expert collectives
};

/// Seconds of a micro-batch in a chunk, and of the once-per-step work before the first and after the last micro-batch.
struct ChunkSeconds {
  Seconds forward, backward_input, backward_weight;  ///< seconds, including stalls for weights and gradients
  Seconds waiting;    ///< the part of these seconds that is spent in stalls for weights and gradients
  Seconds sending{};  ///< stall in forward, and an equal one in backward, while inter-stage messages are sent
  // Exposed once per step, with full overlap:
  Seconds gathering;  ///< delay of the first forward, which waits for weights from the ranks that updated them
  Seconds reducing;   ///< time from the end of the last backward until all gradients are reduced
  // Duration of the once-per-step collectives without concurrent compute:
  Seconds gather;     ///< time of the all-gather of the weights, before the first forward
  Seconds reduction;  ///< time of the reduction of all gradients
  // Transfers of gradients to host memory, if they go there once per step:
  Seconds landing{};    ///< time from the end of the last backward until all gradients have arrived, with full overlap
  Seconds passing{};    ///< time from the start of the reductions until all gradients have arrived, if all are complete
                        ///< at the start
  Seconds down{};       ///< duration of the transfers without concurrent compute
  PairedWork paired{};  ///< times in paired slots; set if slots are paired and experts are divided over several ranks
};

/// Overlap of data-parallel collectives with layers, by ZeRO stage:
///   0      gradients are all-reduced during the last micro-batch's backward, layer by layer as they become ready;
///          schedules with separate weight gradients all-reduce them while computing weight gradients
///   1      the same with a reduce-scatter; updated weights are gathered during the next step's first forward, layer by
///          layer from the start of the step
///   2      on one stage, as stage 1 but in every micro-batch: all reductions but the last overlap with the next
///          micro-batch (DeepSpeed). In a pipeline, as stage 1: a step's gradients are accumulated unsharded
///          (accumulates_gradients) and reduced once
///   3      in every forward and backward, the next layer's weights are gathered while a layer runs; a layer's
///          gradients are reduced during the next layer's backward. Embedding and head form one unit, gathered once
///          per micro-batch; an MTP module is one unit, like a layer. Schedules with separate weight gradients
///          overlap gathers with input gradients, and reductions with weight gradients
/// Compute of `a` seconds overlapped with a collective of `b` seconds takes max(a, b) + (1 - hidden) min(a, b).
/// Gradients that go to host memory once per step are sent after their layer's reduction, layer by layer. Sources:
/// PyTorch DDP (arXiv:2006.15704), FSDP (arXiv:2304.11277); Megatron-Core's distributed optimizer. All
/// `micro_batches` micro-batches of the chunk get equal times, regardless of which ones stall.
ChunkSeconds chunk_seconds(const Prices& prices, const RowTimes& times, const Layout& layout, const ModelChunk& chunk,
                           Count micro_batches = 1);

/// Seconds of a paired slot: a forward of one chunk and a backward of another. DualPipe overlaps the expert
/// collectives of each with the work of the other (arXiv:2412.19437, 3.2.1). The slot takes the longer of work and
/// collectives plus the exposed part of the shorter, but at most the sequential time. Returns 0 if there are no
/// expert collectives.
Seconds paired_seconds(const ChunkSeconds& forward, const ChunkSeconds& backward, double hidden);

/// Times of a model chunk for the simulation of a pipeline. `other`: the rank's other chunk, if has_pairs(schedule).
ChunkTime chunk_time(const ChunkSeconds& chunk, const ChunkSeconds& other, Schedule schedule, double hidden);

}  // namespace llmcalc
