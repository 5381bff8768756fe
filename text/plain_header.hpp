#pragma once
/// Fast reading of the safetensors headers that programs write. A header is plain if its strings have only ASCII
/// characters without escapes, except in the metadata, and its numbers are integers without exponents.

#include <functional>
#include <span>
#include <string_view>

#include "calc/units.hpp"
#include "text/binary_file.hpp"

namespace llmcalc {

/// A tensor as described in a plain header.
struct PlainTensor {
  std::string_view name, dtype;
  std::span<const Count> shape;
  Count begin = 0, end = 0;  ///< offsets in bytes from the end of the header
};

/// Reads a header of `length` bytes in one pass, block by block, and calls `found` for each tensor in the header's
/// order; the views in the tensor are valid only during the call. Returns false at the first part that is not plain or
/// is damaged, or if `found` returns false; the caller then uses safetensors_header(), which reads any header or
/// reports the error. Duplicate names are not detected, and sizes and offsets are not checked.
bool read_plain_header(const BinaryFile& file, Count length, const std::function<bool(const PlainTensor&)>& found);

}  // namespace llmcalc
