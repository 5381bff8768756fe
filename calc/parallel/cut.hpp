#pragma once
/// One rank's share of a list of operators, under the kinds of parallelism that work inside a layer.

#include "calc/parallel/context.hpp"
#include "calc/parallel/expert.hpp"
#include "calc/parallel/tensor.hpp"
#include "calc/parallel/vocabulary.hpp"

namespace llmcalc {

/// Whether the layout shards any operators.
bool is_cut(const Layout& layout);

/// The operators of the most loaded rank. First experts are divided, on all tokens; then columns, rows and heads are
/// sharded across tensor-parallel ranks, and finally tokens across context-parallel ranks.
OpList cut(const OpList& ops, const Layout& layout);

/// Tokens of a step in one rank's residual stream.
Count own_tokens(Count tokens, const Layout& layout);

/// Parameters whose gradients the ranks of `group` sum once per step because each rank sees only part of their inputs.
/// Excludes the sum across data-parallel ranks and the one across context ranks, which is merged with it: these ranks
/// see other tokens, so all weights of a rank are summed.
Count summed_gradients(const OpList& ops, const Layout& layout, Group group);

}  // namespace llmcalc
