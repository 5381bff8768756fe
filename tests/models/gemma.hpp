#pragma once
/// Small models with what Gemma 4 has of its own.

#include <vector>

#include "tests/models/tiny.hpp"

namespace llmcalc::test {

/// A Llama of four layers: the third and the fourth, which has a window, read the keys and values of the first two.
Arch tiny_sharing();

std::vector<Variant> gemma_variants();

}  // namespace llmcalc::test
