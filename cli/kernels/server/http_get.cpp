#include "cli/kernels/server/http_get.hpp"

#include <fmt/format.h>

#include "text/error.hpp"

#ifdef LLMCALC_HTTP

#include <httplib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

namespace llmcalc {
namespace {

constexpr unsigned most_seconds = 10;
constexpr std::size_t longest_reply = std::size_t{16} << 20;
constexpr rlim_t memory_of_request = rlim_t{512} << 20;  // includes a thread's stack and copies of the reply

/// The reply as the child sends it: a digit for the kind, and the status and body, or a sentence.
constexpr char answered = '0', failed = '1';

std::string failure_text(httplib::Error error, bool too_long) {
  if (too_long) return fmt::format("the reply exceeds {} MiB", longest_reply >> 20);
  if (error == httplib::Error::Connection) return "no connection";
  if (error == httplib::Error::ConnectionTimeout) return fmt::format("no connection in {} s", most_seconds);
  return "no valid HTTP reply";
}

std::string requested(const ServerAddress& server, const std::string& path) {
  httplib::Client client(server.host, server.port);
  client.set_connection_timeout(most_seconds);
  client.set_read_timeout(most_seconds);
  std::string body;
  bool too_long = false;
  const auto result = client.Get(server.path + path, httplib::Headers{{"Accept", "text/plain, application/json"}},
                                 [&](const char* data, std::size_t n) {
                                   too_long = body.size() + n > longest_reply;
                                   if (!too_long) body.append(data, n);
                                   return !too_long;
                                 });
  if (!result) return failed + failure_text(result.error(), too_long);
  return fmt::format("{}{:03} {}", answered, result->status, body);
}

/// Limits the time and memory of this process.
void limit_process() {
  for (const int signal : {SIGINT, SIGHUP, SIGTERM, SIGALRM}) std::signal(signal, SIG_DFL);
  ::alarm(most_seconds);
  std::ifstream sizes("/proc/self/statm");
  rlim_t pages = 0;
  if (!(sizes >> pages)) return;
  const rlim_t most = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + memory_of_request;
  const rlimit limit{.rlim_cur = most, .rlim_max = most};
  ::setrlimit(RLIMIT_AS, &limit);
  const rlimit no_dump{};
  ::setrlimit(RLIMIT_CORE, &no_dump);
}

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(file, text.data(), text.size());
    if (n < 0 && errno != EINTR) return;
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
}

[[noreturn]] void run_child(int file, const ServerAddress& server, const std::string& path) {
  limit_process();
  int code = 1;
  try {
    write_all(file, requested(server, path));
    code = 0;
  } catch (...) {  // out of memory, or a reply that the library cannot parse
  }
  ::_exit(code);
}

std::string read_all(int file) {
  std::string text;
  char buffer[65536];
  for (ssize_t n = 0; (n = ::read(file, buffer, sizeof buffer)) != 0;) {
    if (n < 0 && errno != EINTR) break;
    if (n > 0) text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

[[noreturn]] void refuse_reply(const ServerAddress& server, const std::string& path, const std::string& why) {
  throw InputError(
      fmt::format("cannot read {}{}: {}; check the address, and that the server runs", server.url(), path, why));
}

/// The child's text; a sentence about its end if it sent no text.
std::string text_of_child(int file, pid_t child) {
  const std::string text = read_all(file);
  ::close(file);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !text.empty()) return text;
  const bool late = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
  return failed + (late ? fmt::format("no complete reply in {} s", most_seconds) : "no valid HTTP reply");
}

}  // namespace

void need_http_client() {}

HttpReply http_get(const ServerAddress& server, const std::string& path) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) refuse_reply(server, path, std::strerror(errno));
  const pid_t child = ::fork();
  if (child == 0) run_child(ends[1], server, path);
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    refuse_reply(server, path, std::strerror(errno));
  }
  const std::string text = text_of_child(ends[0], child);
  if (text.front() == failed) refuse_reply(server, path, text.substr(1));
  return {.status = static_cast<int>(std::strtol(text.substr(1, 3).c_str(), nullptr, 10)), .body = text.substr(5)};
}

}  // namespace llmcalc

#else

namespace llmcalc {

void need_http_client() {
  throw InputError(
      "--server needs the library cpp-httplib, which was missing when llmcalc was built; install it (Debian: "
      "libcpp-httplib-dev, pkg-config) and rebuild, or save the server's metrics twice (curl URL/metrics) and pass "
      "--bench BEFORE --bench AFTER --seconds N");
}

HttpReply http_get(const ServerAddress&, const std::string&) {
  need_http_client();
  return {};
}

}  // namespace llmcalc

#endif
