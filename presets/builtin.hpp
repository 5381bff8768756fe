#pragma once
/// The presets, compiled into the program as the text of their JSON files. Looking one up parses nothing.

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
  std::string_view text;  ///< the JSON file
};

/// All presets, sorted by name. embed_main.cpp writes the lists at build time.
std::span<const Builtin> builtin_models();
std::span<const Builtin> builtin_hardware();
std::span<const Builtin> builtin_software();
/// Fitted parameters of estimators.
std::span<const Builtin> builtin_estimates();

/// The one with that name or alias, in any spelling of it (text/names.hpp); null if there is none.
const Builtin* find_builtin(std::span<const Builtin> presets, std::string_view name);

/// The preset, also if `name` says more than the preset's: an organisation before a '/' ("meta-llama/Llama-3.1-8B"), a
/// maker ("NVIDIA H200"), or how a model was tuned or stored ("-instruct", "-it", "-thinking", "-chat", "-base", "-pt",
/// "-hf", "-bf16"), none of which changes a shape or a peak.
const Builtin* find_meant(std::span<const Builtin> presets, std::string_view name);

/// Every name and alias, for suggestions.
std::vector<std::string> builtin_names(std::span<const Builtin> presets);

}  // namespace llmcalc
