#pragma once
/// One rank's share of a list of operators, under the kinds of parallelism within a layer.

#include "calc/parallel/cached.hpp"
#include "calc/parallel/context.hpp"
#include "calc/parallel/expert.hpp"
#include "calc/parallel/tensor.hpp"
#include "calc/parallel/vocabulary.hpp"

namespace llmcalc {

/// Whether the layout shards any operators.
bool is_cut(const Layout& layout);

/// The operators of the most loaded rank. First, experts are divided over ranks, for all tokens; then columns, rows
/// and heads are sharded across tensor-parallel ranks; finally, tokens across context-parallel ranks.
OpList cut(const OpList& ops, const Layout& layout);

/// Number of tokens of a step in one rank's residual stream.
Count own_tokens(Count tokens, const Layout& layout);

/// Number of parameters whose gradients the ranks of `group` all-reduce once per step, because each rank has only a
/// part of their inputs. Excludes the reduction across data- and context-parallel ranks, which see different tokens
/// and therefore reduce the gradients of all weights.
Count summed_gradients(const OpList& ops, const Layout& layout, Group group);

}  // namespace llmcalc
