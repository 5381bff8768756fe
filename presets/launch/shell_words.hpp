#pragma once
/// Splits shell scripts into words.

#include <string>
#include <string_view>
#include <vector>

namespace llmcalc {

using ShellCommand = std::vector<std::string>;

/// Splits a script into commands, and each command into words at spaces. Removes quotes, backslashes and comments. A
/// command ends at a line break, ';', '&' or '|'; a backslash before a line break continues the line. Variables are not
/// expanded.
std::vector<ShellCommand> shell_commands(std::string_view script);

}  // namespace llmcalc
