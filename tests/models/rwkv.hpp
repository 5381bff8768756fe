#pragma once
/// Small RWKV-7 models.

#include "tests/models/tiny.hpp"

namespace llmcalc::test {

/// Three layers; the first shares its values with the others. chunk: tokens processed together; 0: one at a time. Heads
/// have 8 elements: with fewer, output norms near 0 curve so much that central differences are inaccurate.
Variant rwkv7(Count chunk);

std::vector<Variant> rwkv_variants();

}  // namespace llmcalc::test
