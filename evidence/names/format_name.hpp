#pragma once
/// Number formats as sources of inference write them: "AWQ int4 g128", "Q4_K_M (4.85 bpw)", "mxfp4 (MoE) + bf16".

#include <optional>
#include <string>
#include <vector>

#include "calc/formats/weight_formats.hpp"
#include "calc/plan.hpp"

namespace llmcalc {

struct FormatsSaid {
  WeightFormats weights;
  DType precision = dtypes::bf16;  ///< of the blocks' products
  DType working = dtypes::bf16;    ///< of all else
  DType cache = dtypes::bf16;
  std::optional<double> bits_per_weight;  ///< as the source states them; no format of the engine's may have just these
  std::optional<double> weight_bytes;     ///< the file's size, as stated
  std::vector<std::string> assumed;
  bool weighty = false;        ///< a format is assumed that is not known, or that of the weights
  bool experts_alone = false;  ///< attention and dense MLPs have another format than experts
  std::string mix;             ///< the mix of llama-quantize that a GGUF file has: of its model, see gguf_mix()
  std::string name;            ///< what tables call the weights' format; empty: as the blocks' format is called
  std::string skip;            ///< not empty: the format of the weights is not known
};

/// "auto", "none" and "unquantized" of weights are `usual_half`, or the half precision that activations or cache name.
FormatsSaid formats_of(const std::string& weights, const std::string& cache, const std::string& activations,
                       DType usual_half);

/// Whether a text leaves the format of weights open: "", "not stated", "n/a", "auto", "default".
bool leaves_format_open(const std::string& weights);

}  // namespace llmcalc
