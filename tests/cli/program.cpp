#include "tests/cli/program.hpp"

#include <algorithm>

#include <fcntl.h>
#include <pty.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/catch.hpp"

namespace llmcalc::test {
namespace {

/// The program under test. LLMCALC_TEST_PROGRAM replaces the program built with the tests, for example with a sanitized
/// build.
const std::string& program() {
  static const char* const other = std::getenv("LLMCALC_TEST_PROGRAM");
  static const std::string path = other != nullptr ? other : LLMCALC_PROGRAM;
  return path;
}

struct Scratch {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("llmcalc-test-" + std::to_string(::getpid()));
  Scratch() { std::filesystem::create_directories(path); }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

/// Whether a process has installed its signal handlers (SIGTERM's is the last) or has ended.
bool hears_signals(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string word; status >> word;)
    if (word == "SigCgt:") {
      status >> word;
      return (std::stoull(word, nullptr, 16) >> (SIGTERM - 1) & 1) != 0;
    }
  return true;
}

/// Starts the program without a shell, which would receive the signals itself.
pid_t started(const std::string& arguments, const std::string& out, const std::string& err,
              const std::string& input = {}) {
  std::vector<std::string> words{program()};
  std::istringstream split(arguments);
  for (std::string word; split >> word;) words.push_back(word);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addchdir_np(&actions, LLMCALC_SOURCE_DIR);
  if (!input.empty()) ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input.c_str(), O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawnattr_t heard;  // a shell's background job ignores SIGINT; the started program must not
  ::posix_spawnattr_init(&heard);
  sigset_t interrupt;
  ::sigemptyset(&interrupt);
  ::sigaddset(&interrupt, SIGINT);
  ::posix_spawnattr_setsigdefault(&heard, &interrupt);
  ::posix_spawnattr_setflags(&heard, POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, program().c_str(), &actions, &heard, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&heard);
  REQUIRE(error == 0);
  return pid;
}

}  // namespace

std::string scratch() {
  static const Scratch folder;
  return folder.path.string();
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_file(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

namespace {

Ran ran(const std::string& path, const std::string& arguments, const Shell& shell) {
  const std::string out = scratch() + "/out", err = scratch() + "/err";
  const std::string command = "cd '" LLMCALC_SOURCE_DIR "' && { " + shell.before + " '" + path + "' " + arguments +
                              " 2>'" + err + "' " + shell.streams + "; } " + shell.behind + " >'" + out + "'";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(out), read_file(err), 0};
}

}  // namespace

Ran llmcalc(const std::string& arguments, const Shell& shell) { return ran(program(), arguments, shell); }
std::string measurements(const std::string& name) {
  const std::string path = scratch() + "/" + name + ".jsonl";
  if (std::filesystem::exists(path)) return path;
  const Ran r = llmcalc("accuracy convert tests/cli/measurements/" + name + ".json " + path);
  INFO(r.err);
  REQUIRE(r.code == 0);
  return path;
}

Ran llmcalc_fit(const std::string& arguments) { return ran(LLMCALC_PROGRAM "-fit", arguments, {}); }

namespace {

/// Sends the signals and waits for the end, at most 10 seconds.
double seconds_to_end(pid_t pid, const std::vector<int>& signals, int& status) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  for (const int signal : signals) ::kill(pid, signal);
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    if (seconds() > 10) ::kill(pid, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return seconds();
}

}  // namespace

Ran signaled(const std::string& arguments, const std::vector<int>& signals, std::chrono::milliseconds after) {
  const std::string out = scratch() + "/out", err = scratch() + "/err";
  const pid_t pid = started(arguments, out, err);
  int status = 0;
  while (!hears_signals(pid) && ::waitpid(pid, &status, WNOHANG) == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(after);
  const double seconds = seconds_to_end(pid, signals, status);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(out), read_file(err), seconds};
}

Ran signaled_while_waiting(const std::string& arguments, int signal, const std::string& input) {
  const std::string out = scratch() + "/out", err = scratch() + "/err";
  const pid_t pid = started(arguments, out, err, input);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  int status = 0;
  const double seconds = seconds_to_end(pid, {signal}, status);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);  // as a shell reports it
  return {code, read_file(out), read_file(err), seconds};
}

Ran interrupted(const std::string& arguments) { return signaled(arguments, {SIGINT}); }
std::string on_terminal(const std::string& arguments, unsigned short columns) {
  const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  int terminal = -1;
  const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, &size);
  REQUIRE(pid >= 0);
  if (pid == 0) {
    const std::string command = "cd '" LLMCALC_SOURCE_DIR "' && TERM=xterm exec '" + program() + "' " + arguments;
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  std::string out;
  std::array<char, 4096> part{};
  for (ssize_t n = 0; (n = ::read(terminal, part.data(), part.size())) > 0;)
    out.append(part.data(), static_cast<std::size_t>(n));
  ::close(terminal);
  ::waitpid(pid, nullptr, 0);
  return out;
}

json::Value ask(const std::string& arguments) {
  const Ran r = llmcalc(arguments + " --json");
  INFO("llmcalc " << arguments << "\n" << r.err);
  REQUIRE(r.code == 0);
  return json::parse(r.out, "the report");
}

std::string refusal_in(const std::string& arguments) {
  const Ran r = llmcalc(arguments);
  CHECK(r.code == 2);
  return r.err.substr(std::min(r.err.find("llmcalc: "), r.err.size()));
}

void refused(const std::string& arguments, const std::string& sentence) {
  const Ran r = llmcalc(arguments);
  INFO("llmcalc " << arguments);
  CHECK(r.err == "llmcalc: " + sentence + "\n");
  CHECK(r.code == 2);
  CHECK(r.out.empty());
}

}  // namespace llmcalc::test
