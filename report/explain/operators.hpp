#pragma once
/// Explains rows of --ops: an operator's FLOPs or bytes from the dimensions of its shape.

#include <deque>
#include <string_view>
#include <vector>

#include "report/explain/explanation.hpp"

namespace llmcalc::explain {

/// Whether the model has an operator of this name: "attn.q".
bool is_operator(const Arch& arch, std::string_view name);

struct OperatorExplanations {
  std::deque<Definition> heads;  ///< referenced by the explanations
  std::vector<Explanation> all;
};

/// One explanation per phase and per kind of layer with a different shape, for one layer on one GPU. Empty if the model
/// has no such operator.
OperatorExplanations operator_explanations(const Setting& s, std::string_view name);

}  // namespace llmcalc::explain
