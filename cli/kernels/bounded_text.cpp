#include "cli/kernels/bounded_text.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "model/storage/machine_memory.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

namespace fs = std::filesystem;

/// Upper bound on memory per byte of text: the byte, its token id and the counted token pairs.
constexpr Count bytes_for_each = 32;
/// Limit on the length of a text when available memory is unknown.
constexpr Count usual_most = Count{1} << 30;

Count longest() {
  const auto available = model::available_memory();
  return available ? available->value / bytes_for_each : usual_most;
}

std::string all_of(std::FILE* file, const std::string& name) {
  const auto most = static_cast<std::size_t>(longest());
  std::string text;
  char buffer[65536];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) {
    text.append(buffer, n);
    if (text.size() > most)
      throw InputError(
          fmt::format("{} exceeds the {} bytes that fit into this machine's memory; pass a part of it", name, most));
  }
  if (std::ferror(file)) throw InputError(fmt::format("cannot read {}: {}", name, std::strerror(errno)));
  return text;
}

}  // namespace

std::string file_text(const std::string& path) {
  std::error_code unknown;
  const fs::file_status status = fs::status(path, unknown);
  if (is_directory(status)) throw InputError(fmt::format("'{}' is a folder; pass a text file", path));
  if (exists(status) && !is_regular_file(status) && !is_fifo(status))
    throw InputError(fmt::format("'{}' is neither a file nor a pipe; pass a text file", path));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) throw InputError(fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
  return all_of(file.get(), fmt::format("'{}'", path));
}

std::string standard_input() { return all_of(stdin, "standard input"); }

}  // namespace llmcalc
