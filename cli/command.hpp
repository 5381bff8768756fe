#pragma once
/// The sub-commands. One file each in commands/; a new one is a file there and a line in commands().

#include <span>
#include <string_view>

#include "cli/arguments.hpp"

namespace llmcalc {

struct Command {
  std::string_view name, arguments, summary;
  int (*run)(Args args);  ///< the exit code; throws InputError
};

std::span<const Command> commands();

/// Runs "llmcalc ARGS...": exit code 0 answer, 1 something moved, 2 bad input. Prints mistakes on stderr.
int run_llmcalc(Args args);

int run_explain(Args args);
int run_scaling(Args args);
int run_collective(Args args);
int run_list(Args args);
int run_show(Args args);
int run_import(Args args);
int run_check(Args args);
int run_learn(Args args);
int run_generate(Args args);
int run_validate(Args args);
int run_calibrate(Args args);

}  // namespace llmcalc
