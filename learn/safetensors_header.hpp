#pragma once
/// The JSON header of a safetensors file, both ways.

#include <string>
#include <string_view>

#include "learn/safetensors.hpp"

namespace llmcalc::model {

struct SafetensorsHeader {
  Metadata metadata;
  std::vector<SafetensorsFile::Entry> entries;  ///< in the order of their bytes
};

/// Reads the header of a file whose tensors take `data` bytes. The tensors must fill them without gap or overlap, as
/// the format demands. `path` is for the sentence of the InputError.
SafetensorsHeader parsed_header(std::string_view json, Bytes data, const std::string& path);

/// The header as it is written, with spaces behind it so that the data begin at a multiple of 8. InputError for tensors
/// that the format cannot hold.
std::string header_text(std::span<const StoredTensor> tensors, const Metadata& metadata, const std::string& path);

}  // namespace llmcalc::model
