#pragma once
/// The program, run as a user runs it: arguments in, output and exit code out.

#include <string>

#include "text/json.hpp"

namespace llmcalc::test {

struct Ran {
  int code = 0;
  std::string out, err;
};

/// "llmcalc ARGUMENTS" through a shell, in the root of the source tree. `pipe` is put behind it ("| head -1").
Ran llmcalc(const std::string& arguments, const std::string& pipe = "");

/// The same, with one Ctrl-C as soon as the program listens to it.
Ran interrupted(const std::string& arguments);

/// "llmcalc ARGUMENTS --json", parsed; fails the test if the exit code is not 0.
json::Value ask(const std::string& arguments);

/// A folder for this test's files, removed at the end of the program.
std::string scratch();
void write_file(const std::string& path, const std::string& text);
std::string read_file(const std::string& path);

}  // namespace llmcalc::test
