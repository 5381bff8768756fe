#pragma once
/// Rows of --ops, explained: an operator's FLOPs or bytes by the dimensions of its shape.

#include <deque>
#include <string_view>
#include <vector>

#include "report/explain/explanation.hpp"

namespace llmcalc::explain {

/// Does any model have an operator of this name: "attn.q"?
bool is_operator(const Arch& arch, std::string_view name);

struct OperatorExplanations {
  std::deque<Definition> heads;  ///< which the explanations point to
  std::vector<Explanation> all;
};

/// One per phase and kind of layer in which its shape differs: of one layer on one GPU. Empty if the model has no such
/// operator.
OperatorExplanations operator_explanations(const Setting& s, std::string_view name);

}  // namespace llmcalc::explain
