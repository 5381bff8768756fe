#pragma once
/// How many tokens a kernel of a recurrence takes at once.

#include <algorithm>

#include "calc/operator/op.hpp"

namespace llmcalc {

/// Tokens that update the state together: its chunk, or as many as there are; 1: it is updated token by token.
constexpr Count tokens_at_once(const LinearAttention& s) {
  const bool alone = s.rule == StateRule::sum || s.rule == StateRule::diagonal;
  return alone ? 1 : std::max<Count>(1, std::min(s.chunk, s.queries));
}

}  // namespace llmcalc
