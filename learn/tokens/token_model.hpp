#pragma once
/// The model of a tokenizer.json, which turns a piece of text from the pre-tokenizers into tokens.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/json.hpp"

namespace llmcalc::model {

struct TokenModel {
  std::unordered_map<std::string, std::int32_t> ids;  ///< token ids by name, as in the file
  std::vector<std::string> texts;                     ///< text of every token
  std::function<std::vector<std::int32_t>(const std::string& piece)> tokens;

  void set_text(Count id, std::string text, const std::string& where);
};

/// Reads "model" of a tokenizer.json. bytewise: whether the model works on bytes, which the file writes as ByteLevel's
/// letters. Throws InputError for types other than BPE and Unigram, and for unknown features of these.
TokenModel token_model(const json::Object& model, bool bytewise);

/// Byte-pair encoding, and Unigram (Kudo 2018) by SentencePiece, which reads a byte token's name as six characters.
TokenModel pair_model(const json::Object& model, bool bytewise);
TokenModel unigram_model(const json::Object& model);

/// The text of a character token, with spaces in place of U+2581.
std::string spoken_token(const std::string& token);
/// The name of a byte token in a character-level vocabulary: "<0x0A>".
std::string byte_token(std::size_t byte);

[[noreturn]] void refuse_tokenizer(const std::string& where, const std::string& what);

}  // namespace llmcalc::model
