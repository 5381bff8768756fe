// One signal ends every command within a second, even while it waits for the other end of a pipe.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

/// A named pipe in the scratch folder. If `held`, the test keeps the pipe open, so that opening it does not block but
/// reading from it does.
class Pipe {
 public:
  explicit Pipe(const std::string& name, bool held = false) : path_(test::scratch() + "/" + name) {
    std::filesystem::remove(path_);
    REQUIRE(::mkfifo(path_.c_str(), 0600) == 0);
    if (held) file_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  }
  ~Pipe() {
    if (file_ >= 0) ::close(file_);
    std::filesystem::remove(path_);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int file_ = -1;
};

void ends(const std::string& command, int signal, const std::string& input = "/dev/null") {
  const test::Ran r = test::signaled_while_waiting(command, signal, input);
  INFO("llmcalc " << command << ", signal " << signal << "\n" << r.err);
  CHECK(r.code == 128 + signal);
  CHECK(r.seconds_to_end < 1.5);  // a second, and the delays of a busy machine
  CHECK(r.out.empty());
}

}  // namespace

TEST_CASE("one signal ends a command that waits for its standard input", "[interrupt][cli]") {
  const Pipe input("input", true);
  const char* const commands[] = {"params -",
                                  "serve - --hardware h100 --rate 1",
                                  "sweep params -",
                                  "train gpt2 --hardware -",
                                  "serve gpt2 --hardware h100 --requests -",
                                  "train --from - --hardware h100",
                                  "diagnose -",
                                  "accuracy training -",
                                  "check --baseline -",
                                  "generate none.safetensors"};
  for (const char* command : commands)
    for (const int signal : {SIGINT, SIGTERM}) ends(command, signal, input.path());
}

TEST_CASE("one signal ends a command that waits for the writer of a pipe", "[interrupt][cli]") {
  const Pipe file("file.json");
  const std::string hardware = " --hardware h100 ", path = file.path();
  for (const std::string& command :
       {"infer " + path + hardware, "serve gpt2 --rate 1 --hardware " + path,
        "serve gpt2 --requests " + path + hardware, "sweep train gpt2 --hardware " + path,
        "serve gpt2 --rate 1 --from " + path + hardware, "plan serve gpt2 --rate 1 --hardware " + path,
        "compare " + path + " " + path, "learn " + path, "validate " + path})
    for (const int signal : {SIGINT, SIGTERM}) ends(command, signal);
}

TEST_CASE("one signal ends a command that waits for the reader of a pipe", "[interrupt][cli]") {
  const Pipe csv("file.csv"), file("file.json");
  const std::string train = "train gpt2 --hardware h100 --trace ", serve = "serve gpt2 --hardware h100 --rate 1 ";
  for (const std::string& command :
       {"sweep params gpt2 --out " + csv.path(), train + file.path(), serve + "--num-requests 5 --trace " + file.path(),
        "accuracy convert tests/cli/measurements/dense.json " + file.path()})
    for (const int signal : {SIGINT, SIGTERM}) ends(command, signal);
}

TEST_CASE("one signal ends a search that is slow to stop", "[interrupt][cli]") {
  const test::Ran r = test::signaled("plan train llama-3.1-405b --hardware h100 --gpus 1024 --largest layers", {SIGINT},
                                     std::chrono::milliseconds(1000));
  CHECK(r.code == 130);
  CHECK(r.seconds_to_end < 1.5);
}
