#pragma once
/// Attention residuals in blocks of n layers (Kimi K3, arXiv:2607.24653, 2.2). The residual stream starts again with
/// every block; what it was before is saved: b_0, the embedding, b_1, ... A sub-layer reads
///   sum_j a_j v_j, a = softmax(q' norm(v_j))     v: the saved streams and the present one; q, norm: hidden each
/// in place of the stream, and so does the head. Scores and sums are element-wise work in one kernel, priced by its
/// bytes. The number of tensors in a mix grows with depth; each counts the mean over all mixes, rounded up, so that
/// layers stay alike. The first layer has one tensor, which no kernel mixes; it counts like the others. The saved
/// streams of all blocks are alive in a pass without gradients; training keeps them as inputs of their layers. Left
/// out: their gradients, which every later mix adds to, alive in backward from the last mix to the first layer of the
/// block.

#include "calc/segment_builder.hpp"

namespace llmcalc {

/// Tensors in the mean mix, rounded up: in layer i (i > 0) ceil(i/n) + 1 before the mixer and floor(i/n) + 2 before the
/// MLP; ceil(L/n) + 1 before the head; over 2 L + 1 mixes.
Count mixed_tensors(const Arch& arch);

/// Numbers of the streams that are saved of `tokens` tokens.
Count saved_residuals(const Arch& arch, Count tokens);

/// x, or where the model mixes its residual stream, the mix.
TensorId mixed_residual(SegmentBuilder& builder, std::string_view name, TensorId x, Count rows);

}  // namespace llmcalc
