#pragma once
/// Text as UTF-8: whole characters, and where it is not text at all.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace llmcalc::model {

/// The bytes (1 to 4) of the character that begins at `text[at]`; 0 if no well-formed one does: a stray or missing
/// continuation, an overlong form, a surrogate, or past U+10FFFF (The Unicode Standard, table 3-7).
std::size_t character_length(std::string_view text, std::size_t at);

/// The offset of the first byte that is not part of a well-formed character.
std::optional<std::size_t> first_bad_byte(std::string_view text);

/// Throws InputError naming `where` and the offset of the first bad byte.
void refuse_unless_utf8(std::string_view text, const std::string& where);

/// The bytes of `text` before a last character of which only the beginning is there: what can be shown of text that is
/// still coming. Bytes that can never become a character are not held back.
std::size_t whole_length(std::string_view text);

}  // namespace llmcalc::model
