#pragma once
/// Small models whose layers reuse the weights of others (ALBERT, Ouro).

#include <vector>

#include "tests/models/tiny.hpp"

namespace llmcalc::test {

std::vector<Variant> repeating_variants();

}  // namespace llmcalc::test
