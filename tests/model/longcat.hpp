#pragma once
/// Small models with shortcut blocks (LongCat-Flash).

#include "tests/model/tiny.hpp"

namespace llmcalc::test {

std::vector<Variant> shortcut_variants();

}  // namespace llmcalc::test
