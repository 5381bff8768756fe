#pragma once
/// The formats of weights as --weight-precision says them: one for all, a mix of llama-quantize's, or one by component.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calc/formats/weight_formats.hpp"
#include "presets/model_card.hpp"

namespace llmcalc {

struct WeightsGiven {
  std::string text;                                ///< as it was typed, in lower case
  std::optional<WeightFormats> all;                ///< of every component that `parts` leaves out
  std::vector<std::pair<Component, DType>> parts;  ///< formats of single components
  std::string note{};                              ///< what a reader of bytes must know
};

/// "bf16"; "q4_k_m", or "gguf:q6_k" where a format has the mix's name; "experts=mxfp4,attention=bf16", with a format or
/// mix for the rest or without: "q8_0,router=fp32". Throws InputError; `where` begins the sentence.
WeightsGiven read_weight_precision(std::string_view text, std::string_view where, const ModelCard& model);

/// The formats that are given; `otherwise` of components of which nothing is. A tied head has the table's.
WeightFormats settled(const WeightsGiven& given, const WeightFormats& otherwise, const Arch& arch);

}  // namespace llmcalc
