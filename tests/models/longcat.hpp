#pragma once
/// Small models with shortcut blocks, and with experts that return their input (LongCat-Flash).

#include "tests/models/tiny.hpp"

namespace llmcalc::test {

std::vector<Variant> shortcut_variants();
std::vector<Variant> returning_variants();

}  // namespace llmcalc::test
