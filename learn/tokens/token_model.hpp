#pragma once
/// The model of a tokenizer.json: turns a piece of text, as split off by the pre-tokenizers, into tokens.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/json.hpp"

namespace llmcalc::model {

struct TokenModel {
  std::unordered_map<std::string, std::int32_t> ids;  ///< by name in the file
  std::vector<std::string> texts;                     ///< of every token
  std::function<std::vector<std::int32_t>(const std::string& piece)> tokens;

  void set_text(Count id, std::string text, const std::string& where);
};

/// "model" of a file. bytewise: it works on bytes, written in its file in ByteLevel's letters. Throws InputError for
/// types other than BPE and Unigram, and for their unknown features.
TokenModel token_model(const json::Object& model, bool bytewise);

/// Byte-pair encoding; Unigram (Kudo 2018) by SentencePiece, which reads a byte token's name as six characters.
TokenModel pair_model(const json::Object& model, bool bytewise);
TokenModel unigram_model(const json::Object& model);

/// The text of a character token, with U+2581 replaced by spaces.
std::string spoken_token(const std::string& token);
/// The name of a byte's token in a character-level vocabulary: "<0x0A>".
std::string byte_token(std::size_t byte);

[[noreturn]] void refuse_tokenizer(const std::string& where, const std::string& what);

}  // namespace llmcalc::model
