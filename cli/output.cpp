#include "cli/output.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "text/error.hpp"
#include "text/names.hpp"
#include "text/whole_file.hpp"

namespace llmcalc {
namespace {

/// The value of an environment variable; empty if not set.
const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

void write_out(const std::string& text) {
  const int error = write_all(STDOUT_FILENO, std::as_bytes(std::span(text)));
  if (error == EPIPE) throw PipeClosed();
  if (error == ENOSPC) throw InputError("cannot write the output: the disk is full; free some space and rerun");
  if (error != 0) throw InputError(fmt::format("cannot write the output: {}", std::strerror(error)));
}

void say(const std::string& line) { say_raw(printable(line) + "\n"); }

void say_raw(std::string_view text) noexcept { write_all(STDERR_FILENO, std::as_bytes(std::span(text))); }
std::size_t output_columns() {
  constexpr int least = 40, most = 1000;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::max<std::size_t>(size.ws_col, least);
  const int stated = std::atoi(environment("COLUMNS"));
  return stated > 0 ? static_cast<std::size_t>(std::clamp(stated, least, most)) : 80;
}

bool output_color() {
  return ::isatty(STDOUT_FILENO) == 1 && *environment("NO_COLOR") == '\0' &&
         environment("TERM") != std::string_view("dumb");
}

}  // namespace llmcalc
