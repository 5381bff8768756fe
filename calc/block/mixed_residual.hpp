#pragma once
/// Attention residuals in blocks of n layers (Kimi K3, arXiv:2607.24653, 2.2). The residual stream restarts with every
/// block; its previous value is saved: b_0 (the embedding), b_1, ... A sub-layer reads
///   sum_j a_j v_j, a = softmax(q' norm(v_j)) v: the saved streams and the current one; q, norm: hidden weights each
/// instead of the stream; the head does the same. The first mixer of a block reads the stream that is saved there, and
/// its result becomes the new stream without an add. Scores and sums are element-wise work in one kernel, priced by the
/// bytes moved; backward recomputes the weights a. The very first mix has a single tensor and copies it.
///
/// Saved streams are live until the head has mixed them. Training saves each as the input of the layer that begins its
/// block; its gradient is live from the head's mix to that layer, and every mix in between adds to it.
///
/// The number of tensors in a mix grows with depth. Layers of one kind must have equal operators, so each layer
/// counts the mean number of tensors, rounded up; only the bytes moved depend on it. set_mixed() sets the exact
/// number for a single layer.

#include "calc/block/segment_builder.hpp"

namespace llmcalc {

/// Number of tensors in a mix of layer i: ceil(i/n) + 1 before the first sub-layer, floor(i/n) + 2 before later
/// sub-layers.
Count mixed_tensors(const Arch& arch, Count layer, bool first);

/// Number of tensors in the head's mix: ceil(L/n) + 1.
Count mixed_at_end(const Arch& arch);

/// Sets the number of tensors in `op` if it is a mix of layer `layer`. Other operators are unchanged.
void set_mixed(Op& op, const Arch& arch, Count layer);

/// x, or its mix if the model mixes residual streams. `first`: whether the mix precedes the layer's first sub-layer,
/// which saves the stream if a block begins there.
TensorId mixed_residual(SegmentBuilder& builder, std::string_view name, TensorId x, bool first);

/// The mix before the head, for `rows` tokens.
TensorId mixed_at_end(SegmentBuilder& builder, TensorId x, Count rows);

}  // namespace llmcalc
