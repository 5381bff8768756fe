#include "evidence/published.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/installed.hpp"
#include "text/json.hpp"

namespace llmcalc {
namespace {

constexpr std::string_view measurements_folder = "measurements";

std::filesystem::path published_folder() {
  if (const auto folder = installed(measurements_folder)) return *folder;
  throw InputError(
      "the published measurements are missing: there is no folder 'measurements' next to the program; copy it there "
      "from the build folder or the release, or give a file of measurements");
}

}  // namespace

bool has_published() { return installed(measurements_folder).has_value(); }

std::string published_text(std::string_view file) { return json::file_text((published_folder() / file).string()); }

std::vector<std::string> published_run_names() {
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& file : std::filesystem::directory_iterator(published_folder() / "serving", failed))
    names.push_back(file.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace llmcalc
