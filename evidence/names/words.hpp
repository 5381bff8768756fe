#pragma once
/// A text of a row as words, so that a word is found whole and a denied one is not taken for said: "Colorado" holds no
/// LoRA, and neither does "no LoRA", "LoRA: off" or "without LoRA".

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace llmcalc {

/// Runs of letters and runs of digits in lower case, all else between them left out: "FlashAttention-v3" is
/// "flashattention", "v", "3".
std::vector<std::string> words_of(std::string_view text);

/// These words in one row: "ZB-1p" is "zb1p", "_HYBRID_SHARD" "hybridshard".
std::string run_together(std::string_view text);

/// A text without what stands in parentheses.
std::string without_remarks(std::string_view text);

/// The words of a text, and where its clauses end.
class Words {
 public:
  explicit Words(std::string_view text);

  /// Whether the words of a phrase stand one after another, denied or not.
  bool has(std::string_view phrase) const;
  bool has_any(std::initializer_list<std::string_view> phrases) const;
  /// Whether they do so somewhere where their clause does not deny them: by "no", "not", "without", "never" or a
  /// comparison ("than", "versus") at most four words before, by "non" right before, or by "off", "disabled", "none",
  /// "false", "left out", "not used" or a 0 right behind.
  bool affirms(std::string_view phrase) const;
  bool affirms_any(std::initializer_list<std::string_view> phrases) const;
  /// Whether the text has the phrase, denied wherever it stands.
  bool denies(std::string_view phrase) const { return has(phrase) && !affirms(phrase); }

  /// Whether the text says nothing: it is empty, or "not stated", "n/a", "unknown", "-".
  bool silent() const;
  /// Whether the text is a bare no: "no", "none", "off", "false", "disabled", "null".
  bool says_no() const;

  const std::vector<std::string>& all() const { return words_; }
  /// Where a phrase begins at or behind a place; the number of words: nowhere.
  std::size_t place(const std::vector<std::string>& phrase, std::size_t from = 0) const;

 private:
  bool denied(std::size_t begin, std::size_t end) const;
  bool denied_before(std::size_t begin) const;
  bool is_zero(std::size_t at) const;  ///< "0", "0.0", but not "0.5"

  std::vector<std::string> words_;
  std::vector<std::size_t> clause_;  ///< of each word, counted from 0
};

}  // namespace llmcalc
