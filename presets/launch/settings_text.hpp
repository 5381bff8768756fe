#pragma once
/// Converts a stack's settings to the text of its command or file, and back. Keys of a file are paths:
/// "training.seq_len".

#include <string>
#include <string_view>

#include "presets/stack/launch.hpp"

namespace llmcalc {

/// The text, with a line end. `start`: the words of a command, or lines before a file's keys.
std::string settings_text(LaunchForm form, const std::string& start, const LaunchSettings& settings);

/// The settings of a file. TOML and YAML: keys with plain values or lists; lists of tables have no settings. A
/// Modelfile: "FROM", the name of each parameter, and variables of the server in comments ("# OLLAMA_NUM_PARALLEL=4").
/// Throws InputError, naming `where`.
LaunchSettings read_settings_file(LaunchForm form, std::string_view text, const std::string& where);

/// The value of a word in a file or command: a number, true, false, or text.
json::Value setting_value(const std::string& text);

}  // namespace llmcalc
