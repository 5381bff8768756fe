#include "evidence/rows/published.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <memory>

#include "text/error.hpp"
#include "text/installed.hpp"

namespace llmcalc {
namespace {

constexpr std::string_view measurements_folder = "measurements";

std::filesystem::path published_folder() {
  if (const auto folder = installed(measurements_folder)) return *folder;
  throw InputError(
      "the published measurements are missing: no folder 'measurements' next to the program; copy it there from the "
      "build folder or the release, or pass a file of measurements");
}

/// Decompressed text of a gzip file. Throws InputError.
std::string unzipped(const std::string& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  std::string text;
  std::array<char, 1 << 16> part;
  int got = file ? 1 : -1;
  while (got > 0) {
    got = gzread(file.get(), part.data(), static_cast<unsigned>(part.size()));
    if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
  }
  int state = Z_OK;
  if (file) gzerror(file.get(), &state);
  if (got < 0 || state == Z_BUF_ERROR)  // Z_BUF_ERROR: the file is truncated
    throw InputError(fmt::format("cannot read '{}'; copy it there from the build folder or the release", path));
  return text;
}

}  // namespace

bool has_published() { return installed(measurements_folder).has_value(); }

std::string published_text(std::string_view file) { return unzipped((published_folder() / file).string() + ".gz"); }

}  // namespace llmcalc
