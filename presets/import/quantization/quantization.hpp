#pragma once
/// The number formats in which a checkpoint stores its weights, read from its config.json.

#include <optional>
#include <string>
#include <vector>

#include "calc/formats/narrowed.hpp"
#include "calc/formats/weight_formats.hpp"
#include "presets/import/config.hpp"

namespace llmcalc::import {

struct StoredWeights {
  std::optional<WeightFormats> formats;  ///< nothing where the config is silent
  std::vector<std::string> caveats;
  std::optional<DType> products{};                 ///< of both operands, where the block quantises inputs too
  NarrowParts product_parts = NarrowParts::all();  ///< whose products these are
  std::vector<std::string> unknown_keys{};         ///< of the block: nothing asked for them
};

/// From `dtype` (`torch_dtype`) and `quantization_config`, of the whole config or of its text part. Embedding, norms
/// and routers stay in the dtype, and so do the modules that the block names. Throws InputError for a method or a
/// setting that is not known.
StoredWeights stored_weights(const Config& whole, const Config& text, const Arch& arch);

}  // namespace llmcalc::import
