#include "cli/stop.hpp"

#include <sys/time.h>
#include <unistd.h>

#include <csignal>

#include "cli/output.hpp"
#include "text/whole_file.hpp"

namespace llmcalc {
namespace {

std::atomic<bool> stopping = false;
std::atomic<bool> has_limit = false;
std::atomic<int> first_signal = 0;
std::atomic<bool> on_terminal = false;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "signal handlers set it");

void end(int signal) {
  remove_unfinished_files();
  say_raw(on_terminal ? "\r\033[Kstopped\n" : "stopped\n");
  ::_exit(128 + signal);
}

/// Ends the program after 0.9 s if it is still running. It may be waiting for the other end of a pipe, where it
/// cannot check the flag. setitimer is a plain system call, so a signal handler may use it.
void start_limit() {
  constexpr itimerval limit{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 900'000}};
  ::setitimer(ITIMER_REAL, &limit, nullptr);
}

void remember(int signal) {
  if (stopping.exchange(true)) end(signal);
  first_signal = signal;
  if (has_limit) start_limit();
}

void end_at_limit(int) { end(first_signal); }

/// Installs the handler, except for signals that were ignored at startup: nohup ignores SIGHUP, and a shell ignores
/// SIGINT for its background jobs.
void handle_with(void (*handler)(int)) {
  on_terminal = ::isatty(STDERR_FILENO) == 1;
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGHUP, SIGTERM}) {
    struct sigaction before {};
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) ::sigaction(signal, &action, nullptr);
  }
}

const std::atomic<bool>& flag_with_limit(bool limit) {
  has_limit = limit;
  std::signal(SIGALRM, end_at_limit);
  handle_with(remember);
  return stopping;
}

}  // namespace

void stop_at_once() { handle_with(end); }

const std::atomic<bool>& stop_flag() { return flag_with_limit(true); }

const std::atomic<bool>& save_flag() { return flag_with_limit(false); }

int stopped_code() { return 128 + first_signal; }

}  // namespace llmcalc
