#pragma once
/// Number formats in which a checkpoint stores its weights, according to its config.json.

#include <optional>
#include <string>
#include <vector>

#include "calc/formats/low_precision.hpp"
#include "calc/formats/weight_formats.hpp"
#include "presets/import/config.hpp"

namespace llmcalc::import {

struct StoredWeights {
  std::optional<WeightFormats> formats;  ///< absent if the config does not state them
  std::vector<std::string> caveats;
  std::optional<DType> products{};                 ///< format of both operands, if the block also quantizes inputs
  NarrowParts product_parts = NarrowParts::all();  ///< parts whose matmuls use `products`
  std::vector<std::string> unknown_keys{};         ///< keys of the block that were never read
};

/// Reads `dtype` (`torch_dtype`) and `quantization_config` from the whole config or from its text part. Embedding,
/// norms and routers keep the dtype, as do the modules that the block excludes. Throws InputError for an unknown method
/// or setting.
StoredWeights stored_weights(const Config& whole, const Config& text, const Arch& arch);

}  // namespace llmcalc::import
