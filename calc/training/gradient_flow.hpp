#pragma once
/// Which operators have a backward pass where a part of a model is frozen: as in automatic differentiation a tensor
/// asks for a gradient if a trained weight lies before it.

#include "calc/operator/op.hpp"

namespace llmcalc {

/// Whether the operator has learned numbers, and trains them. A tied head trains the token table.
bool trains(const Op& op);

/// Whether backward runs anything of it: the gradient of its inputs, of its weights, or both.
bool has_backward(const Op& op);
/// Whether its result asks for a gradient: indices have none.
bool result_asks(const Op& op);
/// The first. Products alone can leave it out and do the second: other kernels compute both at once.
bool has_input_gradient(const Op& op);

/// Says of every operator whether its inputs ask for gradients, if the list's input does; of exchanges, that they
/// return no gradients that nobody asks for, and gather nothing again that backward does not read. Returns whether the
/// result asks.
bool mark_asking(OpList& ops, bool input_asks);

}  // namespace llmcalc
