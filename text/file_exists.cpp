#include "text/file_exists.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "text/error.hpp"
#include "text/file_access.hpp"
#include "text/names.hpp"

namespace llmcalc {

bool file_exists(const std::string& path) {
  if (!has_file_access()) return false;
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  if (status.type() != std::filesystem::file_type::none || failed == std::errc::filename_too_long)
    return exists(status);
  throw InputError(fmt::format("cannot access '{}': {}", shortened(path, 200), failed.message()));
}

}  // namespace llmcalc
