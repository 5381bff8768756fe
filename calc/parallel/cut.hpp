#pragma once
/// One rank's share of a list of operators, under the kinds of parallelism that work inside a layer.

#include "calc/parallel/context.hpp"
#include "calc/parallel/expert.hpp"
#include "calc/parallel/tensor.hpp"
#include "calc/parallel/vocabulary.hpp"

namespace llmcalc {

/// Whether the layout cuts operators at all.
bool is_cut(const Layout& layout);

/// The operators of the most loaded rank: experts are divided first, on all tokens; then columns, rows and heads are
/// cut over tensor-parallel ranks, and at last tokens over context-parallel ones.
OpList cut(const OpList& ops, const Layout& layout);

/// Tokens of a step whose residual stream a rank holds.
Count own_tokens(Count tokens, const Layout& layout);

/// Numbers whose gradients the ranks of `group` sum once per step, because each sees only a part of their inputs. The
/// sum over data-parallel ranks is not included, nor that over context ranks, which is one with it: both see other
/// tokens, so that all of a rank's weights are summed.
Count summed_gradients(const OpList& ops, const Layout& layout, Group group);

}  // namespace llmcalc
