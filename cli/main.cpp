#include <fcntl.h>
#include <unistd.h>

#include <csignal>

#include "cli/command.hpp"

namespace {

/// Opens any closed standard stream in the wrong direction, so that no later file gets its descriptor and every use
/// of it fails.
void fill_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/// Ignores SIGPIPE and SIGXFSZ. A pipe without a reader, or a file at its size limit, then causes a write error,
/// which is handled.
void ignore_signals_of_writing() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace

int main(int argc, char** argv) {
  fill_closed_streams();
  ignore_signals_of_writing();
  const std::vector<std::string> args(argv + 1, argv + argc);
  return llmcalc::run_llmcalc(args);
}
