#include "cli/output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "text/error.hpp"
#include "text/whole_file.hpp"

namespace llmcalc {

void write_out(const std::string& text) {
  const int error = write_all(STDOUT_FILENO, std::as_bytes(std::span(text)));
  if (error == EPIPE) throw PipeClosed();
  if (error == ENOSPC) throw InputError("cannot write the output: the disk is full; free some space and run it again");
  if (error != 0) throw InputError(fmt::format("cannot write the output: {}", std::strerror(error)));
}

void say(const std::string& line) { say_raw(line + "\n"); }

void say_raw(std::string_view text) noexcept { write_all(STDERR_FILENO, std::as_bytes(std::span(text))); }

}  // namespace llmcalc
