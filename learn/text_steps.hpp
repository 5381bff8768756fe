#pragma once
/// Steps of a tokenizer.json before its model: normalizers change a text, pre-tokenizers split it into pieces
/// (github.com/huggingface/tokenizers, src/normalizers and src/pre_tokenizers).

#include <functional>
#include <string>
#include <vector>

#include "learn/tokens/unicode.hpp"
#include "text/json.hpp"

namespace llmcalc::model {

/// Changes a text. most: maximum bytes of the result, above which InputError is thrown.
using Normalizer = std::function<std::string(const std::string& text, std::size_t most)>;
/// Splits a piece. first: the piece begins its text. left: remaining step budget of the patterns.
using Cutter = std::function<std::vector<std::string>(const std::string& piece, bool first, MatchSteps& left)>;

/// The steps before the model.
struct TextSteps {
  std::vector<Normalizer> normalizers;
  std::vector<Cutter> cutters;
  bool bytewise = false;  ///< the model works on bytes, which its file represents by 256 letters

  /// Throws InputError if normalizers expand the text far beyond any language's normal forms.
  std::string normalized(std::string text) const;
  /// Splits a normalized text. first: the text begins the whole input and does not follow a special token. left:
  /// remaining step budget of the patterns.
  std::vector<std::string> pieces(const std::string& text, bool first, MatchSteps& left) const;
};

/// Reads "normalizer" and "pre_tokenizer" of a file. Throws InputError for an unknown step.
TextSteps text_steps(const json::Object& file);

/// When Metaspace puts U+2581 before a piece that does not begin with it.
enum class Prepended : std::uint8_t { always, first, never };
Prepended prepended(const json::Object& metaspace);

/// Calls f(element) for every element of a list of objects.
void each_object(const json::Object& o, std::string_view key, const std::function<void(const json::Object&)>& f);

/// The bytes that ByteLevel's letters represent (GPT-2's bytes_to_unicode); the text itself if it has any other letter.
std::string bytes_of_letters(const std::string& letters);

}  // namespace llmcalc::model
