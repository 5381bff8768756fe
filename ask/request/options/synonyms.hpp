#pragma once
/// Other names of options: names used by inference engines and training frameworks, and common short forms.

#include <span>
#include <string_view>

namespace llmcalc {

struct Synonym {
  std::string_view typed;      ///< the synonym: "--batch-size"
  std::string_view flag{};     ///< the option that it stands for: "--batch"
  std::string_view instead{};  ///< flag for commands that lack `flag`: "--micro-batch"; empty: none
  std::string_view source{};   ///< origin of the synonym: "vllm", "llama.cpp"; empty: common usage
};

std::span<const Synonym> synonyms();

/// The synonym with this spelling, where '_' counts as '-'; null if unknown.
const Synonym* find_synonym(std::string_view typed);

}  // namespace llmcalc
