#pragma once
/// Matrices that a family's files store as one. Parameter counts do not depend on it. Bytes do, if a format has
/// overhead per matrix, as do the types that llama-quantize chooses.

#include <cstdint>
#include <string_view>

namespace llmcalc {

/// Storage of a gated DeltaNet's projections.
enum class DeltaMatrices : std::uint8_t {
  qkv,        ///< queries, keys and values in one matrix (Qwen3.5)
  with_gate,  ///< these and the gate in one matrix, both per-head values in another (Qwen3-Next)
  apart       ///< separate matrices (OLMo hybrid)
};

struct FusedMatrices {
  bool qkv = false;            ///< queries, keys and values of attention
  bool lightning_qkv = false;  ///< the same for lightning attention
  bool split_in_gguf = false;  ///< conversion to GGUF splits attention's matrix
  bool gate_up = false;        ///< both input matrices of a gated MLP; experts store them separately
  bool own_gate = false;       ///< attention's per-channel gate is a separate matrix, not one with the queries
  DeltaMatrices delta = DeltaMatrices::qkv;
};

/// For the family that a config's model_type names. Unknown families store all matrices separately.
FusedMatrices fused_matrices(std::string_view family);

}  // namespace llmcalc
