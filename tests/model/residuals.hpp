#pragma once
/// Small models whose residual stream is more than a sum.

#include "tests/model/tiny.hpp"

namespace llmcalc::test {

/// Several residual streams (hyper-connections).
std::vector<Variant> residual_variants();

}  // namespace llmcalc::test
