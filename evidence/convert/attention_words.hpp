#pragma once
/// Attention kernel in a training row, and the unknown words of its text.

#include <string>

#include "evidence/rows/attention_said.hpp"

namespace llmcalc {

/// Text in parentheses is a remark, which may have unknown words. A text without a kernel name means a flash kernel.
AttentionSaid attention_called(const std::string& text);

}  // namespace llmcalc
