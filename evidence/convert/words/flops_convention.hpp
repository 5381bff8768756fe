#pragma once
/// How a source counts the FLOPs of a training step. The step time is derived from this count, so a convention other
/// than the row's would change it by 7 to 30 %.

#include <optional>
#include <string>

#include "calc/arch.hpp"

namespace llmcalc {

enum class FlopsFormula {
  hardware_96,  ///< 96 B s L h^2 (1 + s/6h + V/16Lh), including recomputation of all layers (arXiv:2104.04473, eq. 3)
  model_72,     ///< 72 B s L h^2 (1 + s/6h + V/12Lh): as hardware_96, without recomputation
  six_n,        ///< 6 N + 12 L H Q s per token, N all parameters (PaLM, arXiv:2204.02311, appendix B)
  by_matrix,    ///< 12 L h^2 (1 + kv/a + s/h) + 18 L f h (12 if not gated) + 6 V h per token (NeMo)
  half_attention,  ///< 6 N for weight matrices, and attention matmuls over the causal half
  eight_n,         ///< 8 N: forward, recomputed forward and backward, excluding attention
  plain_six_n,     ///< 6 N, excluding attention
  unknown          ///< treated as by_matrix
};

struct FlopsConvention {
  FlopsFormula formula = FlopsFormula::unknown;
  std::optional<double> params;       ///< N, if the convention states it
  bool non_embedding = false;         ///< whether N excludes token embedding, positions and head
  std::optional<double> peak_tflops;  ///< peak for MFU, if the convention states it
  /// Whether recomputed forward passes are counted.
  bool counts_recompute() const { return formula == FlopsFormula::hardware_96 || formula == FlopsFormula::eight_n; }
};

/// Reads a row's "flops_convention".
FlopsConvention flops_convention(const std::string& text);

/// FLOPs of `sequences` sequences of `seq` tokens, by the convention. N is the convention's, otherwise `reported`, the
/// parameter count in the source, otherwise the architecture's.
double convention_flops(const FlopsConvention& convention, const Arch& arch, Count seq, double sequences,
                        std::optional<Count> reported = {});

}  // namespace llmcalc
