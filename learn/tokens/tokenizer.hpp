#pragma once
/// Text to tokens and back.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calc/units.hpp"

namespace llmcalc::model {

/// decode(encode(text)) is `text`, byte for byte, whatever it holds (of a tokenizer.json: unless its normalizers or
/// special tokens change that, see learn/tokens/json_tokenizer.hpp). Unchanged once made, and safe to share by threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// The number of tokens, which are 0, 1, ... vocabulary() - 1.
  virtual Count vocabulary() const = 0;
  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
  /// The text may end within a character, or be no UTF-8: a model may say anything. InputError for a token outside the
  /// vocabulary.
  virtual std::string decode(std::span<const std::int32_t> tokens) const = 0;
  /// The token that ends a text, where there is one. It decodes to nothing.
  virtual std::optional<std::int32_t> end_of_text() const = 0;

  /// "bytes", "sentencepiece-bpe", "tokenizer.model" or "tokenizer.json".
  virtual std::string_view name() const = 0;
  /// The tokenizer as bytes, for a checkpoint; loaded_tokenizer() restores it.
  std::string serialized() const;

 private:
  /// The data that serialized() stores besides the name.
  virtual std::string body() const = 0;
};

/// A tokenizer with one token per byte value: 256 tokens.
std::unique_ptr<Tokenizer> byte_tokenizer();

/// Byte-pair encoding (Sennrich et al. 2016) with a token for every byte below it, learnt from `text`, by
/// SentencePiece. The same text and vocabulary give the same tokens. A short text gives fewer tokens than asked for:
/// ask vocabulary(). InputError for a vocabulary below 260, a text without a word, or a program that was built without
/// SentencePiece.
std::unique_ptr<Tokenizer> learnt_tokenizer(std::string_view text, Count vocabulary);

/// Whether this program was built with SentencePiece.
bool has_byte_pairs();

/// The tokenizer that `serialized` describes. InputError, with `where` (the file) and what is wrong, if it was damaged
/// or made by another program, or needs SentencePiece and this program has none.
std::unique_ptr<Tokenizer> loaded_tokenizer(std::string_view serialized, const std::string& where);

}  // namespace llmcalc::model
