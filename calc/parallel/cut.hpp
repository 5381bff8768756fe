#pragma once
/// One rank's share of a list of operators, under the kinds of parallelism that work inside a layer.

#include "calc/parallel/tensor.hpp"

namespace llmcalc {

/// Whether the layout cuts operators at all.
bool is_cut(const Layout& layout);

/// The operators of the most loaded rank.
OpList cut(const OpList& ops, const Layout& layout);

/// Tokens of a step whose residual stream a rank holds.
Count own_tokens(Count tokens, const Layout& layout);

/// Numbers whose gradients the ranks of `group` sum once per step, because each sees only a part of their inputs. The
/// sum over data-parallel ranks is not included.
Count summed_gradients(const OpList& ops, const Layout& layout, Group group);

}  // namespace llmcalc
