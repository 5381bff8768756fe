#pragma once
/// Words of shell commands.

#include <string>
#include <string_view>
#include <vector>

namespace llmcalc {

using ShellCommand = std::vector<std::string>;

/// The commands of a script: words between spaces, without quotes, backslashes and comments. Commands end at a line
/// end, ';', '&' or '|'; a backslash before a line end joins two lines. Variables are not expanded.
std::vector<ShellCommand> shell_commands(std::string_view script);

}  // namespace llmcalc
