#pragma once
/// What an encoder-decoder has besides its blocks (T5: arXiv:1910.10683, hf t5/modeling_t5.py): attention of the
/// decoder to the encoder's result, one token table for both, and tables of relative positions, one per stack.
///
/// The encoder's result (tokens, hidden) is alive until the last layer has run and is kept for backward once. Its
/// gradient, which all layers of the decoder add to, is alive from the last of them to the encoder's end; the embedded
/// tokens of the decoder, or in backward their gradient, wait while the encoder runs. A decoding step reads keys and
/// values of the encoder's tokens from the cache, so that their projections run in the prefill alone. The token that
/// begins the decoder is run and cached by the prefill, and seen by every step. Relative positions give (queries x
/// keys) numbers per head, which all layers of a stack add to their scores; they and their gradient are kept like the
/// encoder's result. A decoding step's core reads its own from the table. How a distance finds its row of the table is
/// left out.

#include "calc/block/segment_builder.hpp"

namespace llmcalc {

/// Attention to the encoder's result; a layer's second.
TensorId cross_attention(SegmentBuilder& builder, TensorId x);

/// Tokens that the token table is asked for, of encoder and decoder together.
Count embedded_tokens(const Arch& arch, const Step& step);

/// What relative positions add to the scores, of both stacks; the embedding x stays the segment's result.
void make_distances(SegmentBuilder& builder, const Step& step, TensorId x);

/// The same of the layer's own table, (queries x keys) numbers per head, which its core alone reads and which are kept
/// for it; no_tensor where the stack has a table, and in a decoding step, whose core reads the table.
TensorId layer_distances(SegmentBuilder& builder);

}  // namespace llmcalc
