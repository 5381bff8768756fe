#include "presets/import/expression.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

namespace llmcalc::import {

namespace {

using Does = Expression::Does;
using Step = Expression::Step;

std::size_t index_of(char c) { return static_cast<unsigned char>(c); }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

template <typename Is>
Expression::Bytes bytes_that(const Is& is) {
  Expression::Bytes all;
  for (std::size_t i = 0; i < all.size(); ++i) all.set(i, is(static_cast<char>(i)));
  return all;
}

/// Bytes matched by \d, \w or \s or, for a capital letter, by its complement. Absent for other letters.
std::optional<Expression::Bytes> named_class(char letter) {
  const char small = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  if (small != 'd' && small != 'w' && small != 's') return std::nullopt;
  const Expression::Bytes all = bytes_that(small == 'd' ? is_digit : small == 'w' ? is_word : is_space);
  return letter == small ? all : ~all;
}

Expression::Bytes only(char c) {
  return bytes_that([&](char other) { return other == c; });
}

/// Number of repetitions; `most` is absent if unlimited.
struct Repeat {
  std::size_t least = 1;
  std::optional<std::size_t> most = 1;
};

/// Compiles a pattern to steps, part by part. The steps of a repeated part are emitted once per repetition.
class Writer {
 public:
  explicit Writer(std::string_view pattern) : pattern_(pattern) {
    if (pattern.size() > Expression::longest) throw ExpressionError("pattern too long");
  }

  std::vector<Step> steps() && {
    alternatives();
    if (at_ < pattern_.size()) throw ExpressionError("unmatched closing parenthesis");
    put({.does = Does::match});
    return std::move(steps_);
  }

 private:
  bool more() const { return at_ < pattern_.size(); }
  bool sees(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }
  bool take(std::string_view text) {
    if (!sees(text)) return false;
    at_ += text.size();
    return true;
  }
  char next() {
    if (!more()) throw ExpressionError("unexpected end of pattern");
    return pattern_[at_++];
  }

  std::size_t put(const Step& s) {
    if (steps_.size() >= Expression::most_steps) throw ExpressionError("too many parts");
    steps_.push_back(s);
    return steps_.size() - 1;
  }

  /// Compiles a|b|c. Each alternative is preceded by a fork to the next alternative and followed by a jump past the
  /// last alternative.
  void alternatives() {
    std::vector<std::size_t> ends;
    while (true) {
      const std::size_t begin = steps_.size();
      sequence();
      if (!take("|")) break;
      fork_before(begin);
      ends.push_back(put({.does = Does::jump}));
      steps_[begin].to = steps_.size();
    }
    for (const std::size_t end : ends) steps_[end].to = steps_.size();
  }

  /// Inserts a fork before the steps that start at `begin`, which are shifted by one.
  void fork_before(std::size_t begin) {
    put({.does = Does::fork});
    std::rotate(steps_.begin() + static_cast<std::ptrdiff_t>(begin), steps_.end() - 1, steps_.end());
    for (std::size_t i = begin + 1; i < steps_.size(); ++i)
      if (has_target(steps_[i].does)) ++steps_[i].to;
  }
  static bool has_target(Does d) {
    return d == Does::fork || d == Does::jump || d == Does::ahead || d == Does::not_ahead;
  }

  void sequence() {
    while (more() && !sees("|") && !sees(")")) repeated();
  }

  /// Compiles an atom and its repetition. The atom is compiled once to find its end, then once per repetition.
  void repeated() {
    const std::size_t begin = at_, first = steps_.size(), looks = lookaheads_;
    atom();
    const std::size_t end = at_;
    const Repeat r = repeat();
    const std::size_t behind = at_;
    if (r.least == 1 && r.most == std::size_t{1}) return;
    const auto again = [&] {
      at_ = begin;
      atom();
      at_ = end;
    };
    steps_.resize(first);
    lookaheads_ = looks;
    for (std::size_t i = 0; i < r.least; ++i) again();
    if (!r.most) {
      const std::size_t fork = put({.does = Does::fork});
      again();
      put({.does = Does::jump, .to = fork});
      steps_[fork].to = steps_.size();
    } else {
      std::vector<std::size_t> forks;
      for (std::size_t i = r.least; i < *r.most; ++i) {
        forks.push_back(put({.does = Does::fork}));
        again();
      }
      for (const std::size_t fork : forks) steps_[fork].to = steps_.size();
    }
    at_ = behind;
  }

