#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "text/file_access.hpp"
#include "text/json.hpp"

namespace llmcalc::json {

namespace {

[[noreturn]] void too_long(const std::string& path, std::uintmax_t bytes, std::size_t most) {
  const bool large = bytes >= (std::uintmax_t{1} << 30);
  const double size = static_cast<double>(bytes) / (large ? 0x1p30 : 0x1p20);
  throw InputError(
      fmt::format("{} is {:.1f} {}, above the limit of {} MiB", path, size, large ? "GiB" : "MiB", most >> 20));
}

void refuse_unless_a_file(const std::string& path, std::string_view expected) {
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  if (status.type() == std::filesystem::file_type::not_found)
    throw InputError(fmt::format("cannot read '{}': no such file", path));
  if (status.type() == std::filesystem::file_type::none)
    throw InputError(fmt::format("cannot read '{}': {}", path, failed.message()));
  if (is_directory(status)) throw InputError(fmt::format("cannot read '{}': it is a folder; pass {}", path, expected));
  if (!is_regular_file(status) && !is_fifo(status))
    throw InputError(fmt::format("cannot read '{}': it is not a regular file; pass {}", path, expected));
}

/// Reads a stream to its end. The length of a pipe is not known in advance.
std::string stream_text(std::istream& in, const std::string& path, std::size_t most) {
  std::string text;
  std::array<char, 65536> buffer{};
  while (in.read(buffer.data(), buffer.size()) || in.gcount() > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > most) throw InputError(fmt::format("{} exceeds the limit of {} MiB", path, most >> 20));
  }
  if (in.bad()) throw InputError(fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
  return text;
}

}  // namespace

std::string file_text(const std::string& path, std::string_view expected, std::size_t most) {
  require_file_access(path);
  errno = 0;
  if (path == standard_input) return stream_text(std::cin, path, most);
  refuse_unless_a_file(path, expected);
  std::error_code unknown;
  const auto size = std::filesystem::file_size(path, unknown);
  if (!unknown && size > most) too_long(path, size, most);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
  return stream_text(file, path, most);
}

}  // namespace llmcalc::json
