#pragma once
/// Converts a stack's settings to the text of its command or file, and back. Keys of a file are written as paths:
/// "training.seq_len".

#include <string>
#include <string_view>

#include "presets/stack/launch.hpp"

namespace llmcalc {

/// The settings as text with a line break at the end. `start`: the words of a command, or the lines before a file's
/// keys.
std::string settings_text(LaunchForm form, const std::string& start, const LaunchSettings& settings);

/// Reads the settings in a file. In TOML and YAML, these are keys with plain values or lists; lists of tables are
/// skipped. In a Modelfile, they are "FROM", each parameter, and the server's variables in comments ("#
/// OLLAMA_NUM_PARALLEL=4"). Throws an InputError that names `where`.
LaunchSettings read_settings_file(LaunchForm form, std::string_view text, const std::string& where);

/// Value that a word in a file or command denotes: a number, true, false, or a string.
json::Value setting_value(const std::string& text);

}  // namespace llmcalc
