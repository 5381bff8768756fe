#pragma once
/// The commands that ask a question about a model under a plan.

#include "cli/arguments.hpp"
#include "report/question.hpp"

namespace llmcalc {

/// Reads, checks, computes, prints; the exit code.
int ask(const Question& question, const Arguments& arguments);

/// Prints it; the exit code.
int print(const Report& report, const Screen& screen);

}  // namespace llmcalc
