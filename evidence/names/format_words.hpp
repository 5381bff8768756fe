#pragma once
/// Words for weight formats in sources of inference rows.

#include <optional>
#include <string>
#include <string_view>

namespace llmcalc {

/// Words for a format in a row's text, and the number formats that they denote.
struct FormatName {
  const char* words;   ///< separated by spaces; the text must contain all of them
  const char* format;  ///< format of attention, MLPs and experts
  const char* head;    ///< format of embedding table and head; null: as `format` defines it; "": 16 bits
};

/// Whether the text contains a word.
bool spells(const std::string& text, std::string_view word);
/// First table row whose words all occur in the text, or null.
const FormatName* format_named(const std::string& text);
/// Number before a unit; `unit` is a pattern: 4.65 for "bpw" in "exl2 4.65bpw".
std::optional<double> number_before(const std::string& text, const char* unit);
/// The text with one spelling per format: "bfloat16" becomes "bf16", "half" becomes "fp16", and a lone "q8" becomes
/// "q8_0". The activation format in "W4A8 (fp8 act)" is removed.
std::string with_usual_names(const std::string& said);

}  // namespace llmcalc
