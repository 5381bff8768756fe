#pragma once
/// tokenizer.json (github.com/huggingface/tokenizers): byte-pair encoding of bytes (GPT-2, Llama 3, Qwen) or of
/// characters with bytes below them (Llama 2, Gemma). Exact on what it reads, and anything else in the file is refused.

#include <memory>
#include <string>

#include "learn/tokens/tokenizer.hpp"

namespace llmcalc::model {

inline constexpr std::string_view json_tokenizer_name = "tokenizer.json";

/// The tokenizer that the text of a tokenizer.json describes. Special tokens in a text are taken as such, those that
/// its post-processor puts around a text are there, and all decode to nothing; so does a number that the file leaves
/// out. Where its normalizers change a text, decode() gives the changed one. InputError, with `where`, for what is not
/// read.
std::unique_ptr<Tokenizer> json_tokenizer(std::string text, const std::string& where);

}  // namespace llmcalc::model
