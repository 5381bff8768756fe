#pragma once
/// Mixture of experts: the rows that experts compute for tokens.

#include <algorithm>
#include <vector>

#include "calc/units.hpp"
#include "model/math/numbers.hpp"

namespace llmcalc::model {

/// Gate of an expert that was not chosen. All other gates stay far from this value, even if multiplied by learned
/// factors.
inline constexpr double not_chosen = -1e30;
template <typename W>
bool is_chosen(W gate) {
  return !(gate < number<W>(not_chosen / 1e10));
}

/// Expert e has the rows [first[e], first[e + 1]); row r is for token token[r]. Token t's rows are the top_k elements
/// of `row` starting at t top_k, in expert order.
struct TokenRouting {
  std::vector<Count> first, token, row;
  Count top_k = 0;
};

/// The routing defined by the gates: a token is routed to its top_k chosen experts.
template <typename G>
TokenRouting routing(Count tokens, Count experts, const G* gates) {
  TokenRouting r;
  for (Count e = 0; e < experts; ++e) {
    r.first.push_back(static_cast<Count>(r.token.size()));
    for (Count t = 0; t < tokens; ++t)
      if (is_chosen(wide(gates[t * experts + e]))) r.token.push_back(t);
  }
  r.first.push_back(static_cast<Count>(r.token.size()));
  r.top_k = static_cast<Count>(r.token.size()) / std::max<Count>(1, tokens);
  r.row.resize(r.token.size());
  std::vector<Count> seen(static_cast<std::size_t>(tokens), 0);
  for (std::size_t i = 0; i < r.token.size(); ++i) {
    const Count t = r.token[i];
    r.row[static_cast<std::size_t>(t * r.top_k + seen[static_cast<std::size_t>(t)]++)] = static_cast<Count>(i);
  }
  return r;
}

}  // namespace llmcalc::model
