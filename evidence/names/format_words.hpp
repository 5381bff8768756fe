#pragma once
/// The words by which sources of inference call formats of weights.

#include <optional>
#include <string>
#include <string_view>

namespace llmcalc {

/// A word or words for a format in a row's text, and the number formats that they stand for.
struct FormatName {
  const char* words;   ///< all of them, separated by spaces
  const char* format;  ///< of attention, MLP and experts
  const char* head;    ///< of token table and head; null: as the format itself has it; "": 16 bits
};

/// Whether a text has a word somewhere.
bool spells(const std::string& text, std::string_view word);
/// The first row of the table whose words the text has all; null: none.
const FormatName* format_named(const std::string& text);
/// The number that stands before a unit, a pattern: 4.65 of "exl2 4.65bpw" before "bpw".
std::optional<double> number_before(const std::string& text, const char* unit);
/// The text with one spelling of each format: "bfloat16" is "bf16", "half" "fp16", "q8" alone "q8_0", and the format of
/// activations in "W4A8 (fp8 act)" is left out.
std::string with_usual_names(const std::string& said);

}  // namespace llmcalc
