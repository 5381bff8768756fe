#include "learn/tokens/tokenizer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "learn/tokens/json_tokenizer.hpp"
#include "learn/tokens/sentencepiece.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc::model {

namespace {

constexpr std::string_view bytes_name = "bytes";

/// The first word of a serialized tokenizer, whose form is "llmcalc-tokenizer NAME CHECKSUM", a line end and the body.
constexpr std::string_view opening = "llmcalc-tokenizer ";

/// 64-bit FNV-1a checksum (Fowler, Noll and Vo), since libraries do not detect every changed byte of their models.
std::string checksum(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return fmt::format("{:016x}", hash);
}

class Bytewise : public Tokenizer {
 public:
  Count vocabulary() const override { return 256; }
  std::optional<std::int32_t> end_of_text() const override { return std::nullopt; }
  std::string_view name() const override { return bytes_name; }

  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> tokens;
    tokens.reserve(text.size());
    for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
    return tokens;
  }

  std::string decode(std::span<const std::int32_t> tokens) const override {
    std::string text;
    for (const std::int32_t t : tokens) {
      if (t < 0 || t > 255) throw InputError(fmt::format("token {} is not in the tokenizer's vocabulary of 256", t));
      text += static_cast<char>(static_cast<unsigned char>(t));
    }
    return text;
  }

 private:
  std::string body() const override { return {}; }
};

/// The parts of "NAME CHECKSUM\nBODY".
struct TokenizerText {
  std::string_view name, checksum, body;
};

std::optional<TokenizerText> parts(std::string_view text) {
  if (!text.starts_with(opening)) return std::nullopt;
  text.remove_prefix(opening.size());
  const std::size_t line = text.find('\n');
  const std::size_t space = text.substr(0, line).find(' ');
  if (line == std::string_view::npos || space == std::string_view::npos) return std::nullopt;
  return TokenizerText{text.substr(0, space), text.substr(space + 1, line - space - 1), text.substr(line + 1)};
}

}  // namespace

std::string Tokenizer::serialized() const {
  const std::string own = body();
  return fmt::format("{}{} {}\n{}", opening, name(), checksum(own), own);
}

std::unique_ptr<Tokenizer> byte_tokenizer() { return std::make_unique<Bytewise>(); }

std::unique_ptr<Tokenizer> learned_tokenizer(std::string_view text, Count vocabulary) {
  return sentencepiece_tokenizer(learned_sentencepiece(text, vocabulary), "the trained tokenizer");
}

std::unique_ptr<Tokenizer> loaded_tokenizer(std::string_view serialized, const std::string& where) {
  const auto found = parts(serialized);
  if (!found)
    throw InputError(
        fmt::format("'{}': the tokenizer does not begin with \"{}\"; it is damaged or was written by another program",
                    where, opening));
  constexpr std::array known{bytes_name, sentencepiece_name, sentencepiece_file_name, json_tokenizer_name};
  if (std::find(known.begin(), known.end(), found->name) == known.end())
    throw InputError(fmt::format("'{}': unknown tokenizer {}; supported are {}", where, in_quotes(found->name),
                                 fmt::join(known, ", ")));
  if (found->checksum != checksum(found->body))
    throw InputError(
        fmt::format("'{}': the tokenizer's checksum does not match its bytes; the file is damaged", where));
  if (found->name == bytes_name) return byte_tokenizer();
  if (found->name == sentencepiece_file_name) return sentencepiece_file_tokenizer(std::string(found->body), where);
  if (found->name == json_tokenizer_name) return json_tokenizer(std::string(found->body), where);
  return sentencepiece_tokenizer(std::string(found->body), where);
}

}  // namespace llmcalc::model
