#pragma once
/// The commands that ask a question about a model under a plan.

#include <optional>

#include "cli/arguments.hpp"
#include "report/question.hpp"

namespace llmcalc {

/// Reads, checks, computes, prints; the exit code.
int ask(const Question& question, Args args);

/// Reads the arguments of a question; nothing if help was asked for and printed.
std::optional<Request> read_request(const Question& question, Arguments& arguments, Args args);

/// Prints it; the exit code.
int print(const Report& report, Style style);

}  // namespace llmcalc
