#pragma once
/// The JSON header of a safetensors file as it is written; text/safetensors_header.hpp reads it.

#include <string>

#include "learn/safetensors.hpp"

namespace llmcalc::model {

/// The header as it is written, with spaces behind it so that the data begin at a multiple of 8. InputError for tensors
/// that the format cannot hold.
std::string header_text(std::span<const StoredTensor> tensors, const Metadata& metadata, const std::string& path);

}  // namespace llmcalc::model
