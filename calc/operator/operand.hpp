#pragma once
/// The operands that a matrix product reads, quantised where its format has fewer than 16 bits.
///
/// Formats with groups scale numbers that are summed together: a group lies along the dimension of the sum, so that
/// training quantises every operand twice, in these shapes:
///
///              forward         input's gradient   weights' gradient
///   sum over   in              out                rows
///   reads      x (rows, in)    dy (rows, out)     x' (in, rows)
///              W' (out, in)    W (in, out)        dy' (out, rows)
///
/// Sources: DeepSeek-V3 (arXiv:2412.19437) 3.3.2 and 3.5.2: 1 x 128 tiles of activations, 128 x 1 ones for the weights'
/// gradient, 128 x 128 blocks of weights, which serve both ways. MXFP8 (arXiv:2506.08027): both directions are
/// quantised from the 16-bit tensor, for one does not follow from the other. NVFP4 (arXiv:2509.25149): 16 x 16 blocks
/// of weights, whose scale the product reads with every row of 16 numbers; gradients are rounded stochastically, which
/// changes no count. x and dy are quantised in every micro-batch, W once per step or more often. Left out: casts, which
/// read 16 bits and write the copies (a kernel that makes x or dy can do it, and then writes less than is counted
/// here); scales and experts' rows that are padded to whole tiles; Hadamard transforms. The rows of all experts are one
/// tensor.

#include "calc/formats/stored.hpp"
#include "calc/operator/op.hpp"

namespace llmcalc {

/// Bytes of an input or a gradient (rows, depth) of a product that sums over its depth.
double operand_read(DType t, Count rows, Count depth);
/// Bytes of one group's matrix as forward reads it: groups lie along the input.
double matrix_read(const Linear& s, const Stored& w);
/// The same as the input's gradient reads it: in the groups that are stored, or where training quantises it, along the
/// output.
double transposed_read(const Linear& s, const Stored& w);

/// Expected number of distinct groups that `tokens` tokens visit, each choosing top_k at random:
/// n (1 - (1 - k/n)^tokens). Uniform, independent routing.
double groups_touched(Count groups, Count top_k, Count tokens);
/// The groups whose weights a product reads: all of them, or of experts those that some token visits. Tokens of all
/// ranks choose among the experts of all ranks; this rank has an equal share of the rows and of the groups, and the
/// expectation is its share of all.
double groups_touched(const Linear& s);

}  // namespace llmcalc
