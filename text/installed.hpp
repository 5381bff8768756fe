#pragma once
/// Files that the program opens at run time: shared libraries and data.

#include <filesystem>
#include <optional>
#include <string_view>

namespace llmcalc {

/// The file or folder `name`, searched for next to the shared library that contains this code or next to the program,
/// and in lib/llmcalc and share/llmcalc of their installation; absent if not found.
std::optional<std::filesystem::path> installed(std::string_view name);

}  // namespace llmcalc
