#pragma once
/// Per-layer inputs (hf gemma3n/modeling_gemma3n.py, gemma4/modeling_gemma4.py):
///   e = (table[ids] + norm(x W)) / sqrt 2      once, for all layers: (tokens, layers p)
///   y = x + norm((act(x G) * e_i) P)           at the end of layer i, with its part of e: (tokens, p)
/// Matrices and norms are replicated on every rank; the table is sharded like the token embedding. e is live until
/// the last layer has run, and is saved for backward once. In backward, the gradient of a layer's part overwrites
/// this part. Not counted: constant factors, and splitting e into parts, which are views.

#include "calc/block/segment_builder.hpp"

namespace llmcalc {

/// Computes e from the embedding x, which remains the segment's result.
void make_per_layer_inputs(SegmentBuilder& builder, TensorId x);

/// Computes norm((act(x G) * e_i) P). add_per_layer_input() also adds it to x, as the last addition of the layer.
TensorId per_layer_input(SegmentBuilder& builder, TensorId x);
TensorId add_per_layer_input(SegmentBuilder& builder, TensorId x);

}  // namespace llmcalc
