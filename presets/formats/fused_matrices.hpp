#pragma once
/// Which matrices of an architecture a family's files store as one. Nothing that is counted by parameters depends on
/// it; bytes do, where a matrix costs something of its own, and so does the type that llama-quantize gives it.

#include <cstdint>
#include <string_view>

namespace llmcalc {

/// How a gated DeltaNet's projections are stored.
enum class DeltaMatrices : std::uint8_t {
  qkv,        ///< queries, keys and values as one (Qwen3.5)
  with_gate,  ///< these and the gate as one, both numbers per head as another (Qwen3-Next)
  apart       ///< each by itself (OLMo hybrid)
};

struct FusedMatrices {
  bool qkv = false;            ///< queries, keys and values of attention
  bool lightning_qkv = false;  ///< of lightning attention
  bool split_in_gguf = false;  ///< those of attention are taken apart where a GGUF file is made
  bool gate_up = false;        ///< both matrices of a gated MLP that read its input; of experts they are apart
  bool own_gate = false;       ///< attention's gate per channel is a matrix of its own; else one with the queries
  DeltaMatrices delta = DeltaMatrices::qkv;
};

/// Of the family that a config's model_type names. A family that is not known stores every matrix by itself.
FusedMatrices fused_matrices(std::string_view family);

}  // namespace llmcalc
