#include "cli/output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "text/error.hpp"

namespace llmcalc {

void write_out(const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data() + done, text.size() - done);
    if (n >= 0) {
      done += static_cast<std::size_t>(n);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EPIPE) throw PipeClosed();
    if (errno == ENOSPC)
      throw InputError("cannot write the output: the disk is full; free some space and run it again");
    throw InputError(fmt::format("cannot write the output: {}", std::strerror(errno)));
  }
}

}  // namespace llmcalc
