#pragma once
/// Meanings of words that are not quantities: terms, options, number formats, presets and commands.

#include <string>
#include <string_view>
#include <vector>

#include "report/report.hpp"

namespace llmcalc {

struct Meaning {
  std::string kind;  ///< kind of word: "option", "term", "number format", ...
  std::string word, text;
  std::string more{};  ///< a command that shows more: "llmcalc show vllm"; empty: none
};

/// Every meaning of a word, in any case and with or without "--"; empty if unknown.
std::vector<Meaning> meanings(std::string_view word);

/// Words with a meaning, except presets, for suggestions and the index.
std::vector<std::string> known_words();

Report meaning_report(const std::vector<Meaning>& all);
/// The terms of the glossary as a table per group.
Report glossary_report();

}  // namespace llmcalc
