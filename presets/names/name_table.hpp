#pragma once
/// The table of model names (names.tsv): names of fine-tunes, quantized checkpoints and Ollama tags, each with the
/// preset of the same shape, the weight format, and a source.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace llmcalc {

struct NamedModel {
  std::string_view preset{};  ///< name of the preset; empty: no preset has the model's shape
  std::string_view format{};  ///< weight format; empty: the model's own
  std::string_view source{};  ///< address of a public file that contains the name; empty: not looked up
  std::string_view why{};     ///< reason for the choice of preset: "distill of Llama 3.3 70B"
};

/// The row for a name, in any spelling (text/names.hpp); absent if unknown.
std::optional<NamedModel> named_model(std::string_view name);

/// Presets for an Ollama model's tags: for "llama3", the presets of "llama3:8b" and "llama3:70b".
std::vector<std::string_view> tagged_presets(std::string_view name);

/// The text of names.tsv: lines "#N<tab>address", then lines "name<tab>preset<tab>format<tab>N<tab>why", sorted by the
/// bytes of their names, which are in canonical spelling.
std::string_view name_table();

}  // namespace llmcalc
