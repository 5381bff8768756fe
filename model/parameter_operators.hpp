#pragma once
/// The operator that reads a parameter. Its shape and component determine the parameter's format and how it is updated.

#include <map>
#include <string>

#include "calc/block/block.hpp"
#include "model/weights.hpp"

namespace llmcalc::model {

/// A parsed parameter name: layer (-1: outside the layers), operator, and role in the operator ("weight").
struct ParameterName {
  Count layer = -1;
  std::string op, what;
  explicit ParameterName(const std::string& whole);
};

class ParameterOperators {
 public:
  /// Operators of one step of the plan.
  ParameterOperators(const Arch& arch, const Plan& plan, Step step);
  const Op& of(const ParameterShape& p) const;
  /// Whether p is the matrix of a matmul or a lookup table. Biases, sinks, factors and convolution taps are vectors.
  bool is_matrix(const ParameterShape& p) const;

 private:
  LayerKinds kinds_;
  Count halves_;
  Count layers_;
  std::map<std::pair<Count, std::string>, Op>
      all_;  ///< keyed by the first layer of the kind (or a constant below) and the operator name
  static constexpr Count of_none = -1, of_module = -2;  ///< embeddings and heads; MTP modules
};

}  // namespace llmcalc::model
