#pragma once
/// Byte-pair encoding by SentencePiece (Kudo and Richardson 2018). Without the library the functions throw InputError.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "learn/tokens/tokenizer.hpp"

namespace llmcalc::model {

inline constexpr std::string_view sentencepiece_name = "sentencepiece-bpe";

/// Trains SentencePiece on `text` and returns the serialized model.
std::string learned_sentencepiece(std::string_view text, Count vocabulary);

/// The tokenizer of a serialized model. Throws InputError if it is not a model, or cannot reproduce every text.
std::unique_ptr<Tokenizer> sentencepiece_tokenizer(std::string model, const std::string& where);

inline constexpr std::string_view sentencepiece_file_name = "tokenizer.model";

/// The tokenizer of a tokenizer.model that came with a model: with its normalization and, if it has one, its
/// beginning-of-text token. Throws InputError if it is not a model.
std::unique_ptr<Tokenizer> sentencepiece_file_tokenizer(std::string model, const std::string& where);

/// The tokens of a text under a serialized model, even if it changes the text. Throws InputError if it is not a model.
std::function<std::vector<std::int32_t>(const std::string& text)> sentencepiece_encoder(const std::string& model,
                                                                                        const std::string& where);

}  // namespace llmcalc::model
