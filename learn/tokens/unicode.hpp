#pragma once
/// Normal forms and regular expressions for Unicode text, by ICU (unicode.org, ICU4C). Without the library every
/// function throws InputError.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace llmcalc::model {

/// The text in the normal form "NFC", "NFD", "NFKC" or "NFKD".
std::string normal_form(std::string_view text, std::string_view form);

/// Step budget of all patterns on one text, proportional to its length: thirty times what the patterns of known
/// tokenizers need, so that patterns with catastrophic backtracking are rejected.
class MatchSteps {
 public:
  explicit MatchSteps(std::size_t bytes) : left_(2000 + static_cast<std::int64_t>(bytes / 100)) {}
  /// Whether this many steps remain, in units of ten thousand.
  bool allow(std::int64_t steps) const { return steps <= left_; }
  void take(std::int64_t steps) { left_ -= steps; }

 private:
  std::int64_t left_;
};

/// A regular expression in the syntax of tokenizers (Oniguruma's Ruby syntax), limited to the parts that ICU interprets
/// the same way: \s is White_Space; \w, \b and anchors, which differ, are rejected.
class Pattern {
 public:
  /// Throws an InputError that names `where` for an invalid pattern or one that ICU reads differently.
  Pattern(std::string_view expression, const std::string& where);

  /// Begin and end offsets, in bytes, of every nonempty match in a UTF-8 text, in order. Throws InputError if the step
  /// budget is exhausted.
  std::vector<std::pair<std::size_t, std::size_t>> matches(std::string_view text, MatchSteps& left) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace llmcalc::model