  /// Parses ?, *, +, {m}, {m,}, {,n} or {m,n}, and an optional ? or + after it, which affects only which match is
  /// found.
  Repeat repeat() {
    Repeat r;
    if (take("?"))
      r.least = 0;
    else if (take("*"))
      r = {.least = 0, .most = std::nullopt};
    else if (take("+"))
      r.most = std::nullopt;
    else if (!sees("{") || !braces(r))
      return r;
    if (!take("?")) take("+");
    if (sees("?") || sees("*") || sees("+")) throw ExpressionError("multiple quantifiers in a row");
    return r;
  }

  /// Reads braces as a repetition. Returns false if they are literal.
  bool braces(Repeat& r) {
    const std::size_t begin = at_++;
    const std::optional<std::size_t> least = number();
    const bool list = take(",");
    const std::optional<std::size_t> most = list ? number() : least;
    if (!take("}") || (!least && !most)) {
      at_ = begin;
      return false;
    }
    r = {.least = least.value_or(0), .most = most};
    if (r.most && *r.most < r.least) throw ExpressionError("maximum repetition below the minimum");
    return true;
  }

  std::optional<std::size_t> number() {
    std::optional<std::size_t> n;
    while (more() && is_digit(pattern_[at_])) {
      n = n.value_or(0) * 10 + static_cast<std::size_t>(next() - '0');
      if (*n > Expression::most_steps) throw ExpressionError("repetition count too large");
    }
    return n;
  }

  /// Compiles one character, class, position or group. Counts atoms, even those without steps, to bound repetitions
  /// of empty parts.
  void atom() {
    if (++atoms_ > 4 * Expression::most_steps) throw ExpressionError("too many parts");
    const char c = next();
    switch (c) {
      case '(':
        return group();
      case '[':
        put({.does = Does::byte, .bytes = byte_class()});
        return;
      case '.':
        put({.does = Does::byte, .bytes = ~only('\n')});
        return;
      case '^':
        put({.does = Does::begin});
        return;
      case '$':
        put({.does = Does::end});
        return;
      case '\\':
        return escape();
      case '?':
      case '*':
      case '+':
        throw ExpressionError("quantifier without a preceding element");
      default:
        put({.does = Does::byte, .bytes = only(c)});
    }
  }

  void escape() {
    const char c = next();
    if (c == 'b' || c == 'B')
      put({.does = c == 'b' ? Does::boundary : Does::no_boundary});
    else if (c == 'A' || c == 'Z')
      put({.does = c == 'A' ? Does::begin : Does::end});
    else
      put({.does = Does::byte, .bytes = escaped(c)});
  }

  /// Bytes matched by an escape whose backslash is followed by the letter `c`.
  static Expression::Bytes escaped(char c) {
    if (const std::optional<Expression::Bytes> named = named_class(c)) return *named;
    if (is_word(c) && c != '_') throw ExpressionError("unknown escape sequence");
    return only(c);
  }

  void group() {
    if (++depth_ > Expression::deepest) throw ExpressionError("parentheses nested too deeply");
    const bool ahead = take("?="), not_ahead = !ahead && take("?!");
    if (!ahead && !not_ahead) {
      if (take("?P<"))
        while (next() != '>') continue;
      else if (!take("?:") && sees("?"))
        throw ExpressionError("unsupported group type");
      alternatives();
    } else {
      lookahead(ahead ? Does::ahead : Does::not_ahead);
    }
    if (!take(")")) throw ExpressionError("missing closing parenthesis");
    --depth_;
  }

  void lookahead(Does does) {
    if (++lookaheads_ > Expression::most_lookaheads) throw ExpressionError("too many lookaheads");
    const std::size_t step = put({.does = does});
    alternatives();
    put({.does = Does::match});
    steps_[step].to = steps_.size();
  }

