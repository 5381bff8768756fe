#pragma once
/// Storage of a matrix's values in a checkpoint.

#include <string>

#include "calc/formats/dtype.hpp"
#include "presets/import/quantization/matrices.hpp"

namespace llmcalc::import {

struct Packing {
  DType format;           ///< the matrix's nominal format, which also determines how its matmuls are priced
  Format bytes;           ///< `format` or a variant of it, which gives the exact bytes of a matrix
  std::string state{};    ///< text of the bitsandbytes state without the shape; empty: no state
  bool own_bias = false;  ///< whether a matrix without a bias is stored with a bias of zeros, 16 bits per row
  /// Scales, which have one byte per group, are padded to tiles of 128 rows and 4 groups (cuBLAS's layout, used by
  /// torchao).
  bool tiled_scales = false;
  bool flat = false;  ///< whether groups continue across rows, as if all values were one row
  constexpr static std::string_view shape_mark = "SHAPE";
};

/// A packing for an entry of `formats`.
Packing packing(DType format);

/// Bytes of the matrix, or of all experts' matrices.
Bytes packed_bytes(const Packing& p, const Matrix& m);

}  // namespace llmcalc::import
