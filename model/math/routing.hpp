#pragma once
/// Mixture of experts: the routing of tokens to experts and back.

#include <algorithm>
#include <vector>

#include "calc/units.hpp"
#include "model/math/numbers.hpp"

namespace llmcalc::model {

/// Rows of expert e are first[e] to first[e + 1]; row r is token token[r]. Those of token t are row[t top_k] and on,
/// experts in order.
struct Routing {
  std::vector<Count> first, token, row;
  Count top_k = 0;
};

/// The routing from the gates: a token visits the top_k experts whose gate is not negative.
template <typename G>
Routing routing(Count tokens, Count experts, const G* gates) {
  Routing r;
  for (Count e = 0; e < experts; ++e) {
    r.first.push_back(static_cast<Count>(r.token.size()));
    for (Count t = 0; t < tokens; ++t)
      if (!(wide(gates[t * experts + e]) < Wide<G>(0))) r.token.push_back(t);
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
