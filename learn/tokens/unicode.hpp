#pragma once
/// Normal forms and patterns of Unicode text, by ICU (unicode.org, ICU4C). Without the library every function throws
/// InputError.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace llmcalc::model {

/// The text in normal form "NFC", "NFD", "NFKC" or "NFKD".
std::string normal_form(std::string_view text, std::string_view form);

/// Steps that all patterns together may take on one text, in proportion to its length: thirty times as many as the
/// patterns of known tokenizers take, so that one that tries every way to cut a text is refused.
class MatchSteps {
 public:
  explicit MatchSteps(std::size_t bytes) : left_(2000 + static_cast<std::int64_t>(bytes / 100)) {}
  /// Ten thousands of steps.
  bool allow(std::int64_t steps) const { return steps <= left_; }
  void take(std::int64_t steps) { left_ -= steps; }

 private:
  std::int64_t left_;
};

/// A regular expression as tokenizers write it (Oniguruma's Ruby syntax), where ICU reads it alike: \s is White_Space;
/// \w, \b and anchors, which differ, are refused.
class Pattern {
 public:
  /// Throws InputError, naming `where`, for a pattern that is not one or differs.
  Pattern(std::string_view expression, const std::string& where);

  /// First and end byte of every match in a UTF-8 text, in order. An empty match is left out. Throws InputError where
  /// that takes more steps than are left.
  std::vector<std::pair<std::size_t, std::size_t>> matches(std::string_view text, MatchSteps& left) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace llmcalc::model
