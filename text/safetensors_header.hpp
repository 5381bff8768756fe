#pragma once
/// The header of a safetensors file (huggingface/safetensors, README "Format"): its length in 8 bytes, little-endian;
/// then JSON with the dtype, shape and data_offsets of every tensor and "__metadata__", a map of strings. The tensors'
/// bytes follow one after another, little-endian and row-major.

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

/// Size of a tensor in bytes. Throws an InputError that begins with `where` for an unknown dtype or more than 2^63
/// bits.
Bytes safetensors_bytes(const std::string& dtype, std::span<const Count> shape, const std::string& where);

/// Size in bytes of the length field at the start of a file.
inline constexpr Count safetensors_length_bytes = 8;

/// The key of the metadata, at the same level as the tensor names.
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
  std::vector<SafetensorsEntry> entries;  ///< tensors in the order of their data
  Count data_begin = 0;                   ///< offset of the first tensor in the file
};

/// Parses the header of a file with `data` bytes of tensor data. The tensors must fill these bytes without gaps or
/// overlaps, as the format requires. `path` appears in error messages.
SafetensorsHeader parsed_header(std::string_view json, Bytes data, const std::string& path);

/// The length of a file's header in bytes. Throws InputError if the file is shorter or the length is more than
/// json::max_bytes.
Count safetensors_header_length(const BinaryFile& file);

/// Reads only the header of a file. Every error is an InputError that names the file and the field, including a header
/// longer than json::max_bytes.
SafetensorsHeader safetensors_header(const BinaryFile& file);

}  // namespace llmcalc
