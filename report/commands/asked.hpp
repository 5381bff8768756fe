#pragma once
/// The commands of ask() as other front ends offer them: bindings, generated documentation.

#include <vector>

#include "report/commands/command.hpp"

namespace llmcalc {

/// The commands, with 'plan train' and 'plan serve' as separate ones, and compare, whose word SIDES has the key "sides"
/// of a request instead of an input.
std::vector<Command> asked_commands();

/// The options that change a command's answer to a request: no options for files or the style of the output.
std::vector<const Option*> asked_options(const Command& command);

}  // namespace llmcalc
