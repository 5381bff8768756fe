#include "text/installed.hpp"

#include <dlfcn.h>
#include <link.h>

namespace llmcalc {
namespace {

namespace fs = std::filesystem;

/// The folder of the shared library that contains this code; empty if a program contains it.
fs::path library_folder() {
  static const char here = 0;
  Dl_info info{};
  link_map* library = nullptr;
  if (::dladdr1(&here, &info, reinterpret_cast<void**>(&library), RTLD_DL_LINKMAP) == 0 || library == nullptr)
    return {};
  const fs::path path = library->l_name;  // empty for a program
  std::error_code failed;
  return path.empty() ? fs::path() : fs::absolute(path, failed).parent_path();
}

fs::path program_folder() {
  std::error_code failed;
  return fs::read_symlink("/proc/self/exe", failed).parent_path();
}

/// Searches in `folder` and in the installation whose programs or libraries are in it: PREFIX/bin, PREFIX/lib or
/// PREFIX/lib/x86_64-linux-gnu.
std::optional<fs::path> installed_near(const fs::path& folder, std::string_view name) {
  if (folder.empty()) return std::nullopt;
  std::error_code failed;
  if (fs::exists(folder / name, failed)) return folder / name;
  const fs::path above = folder.parent_path();
  for (const fs::path& prefix : {above, above.parent_path()})
    for (const char* place : {"lib/llmcalc", "share/llmcalc"})
      if (fs::exists(prefix / place / name, failed)) return prefix / place / name;
  return std::nullopt;
}

}  // namespace

std::optional<fs::path> installed(std::string_view name) {
  const auto found = installed_near(library_folder(), name);
  return found ? found : installed_near(program_folder(), name);
}

}  // namespace llmcalc
