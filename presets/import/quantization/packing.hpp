#pragma once
/// How a checkpoint stores the numbers of a matrix.

#include <string>

#include "calc/formats/dtype.hpp"
#include "presets/import/quantization/matrices.hpp"

namespace llmcalc::import {

struct Packing {
  DType format;           ///< the format that names the matrix and prices its products
  Format bytes;           ///< what a matrix takes to the byte: the format, or a variant of it
  std::string state{};    ///< of bitsandbytes: a text of its state but for the shape; empty: none
  bool own_bias = false;  ///< a matrix without a bias has one of zeros, 16 bits per row
  /// Scales of a byte per group fill tiles of 128 rows and 4 groups (cuBLAS's layout, which torchao stores).
  bool tiled_scales = false;
  bool flat = false;  ///< groups go on from row to row, as in one row of all numbers
  constexpr static std::string_view shape_mark = "SHAPE";
};

/// A packing that is a row of `formats`.
Packing packing(DType format);

/// Bytes of the matrix, or of all experts'.
Bytes packed_bytes(const Packing& p, const Matrix& m);

}  // namespace llmcalc::import
