#pragma once
/// The model of a tokenizer.json: it turns a piece of text, which its steps have cut, into tokens.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/json.hpp"

namespace llmcalc::model {

struct TokenModel {
  std::unordered_map<std::string, std::int32_t> ids;  ///< by the names in the file
  std::vector<std::string> texts;                     ///< of every token
  std::function<std::vector<std::int32_t>(const std::string& piece)> tokens;

  void set_text(Count id, std::string text, const std::string& where);
};

/// "model" of a file. bytewise: it works on bytes, which its file writes in ByteLevel's letters. Throws InputError for
/// a type other than BPE and Unigram, and for what is not known about them.
TokenModel token_model(const json::Object& model, bool bytewise);

/// Byte-pair encoding; Unigram (Kudo 2018), by SentencePiece, to which the name of a byte's token is six characters.
TokenModel pair_model(const json::Object& model, bool bytewise);
TokenModel unigram_model(const json::Object& model);

/// The text of a token among characters: U+2581 stands for a space.
std::string spoken_token(const std::string& token);
/// The name of a byte's token below a vocabulary of characters: "<0x0A>".
std::string byte_token(std::size_t byte);

[[noreturn]] void refuse_tokenizer(const std::string& where, const std::string& what);

}  // namespace llmcalc::model
