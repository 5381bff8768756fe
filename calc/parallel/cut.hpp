#pragma once
/// One rank's share of a list of operators: every kind of parallelism that works inside a layer, one pass each.

#include "calc/parallel/tensor.hpp"

namespace llmcalc {

/// Does the layout cut operators at all?
bool is_cut(const Layout& layout);

/// The operators of the most loaded rank.
OpList cut(const OpList& ops, const Layout& layout);

/// Tokens of a step whose residual stream a rank holds.
Count own_tokens(Count tokens, const Layout& layout);

/// Numbers whose gradients the ranks of `group` sum once per step, because each of them sees its own part of what they
/// worked on. Data-parallel ranks sum all of them, and are not meant here.
Count summed_gradients(const OpList& ops, const Layout& layout, Group group);

}  // namespace llmcalc
