#pragma once
/// Number formats as sources of inference rows write them: "AWQ int4 g128", "Q4_K_M (4.85 bpw)", "mxfp4 (MoE) + bf16".

#include <optional>
#include <string>
#include <vector>

#include "calc/formats/weight_formats.hpp"
#include "calc/plan.hpp"

namespace llmcalc {

struct FormatsSaid {
  WeightFormats weights;
  DType precision = dtypes::bf16;  ///< format of the blocks' matmuls
  DType working = dtypes::bf16;    ///< format of all other operations
  DType cache = dtypes::bf16;
  std::optional<double> bits_per_weight;  ///< stated bits per weight; supported formats may only approximate them
  std::optional<double> weight_bytes;     ///< stated file size
  std::vector<std::string> assumed;
  bool weighty = false;        ///< whether the weight format, or the meaning of an unknown format, is assumed
  bool experts_alone = false;  ///< whether experts have a different format from attention and dense MLPs
  std::string mix;             ///< llama-quantize mix of a GGUF file; its formats depend on the model, see gguf_mix()
  std::string name;            ///< name of the weight format in tables; empty: name of the blocks' format
  std::string skip;            ///< why the weight format is unknown; empty if it is known
};

/// Formats in a row's text. For weights, "auto", "none" and "unquantized" mean `usual_half`, or the 16-bit format of
/// activations or cache.
FormatsSaid formats_of(const std::string& weights, const std::string& cache, const std::string& activations,
                       DType usual_half);

/// Whether the text does not determine the weight format: "", "not stated", "n/a", "auto", "default".
bool leaves_format_open(const std::string& weights);

}  // namespace llmcalc
