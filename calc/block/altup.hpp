#pragma once
/// Alternating updates (AltUp, arXiv:2301.13310; hf gemma3n/modeling_gemma3n.py): n residual streams x (tokens, n
/// hidden); a layer reads and writes one of them.
///   p_i = x_i + sum_j c_ij x_j                  before the layer: c = W_p m(x_0), n x n weights per token
///   q_i = p_i + (1 + k_i) (y - p_0)             after the layer: y = layer(p_0), k = W_k m(y), n weights
///   m(z) = tanh(W_m norm(z))                    n values; both uses share norm and W_m
/// At both ends of the model, every stream except the first has a hidden x hidden projection, whose result is
/// rescaled to the magnitude of the first stream. All operators are replicated on every rank. Not counted: constant
/// factors, and the FLOPs of rescaling and mixing.

#include "calc/block/segment_builder.hpp"

namespace llmcalc {

/// stacked_streams(): residual streams computed from the embedding x. merged_streams(): their mean, which the head
/// reads.
TensorId stacked_streams(SegmentBuilder& builder, TensorId x);
TensorId merged_streams(SegmentBuilder& builder, TensorId x, Count rows);

/// The predicted streams p; the layer reads the first of them.
TensorId predicted_streams(SegmentBuilder& builder, TensorId x);
/// The streams `predicted`, corrected by the layer's result.
TensorId corrected_streams(SegmentBuilder& builder, TensorId predicted, TensorId result);
/// The first stream, scaled by `hidden` learned factors; it gates the per-layer input.
TensorId first_stream(SegmentBuilder& builder, TensorId x);
/// Adds y to all streams but the first.
TensorId shared_with_streams(SegmentBuilder& builder, TensorId x, TensorId y);

/// x + norm((x A) B), a branch parallel to attention on the same input x.
TensorId laurel(SegmentBuilder& builder, TensorId x);

}  // namespace llmcalc
