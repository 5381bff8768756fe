#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>

#include "learn/text_steps.hpp"
#include "learn/tokens/pair_merges.hpp"
#include "learn/tokens/token_model.hpp"
#include "text/json_text.hpp"
#include "text/names.hpp"
#include "text/utf8.hpp"

namespace llmcalc::model {
namespace {

constexpr std::int32_t no_token = -1;

/// Byte-pair encoding (github.com/huggingface/tokenizers, src/models/bpe/model.rs): of bytes, or of characters with a
/// fallback to bytes or an unknown token.
class PairModel {
 public:
  PairModel(const json::Object& m, bool bytewise) : where_(m.where()), bytewise_(bytewise) {
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (!m.text_or(key, "").empty()) refuse(in_quotes(key) + " is set");
    if (m.number_or("dropout", 0) != 0) refuse("\"dropout\" is set");
    whole_words_ = m.flag_or("ignore_merges", false);
    fuse_unknown_ = m.flag_or("fuse_unk", false);
    read_vocabulary(m.object("vocab"));
    read_merges(m);
    if (m.has("unk_token")) unknown_ = named(json::raw_text(m, "unk_token"));
    bytewise ? need_bytes(m) : find_bytes(m.flag_or("byte_fallback", false));
  }

  std::vector<std::int32_t> tokens(const std::string& piece) const {
    const auto whole = symbols_.find(piece);
    if (whole_words_ && whole != symbols_.end()) return {whole->second};
    return merges_.merged(bytewise_ ? bytes(piece) : characters(piece));
  }

  TokenModel names;  ///< names and texts of the tokens

 private:
  [[noreturn]] void refuse(const std::string& what) const { refuse_tokenizer(where_, what); }

  void read_vocabulary(const json::Object& vocabulary) {
    for (const auto& [token, id] : vocabulary.value().get_ref<const json::Value::object_t&>()) {
      if (!id.is_number_unsigned()) refuse(fmt::format("the id of token {} is not a whole number", in_quotes(token)));
      constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<Count>::max());
      const auto n = static_cast<Count>(std::min(id.get<std::uint64_t>(), most));
      const std::string symbol = bytewise_ ? bytes_of_letters(token) : token;
      names.set_text(n, bytewise_ ? symbol : spoken_token(token), where_);
      names.ids.emplace(token, static_cast<std::int32_t>(n));
      symbols_.emplace(symbol, static_cast<std::int32_t>(n));
    }
  }

  std::int32_t named(const std::string& token) const {
    const auto at = names.ids.find(token);
    if (at == names.ids.end()) refuse(fmt::format("token {} is not in the vocabulary", in_quotes(token)));
    return at->second;
  }

  /// Reads the merges. Each is "left right" or a list of the two.
  void read_merges(const json::Object& m) {
    const json::Value* list = m.find("merges");
    if (list == nullptr || !list->is_array()) refuse("\"merges\" is not a list");
    for (const json::Value& v : *list) {
      std::string left, right;
      if (v.is_string()) {
        const std::string& both = v.get_ref<const std::string&>();
        const std::size_t space = both.find(' ');
        if (space == std::string::npos) refuse(fmt::format("the merge {} is not a pair", in_quotes(both)));
        left = both.substr(0, space), right = both.substr(space + 1);
      } else if (v.is_array() && v.size() == 2 && v[0].is_string() && v[1].is_string()) {
        left = v[0].get<std::string>(), right = v[1].get<std::string>();
      } else {
        refuse("a merge is not a pair of strings");
      }
      const std::int32_t left_token = named(left), right_token = named(right);
      merges_.add(left_token, right_token, named(left + right));
    }
  }

  /// Finds the token for every byte, the base symbols of a byte-level model. Every byte must have one.
  void need_bytes(const json::Object& m) {
    if (m.flag_or("byte_fallback", false)) refuse("\"byte_fallback\" is true for a byte-level model");
    for (std::size_t b = 0; b < bytes_.size(); ++b) {
      const auto at = symbols_.find(std::string(1, static_cast<char>(static_cast<unsigned char>(b))));
      if (at == symbols_.end()) refuse(fmt::format("no token for byte {:#04x}", b));
      bytes_[b] = at->second;
    }
  }

  /// Finds the byte tokens of a character-level model. A character without a token is encoded as its bytes or as the
  /// unknown token.
  void find_bytes(bool fall_back) {
    bytes_.fill(no_token);
    for (std::size_t b = 0; fall_back && b < bytes_.size(); ++b) {
      bytes_[b] = named(byte_token(b));
      names.set_text(bytes_[b], std::string(1, static_cast<char>(static_cast<unsigned char>(b))), where_);
    }
    if (!fall_back && unknown_ == no_token) refuse("no byte tokens and no unknown token");
  }

  std::vector<std::int32_t> bytes(const std::string& piece) const {
    std::vector<std::int32_t> word;
    for (const char c : piece) word.push_back(bytes_[static_cast<unsigned char>(c)]);
    return word;
  }

  std::vector<std::int32_t> characters(const std::string& piece) const {
    std::vector<std::int32_t> word;
    bool unknown_before = false;
    for (std::size_t at = 0; at < piece.size();) {
      const std::string c = piece.substr(at, std::max<std::size_t>(1, character_length(piece, at)));
      at += c.size();
      const auto known = symbols_.find(c);
      const bool unknown = known == symbols_.end() && bytes_[0] == no_token;
      if (known != symbols_.end())
        word.push_back(known->second);
      else if (!unknown)
        for (const char byte : c) word.push_back(bytes_[static_cast<unsigned char>(byte)]);
      else if (!unknown_before || !fuse_unknown_)
        word.push_back(unknown_);
      unknown_before = unknown;
    }
    return word;
  }

  std::string where_;
  bool bytewise_;
  std::unordered_map<std::string, std::int32_t> symbols_;  ///< tokens by their bytes or characters
  PairMerges merges_;
  std::array<std::int32_t, 256> bytes_{};
  std::int32_t unknown_ = no_token;
  bool whole_words_ = false, fuse_unknown_ = false;
};

}  // namespace

TokenModel pair_model(const json::Object& m, bool bytewise) {
  const auto made = std::make_shared<PairModel>(m, bytewise);
  TokenModel model = std::move(made->names);
  model.tokens = [made](const std::string& piece) { return made->tokens(piece); };
  return model;
}

}  // namespace llmcalc::model