  /// Parses a class such as [a-z_] or [^.] after its opening bracket.
  Expression::Bytes byte_class() {
    const bool others = take("^");
    Expression::Bytes all;
    for (bool first = true; first || !sees("]"); first = false) {
      const char c = next();
      const bool named = c == '\\' && more() && named_class(pattern_[at_]);
      if (named) {
        all |= *named_class(next());
        continue;
      }
      const char low = c == '\\' ? next() : c;
      const bool range = sees("-") && pattern_.substr(at_).size() > 1 && pattern_[at_ + 1] != ']';
      if (range) ++at_;
      const char high = range ? next() : low;
      if (index_of(high) < index_of(low)) throw ExpressionError("character range with its end before its start");
      for (std::size_t i = index_of(low); i <= index_of(high); ++i) all.set(i);
    }
    ++at_;
    return others ? ~all : all;
  }

  std::string_view pattern_;
  std::size_t at_ = 0, depth_ = 0, atoms_ = 0, lookaheads_ = 0;
  std::vector<Step> steps_;
};

/// Matches steps against a string. No step is tried twice at the same position, since the result would be the same.
/// Time is therefore proportional to steps x length. A lookahead may run such a match at every position.
class Matcher {
 public:
  Matcher(const std::vector<Step>& steps, std::string_view text)
      : steps_(steps), text_(text), looked_(steps.size() * (text.size() + 1), unknown) {}

  bool from(std::size_t place) { return run(0, place, place); }
  bool from_any() { return run(0, 0, text_.size()); }

 private:
  static constexpr char unknown = 2;

  std::size_t cell(std::size_t step, std::size_t place) const { return step * (text_.size() + 1) + place; }

  /// Whether the steps that start at `step` match at any position from `first` to `last`.
  bool run(std::size_t step, std::size_t first, std::size_t last) {
    std::vector<bool> tried(looked_.size());
    std::vector<std::pair<std::size_t, std::size_t>> open;
    for (std::size_t place = first; place <= last; ++place) {
      open.emplace_back(step, place);
      while (!open.empty()) {
        const auto [s, at] = open.back();
        open.pop_back();
        if (tried[cell(s, at)]) continue;
        tried[cell(s, at)] = true;
        if (steps_[s].does == Does::match) return true;
        follow(s, at, open);
      }
    }
    return false;
  }

  void follow(std::size_t s, std::size_t at, std::vector<std::pair<std::size_t, std::size_t>>& open) {
    const Step& step = steps_[s];
    switch (step.does) {
      case Does::byte:
        if (at < text_.size() && step.bytes.test(index_of(text_[at]))) open.emplace_back(s + 1, at + 1);
        return;
      case Does::fork:
        open.emplace_back(step.to, at);
        open.emplace_back(s + 1, at);
        return;
      case Does::jump:
        open.emplace_back(step.to, at);
        return;
      case Does::ahead:
      case Does::not_ahead:
        if (looks(s, at) == (step.does == Does::ahead)) open.emplace_back(step.to, at);
        return;
      default:
        if (is_at(step.does, at)) open.emplace_back(s + 1, at);
    }
  }

  bool is_at(Does does, std::size_t at) const {
    if (does == Does::begin) return at == 0;
    if (does == Does::end) return at == text_.size();
    const bool before = at > 0 && is_word(text_[at - 1]), behind = at < text_.size() && is_word(text_[at]);
    return (before != behind) == (does == Does::boundary);
  }

  bool looks(std::size_t s, std::size_t at) {
    if (looked_[cell(s, at)] == unknown) looked_[cell(s, at)] = run(s + 1, at, at) ? 1 : 0;
    return looked_[cell(s, at)] == 1;
  }

  const std::vector<Step>& steps_;
  std::string_view text_;
  std::vector<char> looked_;  ///< results of lookaheads, by step and position
};

}  // namespace

Expression::Expression(std::string_view pattern) : steps_(Writer(pattern).steps()) {}

bool Expression::begins(std::string_view text) const { return Matcher(steps_, text).from(0); }

bool Expression::within(std::string_view text) const { return Matcher(steps_, text).from_any(); }

}  // namespace llmcalc::import
