#pragma once
/// Converts a launch command or file to inputs (--from).

#include <functional>
#include <string>

#include "ask/request/launch/sizes.hpp"

namespace llmcalc {

/// A launch command or file with its stack.
struct Launched {
  std::string stack;        ///< name of the stack's preset
  std::string model;        ///< model name as in the launch text; empty if there is none
  LaunchSettings settings;  ///< keyed by names in the stack's table
};

/// Finds the stack of a launch text. `path`: the file that contains it, or empty. Throws InputError if no stack's
/// table matches, or for a setting that the table does not list.
Launched launched(const std::string& text, const std::string& path);

/// The inputs that the settings denote. `takes`: whether the command accepts an input; `typed`: the user's other
/// inputs.
InputTexts inputs_of(const Launched& l, const std::function<bool(std::string_view key)>& takes, const InputTexts& typed,
                     const Arch& arch);

}  // namespace llmcalc
