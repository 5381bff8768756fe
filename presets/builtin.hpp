#pragma once
/// Presets, compiled into the program as the text of their JSON files. Looking up a preset does not parse it.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace llmcalc {

/// One file of presets/models, presets/hardware and so on.
struct Builtin {
  std::string_view name;
  std::string_view title;
  std::span<const std::string_view> aliases;
  std::string_view text;  ///< contents of the JSON file
};

/// All presets, sorted by name. embed_main.cpp writes the lists at build time.
std::span<const Builtin> builtin_models();
std::span<const Builtin> builtin_hardware();
std::span<const Builtin> builtin_software();
/// Fitted parameters of estimators.
std::span<const Builtin> builtin_estimates();

/// The preset with this name or alias, in any spelling (text/names.hpp); null if not found.
const Builtin* find_builtin(std::span<const Builtin> presets, std::string_view name);

/// Like find_builtin(), but `name` may have extra words: an organization before a '/' ("meta-llama/Llama-3.1-8B"), a
/// manufacturer ("NVIDIA H200"), or a suffix that denotes tuning or storage ("-instruct", "-it", "-thinking", "-chat",
/// "-base", "-pt", "-hf", "-bf16"). These words change neither shapes nor peaks.
const Builtin* find_meant(std::span<const Builtin> presets, std::string_view name);

/// Every name and alias, for suggestions.
std::vector<std::string> builtin_names(std::span<const Builtin> presets);

}  // namespace llmcalc
