#pragma once
/// Number of tokens that a recurrence kernel processes at once.

#include <algorithm>

#include "calc/operator/op.hpp"

namespace llmcalc {

/// Tokens that update the state together: the chunk, or all queries if fewer; 1: token by token.
constexpr Count tokens_at_once(const LinearAttention& s) {
  const bool alone = s.rule == StateRule::sum || s.rule == StateRule::diagonal;
  return alone ? 1 : std::max<Count>(1, std::min(s.chunk, s.queries));
}

}  // namespace llmcalc
