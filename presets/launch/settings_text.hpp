#pragma once
/// Converts a stack's settings to the text of its command or file, and back. Keys of a file are written as paths:
/// "training.seq_len".

#include <string>
#include <string_view>

#include "presets/stack/launch.hpp"

namespace llmcalc {

/// The settings as text that ends with a line end. `start`: the words of a command, or lines before a file's keys.
std::string settings_text(LaunchForm form, const std::string& start, const LaunchSettings& settings);

/// Reads the settings in a file. TOML and YAML: keys with plain values or lists; lists of tables are skipped. A
/// Modelfile: "FROM", the name of each parameter, and variables of the server in comments ("# OLLAMA_NUM_PARALLEL=4").
/// Throws an InputError that names `where`.
LaunchSettings read_settings_file(LaunchForm form, std::string_view text, const std::string& where);

/// The value of a word in a file or command: a number, true, false, or a string.
json::Value setting_value(const std::string& text);

}  // namespace llmcalc
