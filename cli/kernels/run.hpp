#pragma once
/// Commands that run the reference transformer. The kernel library defines them; the program's own definitions
/// (cli/open_kernels.cpp) open this library and forward to it.

#include "report/commands/arguments.hpp"

namespace llmcalc {

/// Each function returns an exit code, and throws InputError for bad input.
int run_validate(const Arguments& arguments);
int run_learn(const Arguments& arguments);
int run_generate(const Arguments& arguments);
int run_perplexity(const Arguments& arguments);
int run_calibrate(const Arguments& arguments);

}  // namespace llmcalc
