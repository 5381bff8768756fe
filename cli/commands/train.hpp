#pragma once
/// The command that asks about a training step, and can write its schedule to a file.

#include "cli/arguments.hpp"

namespace llmcalc {

std::span<const Option> trace_options();

/// Reads, checks, computes, writes the trace if there is to be one, prints; the exit code.
int ask_train(const Arguments& arguments);

}  // namespace llmcalc
