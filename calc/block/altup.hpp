#pragma once
/// Alternating updates (AltUp, arXiv:2301.13310; hf gemma3n/modeling_gemma3n.py): n residual streams x (tokens, n
/// hidden), of which a layer reads and writes one.
///   p_i = x_i + sum_j c_ij x_j                  before the layer: c = W_p m(x_0), n x n weights of a token
///   q_i = p_i + (1 + k_i) (y - p_0)             behind it: y = layer(p_0), k = W_k m(y), n weights
///   m(z) = tanh(W_m norm(z))                    n numbers; norm and W_m are the same for both
/// At the ends of the model each further stream has a hidden x hidden projection, rescaled to the first one's
/// magnitude. All of it is whole on every rank. Left out: FLOPs of magnitudes and of mixes, and constant factors.

#include "calc/block/segment_builder.hpp"

namespace llmcalc {

/// The streams from the embedding x, and in the head their mean.
TensorId stacked_streams(SegmentBuilder& builder, TensorId x);
TensorId merged_streams(SegmentBuilder& builder, TensorId x, Count rows);

/// The streams that the layer reads the first of.
TensorId predicted_streams(SegmentBuilder& builder, TensorId x);
/// `predicted`, corrected by the layer's result.
TensorId corrected_streams(SegmentBuilder& builder, TensorId predicted, TensorId result);
/// The first stream under `hidden` learned factors: what the layer's own input is gated by.
TensorId first_stream(SegmentBuilder& builder, TensorId x);
/// All streams but the first with y added.
TensorId shared_with_streams(SegmentBuilder& builder, TensorId x, TensorId y);

/// x + norm((x A) B), beside attention on its input x.
TensorId laurel(SegmentBuilder& builder, TensorId x);

}  // namespace llmcalc
