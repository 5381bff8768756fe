#pragma once
/// The header of a safetensors file (huggingface/safetensors, README "Format"): 8 bytes with its length, little-endian;
/// then JSON with dtype, shape and data_offsets of every tensor and "__metadata__", a map of strings. The tensors'
/// bytes follow, one after another, little-endian and row-major.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calc/units.hpp"
#include "text/binary_file.hpp"

namespace llmcalc {

/// Bits per element of a dtype; absent if the format has no such dtype.
std::optional<Count> safetensors_bits(std::string_view dtype);

/// Bytes of a tensor. Throws InputError, which begins with `where`, for an unknown dtype or more than 2^63 bits.
Bytes safetensors_bytes(const std::string& dtype, std::span<const Count> shape, const std::string& where);

/// Key of the metadata, next to the tensors' names.
inline constexpr std::string_view safetensors_metadata_key = "__metadata__";

/// The name, dtype, shape and location of a tensor.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;
  std::vector<Count> shape;
  Count offset = 0;  ///< offset in bytes from the end of the header
  Bytes bytes;
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<SafetensorsEntry> entries;  ///< in the order of their bytes
  Count data_begin = 0;                   ///< offset of the first tensor in the file
};

/// Parses the header of a file whose tensors take `data` bytes. The tensors must fill them without gaps or overlaps, as
/// the format requires. `path` appears in the message of the InputError.
SafetensorsHeader parsed_header(std::string_view json, Bytes data, const std::string& path);

/// Reads only the header of a file. Throws an InputError that names the file and the field, including for a header
/// longer than json::max_bytes.
SafetensorsHeader safetensors_header(const BinaryFile& file);

}  // namespace llmcalc
