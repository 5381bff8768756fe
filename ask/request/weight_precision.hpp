#pragma once
/// Weight formats in the syntax of --weight-precision: one for all, a llama-quantize mix, or one per component.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calc/formats/weight_formats.hpp"
#include "presets/model_card.hpp"

namespace llmcalc {

struct WeightsGiven {
  std::string text;                                ///< as typed, in lower case
  std::optional<WeightFormats> all;                ///< formats of all components not in `parts`
  std::vector<std::pair<Component, DType>> parts;  ///< formats of single components
  std::string note{};                              ///< caveat about the byte counts
};

/// "bf16"; "q4_k_m"; "gguf:q6_k" for a mix that shares its name with a format, "ggml:q6_k" for that format;
/// "experts=mxfp4,attention=bf16", optionally with a format or mix for the rest: "q8_0,router=fp32". Throws
/// InputError; `where` begins the sentence.
WeightsGiven read_weight_precision(std::string_view text, std::string_view where, const ModelCard& model);

/// Reads a bare name ("q2_k") as llama.cpp does: as the file that llama-quantize writes, not as the block format.
WeightsGiven as_file(const WeightsGiven& given, std::string_view where, const ModelCard& model);

/// The given formats, and `otherwise` for components without one. A tied head has the table's format.
WeightFormats settled(const WeightsGiven& given, const WeightFormats& otherwise, const Arch& arch);

}  // namespace llmcalc
