#pragma once
/// Models that several benchmarks price.

#include "calc/arch.hpp"

namespace llmcalc::bench {

/// Llama-3.1 405B (arXiv:2407.21783, table 3).
inline Arch llama_405b() {
  Arch a;
  a.layers = 126;
  a.hidden = a.embedding_width = 16384;
  a.vocabulary = 128256;
  a.context = 131072;
  a.heads = 128;
  a.kv_heads = 8;
  a.head_dim = 128;
  a.mlp = MlpKind::gated;
  a.activation = Activation::silu;
  a.mlp_width = 53248;
  a.norm = NormKind::rms_norm;
  return a;
}

}  // namespace llmcalc::bench
