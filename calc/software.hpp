#pragma once
/// Software makes a step or a pass take longer than its operators must: kernels move more bytes, the host needs time to
/// start them, and some exchanges are not hidden. Every field's default leaves its term out.

#include "calc/units.hpp"

namespace llmcalc {

/// Kernels that an operator is, in one direction; 1 where it is fused.
struct KernelCounts {
  double naive_core = 1;  ///< attention's core with stored scores: two products, scale, mask, softmax, dropout
  double norm = 1, rope = 1, route = 1;
  constexpr bool operator==(const KernelCounts&) const = default;
};

struct Software {
  // Bytes that kernels move over those that calc/cost/cost.hpp counts.
  double elementwise = 1;  ///< of element-wise operators, lookups, losses
  double norm = 1;         ///< of norms
  double scores = 1;       ///< of attention's stored scores
  double permuted = 1;     ///< of tokens on their way to experts and back: routing, dispatch, combination
  KernelCounts kernels{};
  bool loops_experts = false;  ///< a product of experts is a kernel for each expert that has tokens
  double experts = 1;          ///< share of a product's rate that products of experts keep
  double naive_products = 1;   ///< share of a product's rate that those of a naive core keep
  // Seconds of the host, which runs beside the device.
  Seconds kernel{};      ///< to put a kernel on the device
  Seconds collective{};  ///< to start a collective, for each tensor-parallel rank
  Seconds step{};        ///< of a step, or of a pass of inference, that overlaps nothing: data, clipping, sampling
  // Fractions of what can be hidden.
  double hidden_tensor = 0;      ///< of tensor-parallel exchanges, beside the products that they belong to
  double hidden_by_weights = 0;  ///< of those in backward that gradients of weights do not wait for, beside these
  double hidden_beside = 1;      ///< of exchanges beside work that does not wait for them
  /// Shares of the time of a message between stages that its sender and receiver wait, in each slot of a chunk: without
  /// and with several chunks per rank. 0: messages travel beside all work.
  double waits_to_send = 0, waits_to_send_chunks = 0;
  constexpr bool operator==(const Software&) const = default;
};

}  // namespace llmcalc
