#pragma once
/// What one operator costs, in symbols.

#include <string>

#include "calc/op.hpp"
#include "calc/pricing.hpp"

namespace llmcalc {

/// FLOPs of the operator's forward pass by the dimensions of its shape: "2*rows*in*out"; backward is twice that. An
/// operator without matmuls is priced by its bytes: "bytes: 3*p*rows*width".
std::string operator_formula(const Op& op, Phase phase);

}  // namespace llmcalc
