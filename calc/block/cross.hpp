#pragma once
/// Parts of an encoder-decoder other than its blocks (T5: arXiv:1910.10683, hf t5/modeling_t5.py): cross-attention from
/// the decoder to the encoder's result, one token embedding for both stacks, and tables of relative positions, one per
/// stack.
///
/// The encoder's result (tokens, hidden) is live until the last layer has run and is saved for backward once. Every
/// decoder layer adds to its gradient, which is live in backward from the last layer to the encoder's end. The
/// decoder's embedded tokens, or in backward their gradient, stay live while the encoder runs. A decode step reads the
/// keys and values of the encoder's tokens from the cache; only the prefill runs their projections. The prefill also
/// runs and caches the decoder's start token, which every step attends to. Relative positions are biases, (queries x
/// keys) values per head, which all layers of a stack add to their scores. The biases and their gradient are live as
/// long as the encoder's result. In a decode step, the attention core reads the biases from the table. Not counted:
/// the mapping of distances to table rows.

#include "calc/block/segment_builder.hpp"

namespace llmcalc {

/// Cross-attention to the encoder's result: the second attention of a layer.
TensorId cross_attention(SegmentBuilder& builder, TensorId x);

/// Total number of tokens that the encoder and decoder look up in the token embedding.
Count embedded_tokens(const Arch& arch, const Step& step);

/// Computes the biases that relative positions add to the scores of both stacks. The embedding x remains the segment's
/// result.
void make_distances(SegmentBuilder& builder, const Step& step, TensorId x);

/// Relative-position biases of a layer with its own table: (queries x keys) values per head, read and saved for
/// backward only by the layer's attention core. Returns no_tensor if the layers of a stack share a table, and in a
/// decode step, in which the attention core reads the table directly.
TensorId layer_distances(SegmentBuilder& builder);

}  // namespace llmcalc
