#pragma once
/// Text generated from the command and option tables: help, the manual's OPTIONS section, shell completions.

#include <string>

#include "cli/command.hpp"

namespace llmcalc {

/// The list of commands, one per line.
std::string program_help();

/// The help of a command, with its most common options or with all of them.
std::string command_help(const Command& command, bool all);

/// The section OPTIONS of docs/llmcalc.1.
std::string manual_options();

/// Completions of the last of `words`, the arguments typed so far: one candidate per line, followed by a tab and a
/// description.
std::string completions(Args words);

}  // namespace llmcalc
