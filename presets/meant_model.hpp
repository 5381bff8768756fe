#pragma once
/// Names of models as people type them, which may say how the weights are stored: "gpt-oss-20b-bf16".

#include <string>
#include <string_view>

#include "presets/builtin.hpp"
#include "presets/model_card.hpp"

namespace llmcalc {

struct MeantModel {
  const Builtin* preset = nullptr;  ///< null: none is called so
  std::string format{};             ///< as --weight-precision takes it; empty: the name says none
};

/// The preset that `name` means (find_meant), and the format of weights in its words: a number format ("bf16",
/// "nvfp4"), a method ("awq", "gptq-int4", "bnb-4bit"), or a mix of llama-quantize's ("q4_k_m"). A preset's own name
/// and its aliases say none. Throws InputError where a word says that weights are stored otherwise and not how, where
/// two formats contradict, and for a model that shares a preset's shape alone.
MeantModel meant_model(std::string_view name);

/// Stores the weights of a preset in the format that the name says, unless the preset's own are of that kind. A caveat
/// says so.
void take_named_format(ModelCard& card, std::string_view name, const std::string& format);

}  // namespace llmcalc
