#pragma once
/// A matmul as described to cuBLASLt, with column-major matrices: D = op(A) op(B) + beta C + bias.

#include <library_types.h>

#include <cstdint>
#include <string>

namespace llmcalc::standin {

struct Layout {
  cudaDataType_t type = CUDA_R_32F;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t ld = 0;
  std::uint64_t number() const { return type == CUDA_R_32F ? 4 : 2; }
  /// From the first element to the end of the last.
  std::uint64_t bytes() const { return ((columns - 1) * static_cast<std::uint64_t>(ld) + rows) * number(); }
};

struct Matrix {
  Layout layout;
  const void* data = nullptr;
  bool transposed = false;
  std::string name;  ///< "A"
  std::uint64_t rows() const { return transposed ? layout.columns : layout.rows; }
  std::uint64_t columns() const { return transposed ? layout.rows : layout.columns; }
};

struct Product {
  Matrix a, b, d;
  float beta = 0;
  const void* bias = nullptr;  ///< one value per row of D, of its type; may be null

  /// Requires that the matrices are compatible and in live memory.
  void check() const;
  /// Computes D if the matmul is small; otherwise leaves D unchanged.
  void run() const;
};

}  // namespace llmcalc::standin
