#pragma once
/// Matrices that are fused in a family's files. Fusion does not affect parameter counts. It does affect bytes, if a
/// format has overhead per matrix, and the types that llama-quantize chooses.

#include <cstdint>
#include <string_view>

namespace llmcalc {

/// Storage of a gated DeltaNet's projections.
enum class DeltaMatrices : std::uint8_t {
  qkv,        ///< queries, keys and values in one matrix (Qwen3.5)
  with_gate,  ///< queries, keys, values and gate in one matrix, the two per-head projections in another (Qwen3-Next)
  apart       ///< separate matrices (OLMo hybrid)
};

struct FusedMatrices {
  bool qkv = false;            ///< whether queries, keys and values of attention share one matrix
  bool lightning_qkv = false;  ///< whether queries, keys and values of lightning attention share one matrix
  bool split_in_gguf = false;  ///< whether the conversion to GGUF splits attention's fused matrix
  bool gate_up = false;   ///< whether a gated MLP's two input matrices are stored as one; experts store them separately
  bool own_gate = false;  ///< whether attention's per-channel gate is a separate matrix, not fused with the queries
  DeltaMatrices delta = DeltaMatrices::qkv;
};

/// Fused matrices of the family with this model_type. Unknown families store all matrices separately.
FusedMatrices fused_matrices(std::string_view family);

}  // namespace llmcalc
