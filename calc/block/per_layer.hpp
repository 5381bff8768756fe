#pragma once
/// Inputs of their own for every layer (hf gemma3n/modeling_gemma3n.py, gemma4/modeling_gemma4.py):
///   e = (table[ids] + norm(x W)) / sqrt 2      once, for all layers: (tokens, layers p)
///   y = x + norm((act(x G) * e_i) P)           at the end of layer i, with its part of e: (tokens, p)
/// Matrices and norms are whole on every rank, the table is cut like the token table. e is alive until the last layer
/// has run, and kept for backward once; there the gradient of a layer's part takes its place. Constant factors and the
/// cut of e into parts, which are views of it, are left out.

#include "calc/block/segment_builder.hpp"

namespace llmcalc {

/// e from the embedding x, which stays the segment's result.
void make_per_layer_inputs(SegmentBuilder& builder, TensorId x);

/// norm((act(x G) * e_i) P), and with x the layer's last sum.
TensorId per_layer_input(SegmentBuilder& builder, TensorId x);
TensorId add_per_layer_input(SegmentBuilder& builder, TensorId x);

}  // namespace llmcalc
