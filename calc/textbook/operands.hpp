#pragma once
/// Bytes of the operands that a matmul reads in a format with scales: OCP Microscaling specification v1.0 (MX),
/// DeepSeek-V3 (arXiv:2412.19437) 3.3.2, NVFP4 (arXiv:2509.25149).

#include "calc/textbook/weight_bytes.hpp"

namespace llmcalc::textbook {

/// y (rows, out) = x (rows, in) W (in, out).
template <class N>
struct ProductSizes {
  N rows, in, out;
};

/// Bytes of a (rows, depth) activation or gradient in a matmul that sums over the depth: e bits per element, s bytes
/// for each of the rows x ceil(depth/g) groups, and the tensor's scale. A group never spans rows.
template <class N>
N activation_operand(const Format& f, const FormatSizes<N>& s, const N& rows, const N& depth) {
  Format tiles = f;
  tiles.group_rows = 1;
  return matrix_bytes(tiles, s, depth, rows) + s.tensor;
}
/// Bytes of a weight matrix in a matmul that sums over `depth`. A group may be a block that spans several rows.
template <class N>
N weight_operand(const Format& f, const FormatSizes<N>& s, const N& rows, const N& depth) {
  return matrix_bytes(f, s, depth, rows) + s.tensor;
}

/// Operands of y = x W, which sums over `in`.
template <class N>
N forward_operands(const Format& f, const FormatSizes<N>& s, const ProductSizes<N>& p) {
  return activation_operand(f, s, p.rows, p.in) + weight_operand(f, s, p.out, p.in);
}
/// Operands of dx = dy W', which sums over `out`.
template <class N>
N input_gradient_operands(const Format& f, const FormatSizes<N>& s, const ProductSizes<N>& p) {
  return activation_operand(f, s, p.rows, p.out) + weight_operand(f, s, p.in, p.out);
}
/// Operands of dW = x' dy, which sums over the rows.
template <class N>
N weight_gradient_operands(const Format& f, const FormatSizes<N>& s, const ProductSizes<N>& p) {
  return activation_operand(f, s, p.in, p.rows) + activation_operand(f, s, p.out, p.rows);
}

}  // namespace llmcalc::textbook
