#pragma once
/// Weight formats in the syntax of --weight-precision: one format for all weights, a llama-quantize mix, or a format
/// per component.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calc/formats/weight_formats.hpp"
#include "presets/model_card.hpp"

namespace llmcalc {

struct WeightsGiven {
  std::string text;                                ///< the option's value as typed, in lower case
  std::optional<WeightFormats> all;                ///< formats of all components not in `parts`
  std::vector<std::pair<Component, DType>> parts;  ///< formats of single components
  std::string note{};                              ///< caveat about the byte counts
};

/// Reads "bf16", "q4_k_m", or a format per component such as "experts=mxfp4,attention=bf16", optionally with a format
/// or mix for the rest: "q8_0,router=fp32". If a mix and a format share a name, "gguf:q6_k" is the mix and
/// "ggml:q6_k" the format. Throws InputError; `where` begins the error message.
WeightsGiven read_weight_precision(std::string_view text, std::string_view where, const ModelCard& model);

/// Reads a bare name ("q2_k") as llama.cpp does: as the file that llama-quantize writes, not as the block format.
WeightsGiven as_file(const WeightsGiven& given, std::string_view where, const ModelCard& model);

/// The specified formats; all other components have the format in `otherwise`. A tied head has the table's
/// format.
WeightFormats settled(const WeightsGiven& given, const WeightFormats& otherwise, const Arch& arch);

}  // namespace llmcalc
