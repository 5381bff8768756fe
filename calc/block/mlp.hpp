#pragma once
/// The operators of a layer's dense MLP or experts.

#include "calc/block/segment_builder.hpp"

namespace llmcalc {

/// A dense MLP of width `width` on x (tokens, hidden).
TensorId dense_mlp(SegmentBuilder& b, TensorId x, Count width);

/// Mixture of experts: router, dispatch of every token to its experts, the experts' MLPs, combination. Zero experts
/// add their input, weighted by the sum of their gates. `routed_by`: the router's input.
TensorId experts(SegmentBuilder& b, TensorId x, TensorId routed_by);

}  // namespace llmcalc
