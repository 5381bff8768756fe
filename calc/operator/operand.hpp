#pragma once
/// Operands of a matmul, quantized if the matmul's format has fewer than 16 bits.
///
/// In formats with groups, the elements of a group are summed together, so a group lies along the dimension of the
/// sum. Training therefore quantizes every operand twice, in these shapes:
///
///              forward         input's gradient   weights' gradient
///   sum over   in              out                rows
///   reads      x (rows, in)    dy (rows, out)     x' (in, rows)
///              W' (out, in)    W (in, out)        dy' (out, rows)
///
/// Sources: DeepSeek-V3 (arXiv:2412.19437) 3.3.2 and 3.5.2: 1 x 128 tiles of activations, 128 x 1 tiles for the
/// weights' gradient, 128 x 128 blocks of weights, which serve both directions. MXFP8 (arXiv:2506.08027): both
/// directions are quantized from the 16-bit tensor, because neither follows from the other. NVFP4 (arXiv:2509.25149):
/// 16 x 16 blocks of weights, whose scale the matmul reads with every row of 16 elements; gradients are rounded
/// stochastically, which does not affect any count. x and dy are quantized in every micro-batch, W once per step or
/// more often. Not counted: casts, which read 16 bits and write the quantized copies (a kernel that produces x or dy
/// can also cast it, and then writes less than counted here); padding of scales and of experts' rows to whole tiles;
/// Hadamard transforms. The rows of all experts form one tensor.

#include "calc/formats/stored.hpp"
#include "calc/operator/op.hpp"

namespace llmcalc {

/// Bytes read of an input or gradient (rows, depth) by a matmul that sums over `depth`.
double operand_read(DType t, Count rows, Count depth);
/// Bytes of the matrix of one expert or head as forward reads it: with quantization groups along the input dimension.
double matrix_read(const Linear& s, const Stored& w);
/// Bytes of the same matrix as the input gradient reads it: with the stored groups, or with groups along the output
/// dimension if training quantizes the matrix.
double transposed_read(const Linear& s, const Stored& w);

/// Expected number of distinct groups to which `tokens` tokens are routed, each to top_k random groups:
/// n (1 - (1 - k/n)^tokens). Assumes uniform, independent routing.
double groups_touched(Count groups, Count top_k, Count tokens);
/// Expected number of groups whose weights a matmul reads: all groups or, for experts, those to which at least one
/// token is routed. Tokens of all ranks choose among the experts of all ranks. This rank has an equal share of the
/// rows, of the groups, and therefore of the expected number.
double groups_touched(const Linear& s);

}  // namespace llmcalc
