#pragma once
/// Chunk length of recurrence kernels.

#include <algorithm>

#include "calc/operator/op.hpp"

namespace llmcalc {

/// Number of tokens that a kernel processes together: the chunk length, or the number of queries if that is smaller;
/// 1: token by token.
constexpr Count tokens_at_once(const LinearAttention& s) {
  const bool alone = s.rule == StateRule::sum || s.rule == StateRule::diagonal;
  return alone ? 1 : std::max<Count>(1, std::min(s.chunk, s.queries));
}

}  // namespace llmcalc
