#pragma once
/// The header of a safetensors file (text/safetensors_header.hpp).

#include "presets/header/checkpoint.hpp"
#include "text/binary_file.hpp"

namespace llmcalc {

/// Adds the tensors and bytes of one file to `c`, in the order of their data. Throws InputError for a damaged file.
void add_safetensors(Checkpoint& c, const BinaryFile& file);

}  // namespace llmcalc
