#pragma once
/// UTF-8: character lengths, and detection of invalid bytes.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace llmcalc::model {

/// Bytes (1 to 4) in the character that begins at `text[at]`; 0 if it is not well-formed: a stray or missing
/// continuation byte, an overlong form, a surrogate, or a value above U+10FFFF (The Unicode Standard, table 3-7).
std::size_t character_length(std::string_view text, std::size_t at);

/// Offset of the first byte that is not part of a well-formed character; absent if there is none.
std::optional<std::size_t> first_bad_byte(std::string_view text);

/// If there is a bad byte, throws an InputError that names `where` and the offset of the first one.
void refuse_unless_utf8(std::string_view text, const std::string& where);

/// Length in bytes of `text` without an incomplete last character, which is the displayable part of streamed text.
/// Bytes that can never become a character are included.
std::size_t whole_length(std::string_view text);

}  // namespace llmcalc::model
