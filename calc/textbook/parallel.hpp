#pragma once
/// Closed forms of parallelism: bytes that a rank sends in ring collectives, and pipeline schedules.

#include <cstdint>

#include "calc/textbook/exact.hpp"

namespace llmcalc::textbook {

// ---- Bytes sent per rank

/// Bytes sent for tensor parallelism, for one layer and micro-batch. Forward: two all-reduces of B S D p (one in a
/// parallel block), each sending 2 (T-1)/T of these bytes. Backward sends the same amount, and full recomputation
/// repeats forward. With sequence parallelism each all-reduce becomes an all-gather and a reduce-scatter with the
/// same total, and backward re-gathers the saved inputs.
struct TensorParallelLayer {
  Count batch = 1, seq = 0, hidden = 0, precision = 2, ranks = 1;
  bool sequence_parallel = false, parallel_block = false, regather = true;
};
Fraction tensor_parallel_forward(const TensorParallelLayer& l);
Fraction tensor_parallel_train(const TensorParallelLayer& l, bool full_recompute = false);

/// Methods of context parallelism and their bytes for one layer; S is the whole sequence, KV = 2 B S G d_h p.
///   ring (arXiv:2310.01889)       forward (c-1)/c KV; backward the same, plus KV to return the gradients
///   all-gather (arXiv:2407.21783) forward (c-1)/c KV; backward twice that
///   Ulysses (arXiv:2309.14509)    forward 2 (A+G) d_h (BS/c) p (c-1)/c; backward the same; c divides the heads
enum class ContextMethod : std::uint8_t { ring, all_gather, ulysses };
struct ContextParallelLayer {
  Count batch = 1, seq = 0, heads = 0, kv_heads = 0, head_dim = 0, precision = 2, ranks = 1;
};
Fraction context_parallel_forward(const ContextParallelLayer& l, ContextMethod method);
Fraction context_parallel_train(const ContextParallelLayer& l, ContextMethod method);

/// Bytes sent for expert parallelism, for one layer with balanced routing: tokens k D (e-1)/e (p_dispatch + p_combine)
/// in each direction.
Fraction expert_parallel_forward(Count tokens_per_rank, Count hidden, Count top_k, Count ranks, Count dispatch_bytes,
                                 Count combine_bytes);

/// Bytes of data parallelism, one optimizer step of m micro-batches, N parameters per rank (arXiv:1910.02054):
///   ZeRO-0  2 (d-1)/d N p_g           ZeRO-1  (d-1)/d N (p_g + p_w)
///   ZeRO-2  (d-1)/d N (m p_g + p_w)   ZeRO-3  (d-1)/d N m (2 p_w + p_g)
/// In a pipeline ZeRO-2 accumulates and reduces once, like ZeRO-1.
Fraction data_parallel_step(Count params, Count ranks, int stage, Count weight_bytes, Count gradient_bytes,
                            Count micro_batches);

/// Bytes that a rank sends in a pipeline step: activations forward and gradients back, 2v messages per micro-batch in a
/// middle stage, 2v - 1 in the first and last; divided by T if scattered (or with sequence parallelism).
Fraction pipeline_step(Count batch, Count seq, Count hidden, Count precision, Count micro_batches, Count interleaved,
                       bool end_stage, Count scattered_over = 1);

// ---- Pipelines. t_b is the whole backward time, t_w its weight-gradient part; each rank has v chunks of the model

enum class Schedule : std::uint8_t { gpipe, one_f_one_b, interleaved, zb_h1, zb_h2, dualpipe };

/// Micro-batches in flight on rank r at its peak, in units of the activations of a stage of L/P layers:
///   GPipe m; 1F1B min(m, P - r); interleaved min(mv, 2(P-r-1) + (v-1)P + 1)/v;
///   worst rank of ZB-H1 P, ZB-H2 2P - 1, DualPipe P + 1 (arXiv:2401.10241; DualPipe's README), at most m.
Fraction in_flight(Schedule schedule, Count ranks, Count micro_batches, Count rank, Count interleaved = 1);
/// First-stage activations of the interleaved schedule relative to those of 1F1B: 1 + (P-1)/(Pv) (Korthikanti et al.
/// 2022).
Fraction interleave_factor(Count ranks, Count interleaved);

/// Pipeline bubble: idle time relative to ideal time, (P-1)/(vm), or to total time, (P-1)/(vm + P - 1).
Fraction bubble_ratio(Count ranks, Count micro_batches, Count interleaved = 1, bool of_total = false);

/// Idle seconds per rank:
///   GPipe, 1F1B (P-1)(t_f + t_b); interleaved /v; ZB-H1 (P-1)(t_f + t_b - 2t_w); ZB-H2 (P-1)(t_f + t_b - 3t_w);
///   DualPipe (P/2 - 1)(t_fb + t_b - 3t_w), with t_fb the time of an overlapped forward and backward.
struct StageTimes {
  double forward = 0, backward = 0, weight_part = 0, overlapped = 0;
};
double bubble_seconds(Schedule schedule, Count ranks, const StageTimes& t, Count interleaved = 1);

/// Terms of the step time (m + (P-1)/v) (t_comp + (1 - overlap) t_comm) + (1 - dp_overlap) t_dp + t_opt.
struct StepTerms {
  double compute = 0, communication = 0, overlap = 0;  ///< seconds per micro-batch, forward and backward, on one rank;
                                                       ///< `overlap`: a fraction
  double data_parallel = 0, data_parallel_overlap = 0, optimizer = 0;
};
double step_seconds(const StepTerms& t, Count micro_batches, Count ranks, Count interleaved = 1);

}  // namespace llmcalc::textbook
