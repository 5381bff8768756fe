#pragma once
/// RWKV-7 in small.

#include "tests/models/tiny.hpp"

namespace llmcalc::test {

/// Three layers, the first of which hands its values on. chunk: tokens that are taken at once; 0: one. Heads of 8: of
/// fewer numbers, norms of outputs near 0 bend so much that central differences are coarse.
Variant rwkv7(Count chunk);

std::vector<Variant> rwkv_variants();

}  // namespace llmcalc::test
