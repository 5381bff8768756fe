#pragma once
/// Normal forms and patterns of Unicode text, by ICU (unicode.org, ICU4C). Without the library every function throws
/// InputError.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace llmcalc::model {

/// The text in normal form "NFC", "NFD", "NFKC" or "NFKD".
std::string normal_form(std::string_view text, std::string_view form);

/// A regular expression as tokenizers write it (Oniguruma's Ruby syntax), where ICU reads it alike: \s is White_Space;
/// \w, \b and anchors, which differ, are refused.
class Pattern {
 public:
  /// Throws InputError, naming `where`, for a pattern that is not one or differs.
  Pattern(std::string_view expression, const std::string& where);

  /// First and end byte of every match in a UTF-8 text, in order. An empty match is left out.
  std::vector<std::pair<std::size_t, std::size_t>> matches(std::string_view text) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace llmcalc::model
