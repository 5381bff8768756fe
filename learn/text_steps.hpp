#pragma once
/// The steps of a tokenizer.json that run before its model: normalizers, which change a string, and pre-tokenizers,
/// which split it into pieces (github.com/huggingface/tokenizers, src/normalizers and src/pre_tokenizers).

#include <functional>
#include <string>
#include <vector>

#include "learn/tokens/unicode.hpp"
#include "text/json.hpp"

namespace llmcalc::model {

/// Normalizes a string. most: maximum bytes in the result; a longer one throws InputError.
using Normalizer = std::function<std::string(const std::string& text, std::size_t most)>;
/// Splits a piece. first: whether the piece begins its text. left: the remaining step budget of the patterns.
using Cutter = std::function<std::vector<std::string>(const std::string& piece, bool first, MatchSteps& left)>;

/// All steps that run before the model.
struct TextSteps {
  std::vector<Normalizer> normalizers;
  std::vector<Cutter> cutters;
  bool bytewise = false;  ///< whether the model works on bytes, which its file represents by 256 characters

  /// The text after all normalizers. Throws InputError if they expand it far beyond the normal forms of any language.
  std::string normalized(std::string text) const;
  /// Splits a normalized text. first: whether the text begins the whole input and does not follow a special token.
  /// left: the remaining step budget of the patterns.
  std::vector<std::string> pieces(const std::string& text, bool first, MatchSteps& left) const;
};

/// Reads "normalizer" and "pre_tokenizer" from a tokenizer.json. Throws InputError for an unknown step.
TextSteps text_steps(const json::Object& file);

/// When Metaspace prepends U+2581 to a piece that does not begin with it.
enum class Prepended : std::uint8_t { always, first, never };
Prepended prepended(const json::Object& metaspace);

/// Calls f(element) for every element of a list of objects.
void each_object(const json::Object& o, std::string_view key, const std::function<void(const json::Object&)>& f);

/// The bytes represented by ByteLevel's letters (GPT-2's bytes_to_unicode); the string itself if it has any other
/// character.
std::string bytes_of_letters(const std::string& letters);

}  // namespace llmcalc::model
