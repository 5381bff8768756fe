#pragma once
/// The steps of a tokenizer.json that stand before its model: normalizers change a text, pre-tokenizers cut it into
/// pieces (github.com/huggingface/tokenizers, src/normalizers and src/pre_tokenizers).

#include <functional>
#include <string>
#include <vector>

#include "learn/tokens/unicode.hpp"
#include "text/json.hpp"

namespace llmcalc::model {

/// most: bytes of the result, past which InputError is thrown.
using Normalizer = std::function<std::string(const std::string& text, std::size_t most)>;
/// first: the piece begins its text. left: steps of patterns.
using Cutter = std::function<std::vector<std::string>(const std::string& piece, bool first, MatchSteps& left)>;

/// The steps before the model.
struct TextSteps {
  std::vector<Normalizer> normalizers;
  std::vector<Cutter> cutters;
  bool bytewise = false;  ///< the model works on bytes, which its file writes in an alphabet of 256 letters

  /// Throws InputError where normalizers make far more of the text than any language's forms have.
  std::string normalized(std::string text) const;
  /// first: of a stretch that begins the whole text, not behind a special token. left: steps of patterns.
  std::vector<std::string> pieces(const std::string& text, bool first, MatchSteps& left) const;
};

/// "normalizer" and "pre_tokenizer" of a file. Throws InputError for a step that is not known.
TextSteps text_steps(const json::Object& file);

/// Where Metaspace puts U+2581 before a piece that does not begin with it.
enum class Prepended : std::uint8_t { always, first, never };
Prepended prepended(const json::Object& metaspace);

/// f(element) for every element of a list of objects.
void each_object(const json::Object& o, std::string_view key, const std::function<void(const json::Object&)>& f);

/// The bytes that ByteLevel's letters stand for (GPT-2's bytes_to_unicode); the text itself where one is no such
/// letter.
std::string bytes_of_letters(const std::string& letters);

}  // namespace llmcalc::model
