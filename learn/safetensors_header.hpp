#pragma once
/// Writes the JSON header of a safetensors file; text/safetensors_header.hpp reads it.

#include <string>

#include "learn/safetensors.hpp"

namespace llmcalc::model {

/// The header text, padded with spaces so that the data begins at a multiple of 8. Throws InputError for tensors that
/// the format cannot represent.
std::string header_text(std::span<const StoredTensor> tensors, const Metadata& metadata, const std::string& path);

}  // namespace llmcalc::model
