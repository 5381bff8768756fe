#pragma once
/// Small models that mix their residual streams (Kimi K3).

#include <vector>

#include "tests/models/tiny.hpp"

namespace llmcalc::test {

std::vector<Variant> mixed_variants();

}  // namespace llmcalc::test
