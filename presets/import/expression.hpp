#pragma once
/// Regular expressions in the syntax of Python's re, matched in linear time because patterns come from untrusted
/// files. Configs use lookahead, which RE2 does not support. PCRE2 and std::regex support it, but can take
/// exponential time.

#include <bitset>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace llmcalc::import {

/// Thrown for a pattern that is invalid, exceeds the limits below or uses unsupported syntax.
class ExpressionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Supports characters, ".", classes, \d \w \s and their complements, \b, groups, alternatives, ?, *, +, {m,n}, ^, $
/// and lookahead. Does not support backreferences, lookbehind or flags.
class Expression {
 public:
  static constexpr std::size_t longest = 4096;       ///< maximum length of a pattern in bytes
  static constexpr std::size_t most_steps = 2048;    ///< maximum number of steps, after expanding repetitions
  static constexpr std::size_t deepest = 32;         ///< maximum nesting depth of parentheses
  static constexpr std::size_t most_lookaheads = 8;  ///< each may read the rest of the text at every position

  /// Throws ExpressionError if the pattern is not accepted.
  explicit Expression(std::string_view pattern);

  /// Whether the pattern matches at the start of the text, like re.match.
  bool begins(std::string_view text) const;
  /// Whether the pattern matches anywhere in the text, like re.search.
  bool within(std::string_view text) const;

  using Bytes = std::bitset<256>;
  enum class Does : unsigned char { match, byte, fork, jump, begin, end, boundary, no_boundary, ahead, not_ahead };
  /// A step of the matcher. A fork continues at both the next step and `to`. A lookahead's steps follow it and end
  /// with a match step just before `to`.
  struct Step {
    Does does = Does::match;
    std::size_t to = 0;
    Bytes bytes{};
  };

 private:
  std::vector<Step> steps_;
};

}  // namespace llmcalc::import
