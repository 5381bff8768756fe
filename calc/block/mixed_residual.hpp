#pragma once
/// Attention residuals in blocks of n layers (Kimi K3, arXiv:2607.24653, 2.2). The residual stream starts again with
/// every block; what it was before is saved: b_0, the embedding, b_1, ... A sub-layer reads
///   sum_j a_j v_j, a = softmax(q' norm(v_j))     v: the saved streams and the present one; q, norm: hidden each
/// in place of the stream, and so does the head. The first mixer of a block reads the stream that is saved there, and
/// its result is the new one: nothing is added. Scores and sums are element-wise work in one kernel, priced by its
/// bytes; backward finds the shares a again. The very first mix has one tensor, and copies it.
///
/// Saved streams are alive until the head has mixed them. Training keeps each as the input of the layer that begins its
/// block; its gradient is alive from the head's mix to that layer, and every mix between adds to it.
///
/// The number of tensors in a mix grows with depth. Layers of one kind stay alike: each counts their mean, rounded up,
/// which only the bytes moved depend on. set_mixed() has the number of a single layer.

#include "calc/block/segment_builder.hpp"

namespace llmcalc {

/// Tensors in the mix before a layer's first sub-layer, ceil(i/n) + 1, or before its later ones, floor(i/n) + 2.
Count mixed_tensors(const Arch& arch, Count layer, bool first);

/// Tensors in the head's mix: ceil(L/n) + 1.
Count mixed_at_end(const Arch& arch);

/// Sets the tensors of a mix of layer i; other operators stay as they are.
void set_mixed(Op& op, const Arch& arch, Count layer);

/// x, or where the model mixes its residual stream, the mix. `first`: before the layer's first sub-layer, which saves
/// the stream where a block begins.
TensorId mixed_residual(SegmentBuilder& builder, std::string_view name, TensorId x, bool first);

/// The same before the head, of `rows` tokens.
TensorId mixed_at_end(SegmentBuilder& builder, TensorId x, Count rows);

}  // namespace llmcalc
