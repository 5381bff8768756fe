#pragma once
/// Byte-pair encoding by SentencePiece (Kudo and Richardson 2018). Without the library the functions throw InputError.

#include <memory>
#include <string>
#include <string_view>

#include "learn/tokenizer.hpp"

namespace llmcalc::model {

inline constexpr std::string_view sentencepiece_name = "sentencepiece-bpe";

/// The serialized model that SentencePiece learns from `text`.
std::string learnt_sentencepiece(std::string_view text, Count vocabulary);

/// The tokenizer of a serialized model. InputError if it is none, or cannot give back every text.
std::unique_ptr<Tokenizer> sentencepiece_tokenizer(std::string model, const std::string& where);

}  // namespace llmcalc::model
