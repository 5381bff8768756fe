#include "text/installed.hpp"

namespace llmcalc {

std::optional<std::filesystem::path> installed(std::string_view name) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  if (error) return std::nullopt;
  const std::filesystem::path prefix = folder.parent_path();
  for (const auto& place : {folder, prefix / "lib" / "llmcalc", prefix / "share" / "llmcalc"})
    if (std::filesystem::exists(place / name, error)) return place / name;
  return std::nullopt;
}

}  // namespace llmcalc
