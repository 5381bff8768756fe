#pragma once
/// The steps of a tokenizer.json that stand before its model: normalizers change a text, pre-tokenizers cut it into
/// pieces (github.com/huggingface/tokenizers, src/normalizers and src/pre_tokenizers).

#include <functional>
#include <string>
#include <vector>

#include "text/json.hpp"

namespace llmcalc::model {

using Normalizer = std::function<std::string(std::string)>;
using Cutter = std::function<std::vector<std::string>(const std::string&)>;

/// The steps before the model.
struct TextSteps {
  std::vector<Normalizer> normalizers;
  std::vector<Cutter> cutters;
  bool bytewise = false;  ///< the model works on bytes, which its file writes in an alphabet of 256 letters

  std::string normalized(std::string text) const;
  std::vector<std::string> pieces(const std::string& text) const;
};

/// "normalizer" and "pre_tokenizer" of a file. Throws InputError for a step that is not known.
TextSteps text_steps(const json::Object& file);

/// The bytes that ByteLevel's letters stand for (GPT-2's bytes_to_unicode); the text itself where one is no such
/// letter.
std::string bytes_of_letters(const std::string& letters);

}  // namespace llmcalc::model
