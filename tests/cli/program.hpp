#pragma once
/// The program, run as a user runs it: arguments in, output and exit code out.

#include <chrono>
#include <string>
#include <vector>

#include "text/json.hpp"

namespace llmcalc::test {

struct Ran {
  int code = 0;
  std::string out, err;
  double seconds_to_end = 0;  ///< since the signal
};

/// What a shell is told besides: commands before the program ("ulimit -f 1;"), where its streams go (">&-"), and what
/// stands behind it ("| head -1").
struct Shell {
  std::string before{}, streams{}, behind{};
};

/// "llmcalc ARGUMENTS" through a shell, in the root of the source tree.
Ran llmcalc(const std::string& arguments, const Shell& shell = {});

/// Path of a file of tests/cli/measurements, rewritten by 'llmcalc accuracy convert'.
std::string measurements(const std::string& name);

/// "llmcalc-fit ARGUMENTS", the same.
Ran llmcalc_fit(const std::string& arguments);

/// Exit code 2, this one sentence on stderr, nothing on stdout; fails the test otherwise.
void refused(const std::string& arguments, const std::string& sentence);
/// The sentence of a refusal, with exit code 2, behind progress that a slow machine may show.
std::string refusal_in(const std::string& arguments);

/// The same without a shell, with these signals, one right after the other, so long after the program listens to them.
Ran signalled(const std::string& arguments, const std::vector<int>& signals, std::chrono::milliseconds after = {});
/// With one Ctrl-C.
Ran interrupted(const std::string& arguments);

/// The program's output on a terminal of that many columns.
std::string on_terminal(const std::string& arguments, unsigned short columns);

/// "llmcalc ARGUMENTS --json", parsed; fails the test if the exit code is not 0.
json::Value ask(const std::string& arguments);

/// A folder for this test's files, removed at the end of the program.
std::string scratch();
void write_file(const std::string& path, const std::string& text);
std::string read_file(const std::string& path);

}  // namespace llmcalc::test
