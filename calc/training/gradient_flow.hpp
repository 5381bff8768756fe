#pragma once
/// Determines which operators have a backward pass in a partly frozen model. As in automatic differentiation, a
/// tensor requires a gradient if a trained weight precedes it.

#include "calc/operator/op.hpp"

namespace llmcalc {

/// Whether the operator has parameters that are trained. A tied head trains the token embedding.
bool trains(const Op& op);

/// Whether the operator has a backward pass: for the gradient of its inputs, of its weights, or both.
bool has_backward(const Op& op);
/// Whether the operator's result requires a gradient; indices never do.
bool result_asks(const Op& op);
/// Whether backward computes the operator's input gradient. Only matmuls can skip it and compute just the weight
/// gradient; other kernels compute both together.
bool has_input_gradient(const Op& op);

/// Marks every operator whose inputs require gradients. `input_asks`: whether the list's input requires one.
/// Collectives then skip unneeded gradients and regather only tensors that backward reads. Returns whether the result
/// requires a gradient.
bool mark_asking(OpList& ops, bool input_asks);

}  // namespace llmcalc
