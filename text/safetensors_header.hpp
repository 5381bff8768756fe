#pragma once
/// The header of a safetensors file (huggingface/safetensors, README "Format"): 8 bytes that hold its length,
/// little-endian; then JSON with dtype, shape and data_offsets of every tensor and "__metadata__", texts by name. The
/// tensors' bytes follow, one after another, little-endian and row by row.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calc/units.hpp"
#include "text/binary_file.hpp"

namespace llmcalc {

/// Bits of one number of that dtype; nothing for a name that the format does not have.
std::optional<Count> safetensors_bits(std::string_view dtype);

/// Bytes of a tensor. Throws InputError, which begins with `where`, for an unknown dtype and for more than 2^63 bits.
Bytes safetensors_bytes(const std::string& dtype, std::span<const Count> shape, const std::string& where);

/// The key of the texts among the tensors' names.
inline constexpr std::string_view safetensors_metadata_key = "__metadata__";

/// The name, dtype, shape and place of a tensor.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;
  std::vector<Count> shape;
  Count offset = 0;  ///< from the end of the header
  Bytes bytes;
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<SafetensorsEntry> entries;  ///< in the order of their bytes
  Count data_begin = 0;                   ///< offset of the first tensor in the file
};

/// Reads the header of a file whose tensors take `data` bytes. The tensors must fill them without gap or overlap, as
/// the format demands. `path` is for the sentence of the InputError.
SafetensorsHeader parsed_header(std::string_view json, Bytes data, const std::string& path);

/// Reads the header of a file and nothing else. Throws InputError that names the file and the field, also for a header
/// past json::max_bytes.
SafetensorsHeader safetensors_header(const BinaryFile& file);

}  // namespace llmcalc
