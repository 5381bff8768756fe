#include "learn/tokens/token_model.hpp"

#include <fmt/format.h>

#include "text/names.hpp"

namespace llmcalc::model {

void refuse_tokenizer(const std::string& where, const std::string& what) {
  throw InputError(fmt::format("{}: {}; this tokenizer is not supported", where, what));
}

void TokenModel::set_text(Count id, std::string text, const std::string& where) {
  constexpr Count most = Count{1} << 21;  // eight times the largest known vocabulary
  if (id < 0 || id >= most) refuse_tokenizer(where, fmt::format("token id {} exceeds {}", id, most));
  if (static_cast<std::size_t>(id) >= texts.size()) texts.resize(static_cast<std::size_t>(id) + 1);
  texts[static_cast<std::size_t>(id)] = std::move(text);
}

std::string spoken_token(const std::string& token) {
  constexpr std::string_view low_line = "\xE2\x96\x81";
  std::string text;
  for (std::size_t at = 0; at < token.size();) {
    const bool space = std::string_view(token).substr(at).starts_with(low_line);
    text += space ? ' ' : token[at];
    at += space ? low_line.size() : 1;
  }
  return text;
}

std::string byte_token(std::size_t byte) { return fmt::format("<0x{:02X}>", byte); }

TokenModel token_model(const json::Object& m, bool bytewise) {
  const std::string type = m.text_or("type", "BPE");
  if (type == "BPE") return pair_model(m, bytewise);
  if (type == "Unigram" && !bytewise) return unigram_model(m);
  refuse_tokenizer(m.where(), fmt::format("unknown model type {}; BPE and Unigram are supported", in_quotes(type)));
}

}  // namespace llmcalc::model
