#pragma once
/// Words of shell commands.

#include <string>
#include <string_view>
#include <vector>

namespace llmcalc {

using ShellCommand = std::vector<std::string>;

/// The commands in a script, each as words without quotes, backslashes and comments. Words are separated by spaces.
/// Commands end at a line end, ';', '&' or '|'; a backslash before a line end joins two lines. Variables are not
/// expanded.
std::vector<ShellCommand> shell_commands(std::string_view script);

}  // namespace llmcalc
