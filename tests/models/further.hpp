#pragma once
/// Small models with modules for further tokens (DeepSeek-V3).

#include "tests/models/tiny.hpp"

namespace llmcalc::test {

/// The architecture with n modules like its last layer, and a plan that has all of them.
Variant with_modules(const char* name, const Arch& arch, Count n);

std::vector<Variant> further_variants();

}  // namespace llmcalc::test
