#pragma once
/// Words of a row's text. Searches match whole words and respect denials: "Colorado" does not contain "LoRA", and "no
/// LoRA", "LoRA: off" and "without LoRA" do not affirm it.

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace llmcalc {

/// Runs of letters and runs of digits in lower case, without the characters between them: "FlashAttention-v3" gives
/// "flashattention", "v", "3".
std::vector<std::string> words_of(std::string_view text);

/// The words of words_of() joined without spaces: "ZB-1p" gives "zb1p", "_HYBRID_SHARD" gives "hybridshard".
std::string run_together(std::string_view text);

/// The text without parts in parentheses.
std::string without_remarks(std::string_view text);

/// Words of a row's text, with clause boundaries.
class Words {
 public:
  explicit Words(std::string_view text);

  /// Whether the words of a phrase occur consecutively, denied or not.
  bool has(std::string_view phrase) const;
  bool has_any(std::initializer_list<std::string_view> phrases) const;
  /// Whether the phrase occurs without a denial in its clause: "no", "not", "without", "never" or a comparison ("than",
  /// "versus") at most four words before, "non" right before, or "off", "disabled", "none", "false", "left out", "not
  /// used" or a 0 right after.
  bool affirms(std::string_view phrase) const;
  bool affirms_any(std::initializer_list<std::string_view> phrases) const;
  /// Whether the phrase occurs and all occurrences are denied.
  bool denies(std::string_view phrase) const { return has(phrase) && !affirms(phrase); }

  /// Whether the text provides no information: it is empty, "not stated", "n/a", "unknown" or "-".
  bool silent() const;
  /// Whether the text is only a denial: "no", "none", "off", "false", "disabled", "null".
  bool says_no() const;

  const std::vector<std::string>& all() const { return words_; }
  /// Index of the first occurrence of a phrase from `from` on; the number of words if it does not occur.
  std::size_t place(const std::vector<std::string>& phrase, std::size_t from = 0) const;

 private:
  bool denied(std::size_t begin, std::size_t end) const;
  bool denied_before(std::size_t begin) const;
  bool is_zero(std::size_t at) const;  ///< whether the word begins the number 0: "0", "0.0", but not "0.5"

  std::vector<std::string> words_;
  std::vector<std::size_t> clause_;  ///< clause number of each word, from 0
};

}  // namespace llmcalc
