#pragma once
/// Regular expressions as Python's re reads them, matched in time that is linear in the text: patterns come from files.
/// Configs use lookahead, which RE2 does not know; PCRE2 and std::regex know it, and take exponential time.

#include <bitset>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace llmcalc::import {

/// A pattern that is no regular expression, or one that is longer, deeper or richer than module names need.
class ExpressionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Known are characters, ".", classes, \d \w \s and their opposites, \b, groups, alternatives, ?, *, +, {m,n}, ^, $ and
/// lookahead. Not known are back references, lookbehind and flags.
class Expression {
 public:
  static constexpr std::size_t longest = 4096;       ///< pattern, in bytes
  static constexpr std::size_t most_steps = 2048;    ///< instructions, repeated parts as often as they are repeated
  static constexpr std::size_t deepest = 32;         ///< brackets within brackets
  static constexpr std::size_t most_lookaheads = 8;  ///< each reads the rest of the text from every place

  /// Throws ExpressionError.
  explicit Expression(std::string_view pattern);

  /// Whether the text, from its begin, matches: re.match.
  bool begins(std::string_view text) const;
  /// Whether any part of the text matches: re.search.
  bool within(std::string_view text) const;

  using Bytes = std::bitset<256>;
  enum class Does : unsigned char { match, byte, fork, jump, begin, end, boundary, no_boundary, ahead, not_ahead };
  /// A step of the matcher. A fork goes on at the next step and at `to`; a lookahead's own steps follow it, and `to` is
  /// behind their match.
  struct Step {
    Does does = Does::match;
    std::size_t to = 0;
    Bytes bytes{};
  };

 private:
  std::vector<Step> steps_;
};

}  // namespace llmcalc::import
