#pragma once
/// The cost of one operator, in symbols.

#include <optional>
#include <string>

#include "calc/operator/op.hpp"
#include "calc/operator/pricing.hpp"
#include "report/explain/formula.hpp"
#include "report/report.hpp"
#include "text/format.hpp"

namespace llmcalc {

/// The formula of an operator and the quantity that it counts.
struct OperatorFormula {
  enum class Counts : std::uint8_t {
    flops,            ///< model FLOPs of the forward pass: "2*rows*in*out"; the backward pass has twice as many
    bytes,            ///< activations read and written by an operator without matmuls
    collective_call,  ///< bytes of a collective's message
    operands          ///< bytes that a matmul reads: its input, and one matrix
  };
  Counts counts{};
  explain::Formula formula;
  Quantity value;  ///< value as computed by the engine
};
OperatorFormula operator_formula(const Op& op, const Pricing& p);

/// The bytes of a matmul's operands, if both are in a format with scales.
std::optional<OperatorFormula> operand_formula(const Op& op, const Pricing& p);

/// The formula in a table: "2*rows*in*out", "bytes: 3*p*rows*width".
std::string operator_formula_text(const Op& op, const Pricing& p);

}  // namespace llmcalc
