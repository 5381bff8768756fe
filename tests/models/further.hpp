#pragma once
/// Small models with MTP modules (DeepSeek-V3).

#include "tests/models/tiny.hpp"

namespace llmcalc::test {

/// The architecture with n MTP modules of the same form as its last layer, and a plan that uses all n.
Variant with_modules(const char* name, const Arch& arch, Count n);

std::vector<Variant> further_variants();

}  // namespace llmcalc::test
