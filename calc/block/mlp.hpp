#pragma once
/// The operators of a layer's MLP: a dense one, or experts.

#include "calc/block/segment_builder.hpp"

namespace llmcalc {

/// A dense MLP of that width on x (tokens, hidden).
TensorId dense_mlp(SegmentBuilder& b, TensorId x, Count width);

/// Mixture of experts: router, dispatch of every token to its experts, their MLPs, combination; with experts that
/// return their input, that is added under the sum of their gates. `routed_by`: what the router reads.
TensorId experts(SegmentBuilder& b, TensorId x, TensorId routed_by);

}  // namespace llmcalc
