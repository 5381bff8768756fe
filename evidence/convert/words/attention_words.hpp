#pragma once
/// Attention kernel of a training row, and the unknown words in its text.

#include <string>

#include "evidence/rows/attention_said.hpp"

namespace llmcalc {

/// Attention kernel named in the text, or a flash kernel if none is named. Text in parentheses is a remark and may
/// contain unknown words.
AttentionSaid attention_called(const std::string& text);

}  // namespace llmcalc
