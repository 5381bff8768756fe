#pragma once
/// Conversion between text and tokens.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calc/units.hpp"

namespace llmcalc::model {

/// decode(encode(text)) is `text`, byte for byte (for a tokenizer.json, unless its normalizers or special tokens change
/// the text; see learn/tokens/json_tokenizer.hpp). Immutable, and safe to share across threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// The number of tokens, numbered 0 to vocabulary() - 1.
  virtual Count vocabulary() const = 0;
  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
  /// The result may end within a character or not be UTF-8, since a model may produce any tokens. Throws InputError for
  /// a token outside the vocabulary.
  virtual std::string decode(std::span<const std::int32_t> tokens) const = 0;
  /// The token that ends a text, if there is one. It decodes to an empty string.
  virtual std::optional<std::int32_t> end_of_text() const = 0;

  /// One of "bytes", "sentencepiece-bpe", "tokenizer.model" and "tokenizer.json".
  virtual std::string_view name() const = 0;
  /// The tokenizer as bytes, for a checkpoint; loaded_tokenizer() restores it.
  std::string serialized() const;

 private:
  /// The data that serialized() stores after the first line.
  virtual std::string body() const = 0;
};

/// A tokenizer with one token per byte value: 256 tokens.
std::unique_ptr<Tokenizer> byte_tokenizer();

/// Byte-pair encoding (Sennrich et al. 2016) with a token for every byte, trained on `text` by SentencePiece. The same
/// text and vocabulary give the same tokenizer. A short text gives fewer tokens than requested; see vocabulary().
/// Throws InputError for a vocabulary below 260, a text without a word, or a program built without SentencePiece.
std::unique_ptr<Tokenizer> learned_tokenizer(std::string_view text, Count vocabulary);

/// Whether this program was built with SentencePiece.
bool has_byte_pairs();

/// Restores the tokenizer from `serialized`. Throws InputError, with `where` (the file) and the problem, if the data is
/// damaged or from another program, or if it needs SentencePiece and this program lacks it.
std::unique_ptr<Tokenizer> loaded_tokenizer(std::string_view serialized, const std::string& where);

}  // namespace llmcalc::model
