#pragma once
/// The commit from which the program was built.

#include <string_view>

namespace llmcalc {

/// Its abbreviated hash: "f2785b26"; empty outside a repository.
std::string_view commit();

}  // namespace llmcalc
