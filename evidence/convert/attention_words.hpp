#pragma once
/// The kernel of attention that a row of training means, and the words of it that are not known.

#include <string>

#include "evidence/rows/attention_said.hpp"

namespace llmcalc {

/// What stands in parentheses is a remark, whose words need not be known. A text that names no kernel means a flash
/// kernel.
AttentionSaid attention_called(const std::string& text);

}  // namespace llmcalc
