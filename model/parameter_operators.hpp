#pragma once
/// The operator that reads a parameter, from whose shape and component follow its format and how it is updated.

#include <map>
#include <string>

#include "calc/block/block.hpp"
#include "model/weights.hpp"

namespace llmcalc::model {

/// A parameter's name: its layer (-1: none), its operator and what it is there ("weight").
struct ParameterName {
  Count layer = -1;
  std::string op, what;
  explicit ParameterName(const std::string& whole);
};

class ParameterOperators {
 public:
  /// Those of a step of the plan.
  ParameterOperators(const Arch& arch, const Plan& plan, Step step);
  const Op& of(const ParameterShape& p) const;
  /// Whether it is the matrix of a product or a table; biases, sinks, factors and the taps of convolutions are vectors.
  bool is_matrix(const ParameterShape& p) const;

 private:
  LayerKinds kinds_;
  Count halves_;
  Count layers_;
  std::map<std::pair<Count, std::string>, Op> all_;     ///< by the first layer of their kind, or one of these, and name
  static constexpr Count of_none = -1, of_module = -2;  ///< of an embedding or a head; of modules for further tokens
};

}  // namespace llmcalc::model
