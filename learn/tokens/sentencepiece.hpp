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

/// The tokenizer of a serialized model. Throws InputError if `model` is invalid or cannot reproduce every text.
std::unique_ptr<Tokenizer> sentencepiece_tokenizer(std::string model, const std::string& where);

inline constexpr std::string_view sentencepiece_file_name = "tokenizer.model";

/// The tokenizer of a tokenizer.model that was distributed with a model, including its normalization and, if it has
/// one, its beginning-of-text token. Throws InputError if `model` is invalid.
std::unique_ptr<Tokenizer> sentencepiece_file_tokenizer(std::string model, const std::string& where);

/// A function that encodes text with a serialized model, even if the model normalizes it. Throws InputError if `model`
/// is invalid.
std::function<std::vector<std::int32_t>(const std::string& text)> sentencepiece_encoder(const std::string& model,
                                                                                        const std::string& where);

}  // namespace llmcalc::model
