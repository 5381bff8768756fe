#include "text/installed.hpp"

namespace llmcalc {

std::optional<std::filesystem::path> installed(std::string_view name) {
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
  if (failed) return std::nullopt;
  const std::filesystem::path prefix = folder.parent_path();
  for (const auto& place : {folder, prefix / "lib" / "llmcalc", prefix / "share" / "llmcalc"})
    if (std::filesystem::exists(place / name, failed)) return place / name;
  return std::nullopt;
}

}  // namespace llmcalc
