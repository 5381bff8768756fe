#pragma once
/// Runs the program as a user does: arguments in, output and exit code out.

#include <chrono>
#include <string>
#include <vector>

#include "text/json.hpp"

namespace llmcalc::test {

struct Ran {
  int code = 0;
  std::string out, err;
  double seconds_to_end = 0;  ///< from the signal to the exit
};

/// Shell commands around the call: commands before the program ("ulimit -f 1;"), redirections of its streams (">&-"),
/// and commands after it ("| head -1").
struct Shell {
  std::string before{}, streams{}, behind{};
};

/// Runs "llmcalc ARGUMENTS" through a shell, in the root of the source tree.
Ran llmcalc(const std::string& arguments, const Shell& shell = {});

/// Path of a file from tests/cli/measurements, converted by 'llmcalc accuracy convert'.
std::string measurements(const std::string& name);

/// Runs "llmcalc-fit ARGUMENTS" through a shell, in the root of the source tree.
Ran llmcalc_fit(const std::string& arguments);

/// Checks that the exit code is 2, that stderr has exactly this sentence, and that stdout is empty.
void refused(const std::string& arguments, const std::string& sentence);
/// The error message of a run with exit code 2, without the progress that a slow machine may print.
std::string refusal_in(const std::string& arguments);

/// Runs the program without a shell and sends these signals in quick succession, starting once the time
/// `after` has passed since it installed its handlers.
Ran signaled(const std::string& arguments, const std::vector<int>& signals, std::chrono::milliseconds after = {});
/// Sends one Ctrl-C.
Ran interrupted(const std::string& arguments);

/// Sends the signal half a second after the start of a program that waits, for example for a pipe; `input` is its
/// standard input.
Ran signaled_while_waiting(const std::string& arguments, int signal, const std::string& input = "/dev/null");

/// The program's output on a terminal with this many columns.
std::string on_terminal(const std::string& arguments, unsigned short columns);

/// The parsed output of "llmcalc ARGUMENTS --json". Fails the test if the exit code is not 0.
json::Value ask(const std::string& arguments);

/// A folder for this process's files, removed when the program ends.
std::string scratch();
void write_file(const std::string& path, const std::string& text);
std::string read_file(const std::string& path);

}  // namespace llmcalc::test
