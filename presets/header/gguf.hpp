#pragma once
/// The header of a GGUF file (github.com/ggml-org/ggml, docs/gguf.md), versions 1 to 3, in either byte order.
///
///   "GGUF", version u32, tensors N, pairs N;  every pair: key S, type u32, value;
///   every tensor: name S, dimensions u32, each N (shortest stride first), type u32, offset u64 from the data;
///   padding; the data, at a multiple of "general.alignment" (32).
///
/// N is u64 (u32 in version 1); S is a length N followed by bytes. An array is a type u32, a length N and its values.

#include <optional>
#include <string_view>

#include "presets/header/checkpoint.hpp"
#include "text/binary_file.hpp"

namespace llmcalc {

/// Tensor types (ggml.h, enum ggml_type), with names and number formats. Integers and activation types have no format,
/// only a size: `block` elements in `bytes` bytes.
struct GgufType {
  std::uint32_t id;
  std::string_view name;
  std::optional<DType> dtype;
  Count block, bytes;
};
/// The type with this number; absent if there is no such type.
std::optional<GgufType> gguf_type(std::uint32_t id);

/// Adds the contents of one file to `c`: tensors, bytes and keys. Of a split checkpoint, only the first part's keys
/// are added. Skips vocabularies, which are lists of strings, and other long lists. Throws InputError for a damaged
/// file. Time and memory are bounded.
void add_gguf(Checkpoint& c, const BinaryFile& file);

}  // namespace llmcalc
