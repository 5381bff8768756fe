#pragma once
/// Added tokens, such as "<|end_of_text|>", which are matched in a text before any other processing.

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/json.hpp"

namespace llmcalc::model {

struct AddedToken {
  std::int32_t id = 0;
  std::string content;
  bool special = false;  ///< whether the token decodes to an empty string
};

class AddedTokens {
 public:
  AddedTokens() = default;
  AddedTokens(const AddedTokens&) = delete;  ///< not copyable, because by_content_ holds views of strings in all_
  AddedTokens& operator=(const AddedTokens&) = delete;
  AddedTokens(AddedTokens&&) = default;
  AddedTokens& operator=(AddedTokens&&) = default;
  ~AddedTokens() = default;
  /// Reads "added_tokens" of a tokenizer.json. normalizes: whether the file's normalizers change text. Throws
  /// InputError for unknown options.
  AddedTokens(const json::Object& file, bool normalizes);

  const std::vector<AddedToken>& all() const { return all_; }
  /// The id of the token with this content; absent if unknown.
  std::optional<std::int32_t> id(std::string_view content) const;

  /// Splits a text at added tokens and calls on_text and on_token for the parts in order. The longest token at a
  /// position wins.
  void split(std::string_view text, const std::function<void(std::string_view)>& on_text,
             const std::function<void(std::int32_t)>& on_token) const;

 private:
  const AddedToken* longest_at(std::string_view text) const;

  std::vector<AddedToken> all_;
  std::unordered_map<std::string_view, std::size_t> by_content_;
  std::array<std::vector<std::size_t>, 256> lengths_;  ///< token lengths by first byte, longest first
};

}  // namespace llmcalc::model
