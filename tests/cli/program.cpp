#include "tests/cli/program.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/catch.hpp"

namespace llmcalc::test {
namespace {

struct Scratch {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("llmcalc-test-" + std::to_string(::getpid()));
  Scratch() { std::filesystem::create_directories(path); }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

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

Ran llmcalc(const std::string& arguments, const std::string& pipe) {
  const std::string out = scratch() + "/out", err = scratch() + "/err";
  const std::string command = "cd '" LLMCALC_SOURCE_DIR "' && { '" LLMCALC_PROGRAM "' " + arguments + " 2>'" + err +
                              "'; } " + (pipe.empty() ? "" : pipe + " ") + ">'" + out + "'";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(out), read_file(err)};
}

json::Value ask(const std::string& arguments) {
  const Ran r = llmcalc(arguments + " --json");
  INFO("llmcalc " << arguments << "\n" << r.err);
  REQUIRE(r.code == 0);
  return json::parse(r.out, "the report");
}

}  // namespace llmcalc::test
