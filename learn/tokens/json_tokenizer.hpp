#pragma once
/// tokenizer.json (github.com/huggingface/tokenizers): byte-pair encoding of bytes (GPT-2, Llama 3, Qwen), or of
/// characters with byte fallback (Llama 2, Gemma). Exact for supported files; files with any other content are
/// rejected.

#include <memory>
#include <string>

#include "learn/tokens/tokenizer.hpp"

namespace llmcalc::model {

inline constexpr std::string_view json_tokenizer_name = "tokenizer.json";

/// The tokenizer described by the contents of a tokenizer.json. Special tokens in a text are recognized, and the
/// post-processor's special tokens are added around it; all of these decode to empty strings, as do ids missing from
/// the file. If normalizers change a text, decode() returns the normalized text. Throws InputError, with `where`, for
/// unsupported content.
std::unique_ptr<Tokenizer> json_tokenizer(std::string text, const std::string& where);

}  // namespace llmcalc::model
