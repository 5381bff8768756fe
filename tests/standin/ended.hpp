#pragma once
/// Exit code and stderr output of a process.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>

namespace llmcalc::standin {

struct Ended {
  int code = 0;
  std::string err;
};

inline std::string read_all(int from) {
  std::string all;
  char buffer[256];
  for (ssize_t n = 0; (n = ::read(from, buffer, sizeof buffer)) > 0;) all.append(buffer, static_cast<std::size_t>(n));
  return all;
}

/// Runs f() in a child process that then exits normally.
template <typename F>
Ended ended(const F& f) {
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  std::cout.flush();  // buffered output must not reach the child
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    f();
    std::exit(0);
  }
  ::close(ends[1]);
  Ended e{0, read_all(ends[0])};
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  e.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return e;
}

}  // namespace llmcalc::standin
