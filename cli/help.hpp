#pragma once
/// What people read about commands and options: help, the manual's OPTIONS, and what a shell completes.

#include <string>

#include "cli/command.hpp"

namespace llmcalc {

/// The commands, a line each.
std::string program_help();

/// How a command is used, with the options that people use most, or with all of them.
std::string command_help(const Command& command, bool all);

/// The section OPTIONS of docs/llmcalc.1.
std::string manual_options();

/// What may stand at the end of a command line that begins with `words`, the word to complete being the last:
/// candidates, one a line, each followed by a tab and what it is.
std::string completions(Args words);

}  // namespace llmcalc
