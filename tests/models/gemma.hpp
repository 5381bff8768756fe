#pragma once
/// Small models with features specific to Gemma 3n and Gemma 4.

#include <vector>

#include "tests/models/tiny.hpp"

namespace llmcalc::test {

/// A Llama with four layers. The third and the fourth, which has a window, reuse the keys and values of the first two.
Arch tiny_sharing();

std::vector<Variant> gemma_variants();

}  // namespace llmcalc::test
