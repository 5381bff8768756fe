#pragma once
/// Software overheads, which make a step or a pass slower than the sum of its operators: kernels move more bytes, the
/// host takes time to launch them, and some communication is exposed. Defaults disable all overheads.

#include "calc/units.hpp"

namespace llmcalc {

/// Number of kernels per operator in one direction; 1 if fused.
struct KernelCounts {
  double naive_core = 1;  ///< attention core with stored scores: two matmuls, scale, mask, softmax, dropout
  double norm = 1, rope = 1, route = 1;
  double scan = 1;  ///< linear attention over the chunks of a prompt
  constexpr bool operator==(const KernelCounts&) const = default;
};

struct Software {
  // Ratios of bytes moved by kernels to bytes counted in calc/cost/cost.hpp.
  double elementwise = 1;  ///< byte ratio of element-wise operators, lookups and losses
  double norm = 1;         ///< byte ratio of norms
  double scores = 1;       ///< byte ratio of stored attention scores
  double permuted = 1;     ///< byte ratio of routing, dispatch and combination, which move tokens to and from experts
  KernelCounts kernels{};
  bool loops_experts = false;  ///< whether an expert matmul launches one kernel per expert that has tokens
  double experts = 1;          ///< fraction of the matmul rate that expert matmuls reach
  double naive_products = 1;   ///< fraction of the matmul rate that the matmuls of a naive attention core reach
  // Seconds of the host (CPU), which runs concurrently with the device.
  Seconds kernel{};      ///< time to launch a kernel
  Seconds collective{};  ///< time to start a collective, per tensor-parallel rank
  Seconds step{};        ///< time per training step or inference pass, not overlapped: data, clipping, sampling
  Seconds sequence{};    ///< time per sequence of an inference pass, not overlapped: scheduling, sampling, output
  // Hidden fractions of overlappable communication.
  double hidden_tensor = 0;      ///< fraction of tensor-parallel communication hidden by the matmul whose input or
                                 ///< result it transfers
  double hidden_by_weights = 0;  ///< fraction of tensor-parallel communication hidden by independent weight gradients
                                 ///< in backward
  double hidden_experts = 0;     ///< fraction of expert-parallel communication hidden by another micro-batch's work
  double hidden_overlapped = 1;  ///< fraction of all other communication hidden by work that does not depend on it
  /// Fractions of the time of an inter-stage message during which sender and receiver stall, per chunk slot: with one
  /// chunk per rank, and with several. 0: messages are fully overlapped.
  double waits_to_send = 0, waits_to_send_chunks = 0;
  constexpr bool operator==(const Software&) const = default;
  /// Overhead of an inference pass over a number of sequences.
  constexpr Seconds pass(Count sequences) const { return step + static_cast<double>(sequences) * sequence; }
};

}  // namespace llmcalc
