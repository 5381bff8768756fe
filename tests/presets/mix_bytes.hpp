#pragma once
/// Bytes of a model's weights in one of llama-quantize's mixes.

#include <string_view>

#include "calc/memory.hpp"
#include "presets/formats/gguf_mix.hpp"
#include "presets/model_card.hpp"

namespace llmcalc::test {

/// Weight bytes, including `modules` MTP modules.
inline Count bytes_under(const ModelCard& model, std::string_view mix, Count modules = 0) {
  Plan p;
  p.weight_precision = gguf_mix(model.arch, mix, model.family);
  p.mtp = modules;
  return weights_bytes(model.arch, p).value;
}

}  // namespace llmcalc::test
