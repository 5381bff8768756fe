#pragma once
/// Other names of options: names used by inference engines and training frameworks, and common short forms.

#include <span>
#include <string_view>

namespace llmcalc {

struct Synonym {
  std::string_view typed;      ///< "--batch-size"
  std::string_view flag{};     ///< "--batch"
  std::string_view instead{};  ///< flag for commands that lack `flag`: "--micro-batch"; empty: none
  std::string_view source{};   ///< "vllm", "llama.cpp"; empty: common usage
};

std::span<const Synonym> synonyms();

/// The synonym of this spelling; null if unknown. '_' counts as '-'.
const Synonym* find_synonym(std::string_view typed);

}  // namespace llmcalc
