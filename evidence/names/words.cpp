#include "evidence/names/words.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "text/names.hpp"

namespace llmcalc {

namespace {

enum class SignSort { letter, digit, other };
SignSort sort_of_sign(char c) {
  const auto u = static_cast<unsigned char>(c);
  if (std::isalpha(u) != 0) return SignSort::letter;
  return std::isdigit(u) != 0 ? SignSort::digit : SignSort::other;
}

/// Whether a character ends a clause. A decimal point does not, nor does a colon, since "off" may follow it.
bool ends_clause(std::string_view text, std::size_t i) {
  const std::string_view signs = ",;.()+[]{}";
  if (signs.find(text[i]) == std::string_view::npos) return false;
  const bool in_number = text[i] == '.' && i > 0 && i + 1 < text.size() &&
                         sort_of_sign(text[i - 1]) == SignSort::digit && sort_of_sign(text[i + 1]) == SignSort::digit;
  return !in_number;
}

template <std::size_t N>
bool one_of_words(const std::array<std::string_view, N>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// Words that begin a new clause.
constexpr std::array<std::string_view, 3> clause_joints{"and", "but", "plus"};
/// Words that deny a later phrase. The last five are comparisons: "faster than LoRA".
constexpr std::array<std::string_view, 12> denials{"no",      "not",  "without", "never", "neither", "nor",
                                                   "instead", "than", "versus",  "vs",    "unlike",  "compared"};
constexpr std::array<std::string_view, 12> denials_behind{"off",     "disabled", "none",    "false",
                                                          "unused",  "absent",   "omitted", "excluded",
                                                          "skipped", "ignored",  "dropped", "removed"};
/// Words between a phrase and a denial that follows it: "LoRA adapters were disabled", "spec decode tokens: 0".
constexpr std::array words_between = std::to_array<std::string_view>(
    {"is",     "was",    "are",   "were",  "adapter", "mode",   "adapters", "decoding", "training", "turned",
     "decode", "weight", "head",  "heads", "layer",   "layers", "module",   "modules",  "weights",  "tokens",
     "num",    "draft",  "steps", "runs",  "rows",    "gb",     "gib",      "of",       "rate"});
constexpr std::array words_of_use =
    std::to_array<std::string_view>({"used", "applied", "enabled", "set", "active", "loaded", "included", "counted"});

/// Maximum distance, in words, from a denial to a phrase after it.
constexpr std::size_t denial_reach = 4;

}  // namespace

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < text.size();) {
    const SignSort sort = sort_of_sign(text[i]);
    std::size_t end = i + 1;
    while (end < text.size() && sort_of_sign(text[end]) == sort) ++end;
    if (sort != SignSort::other) out.push_back(lower(text.substr(i, end - i)));
    i = end;
  }
  return out;
}

std::string run_together(std::string_view text) {
  std::string all;
  for (const std::string& word : words_of(text)) all += word;
  return all;
}

std::string without_remarks(std::string_view text) {
  std::string out;
  int depth = 0;
  for (const char c : text) {
    if (c == '(') ++depth;
    if (depth == 0) out += c;
    if (c == ')' && depth > 0) --depth;
  }
  return out;
}

Words::Words(std::string_view text) {
  std::size_t clause = 0, begin = 0;
  const auto keep = [&](std::size_t end) {
    for (std::string& word : words_of(text.substr(begin, end - begin))) {
      if (one_of_words(clause_joints, word)) ++clause;
      words_.push_back(std::move(word));
      clause_.push_back(clause);
    }
    begin = end + 1;
  };
  for (std::size_t i = 0; i < text.size(); ++i)
    if (ends_clause(text, i)) {
      keep(i);
      ++clause;
    }
  if (begin < text.size()) keep(text.size());
}

std::size_t Words::place(const std::vector<std::string>& phrase, std::size_t from) const {
  if (phrase.empty() || from > words_.size()) return words_.size();
  const auto begin = words_.begin() + static_cast<std::ptrdiff_t>(from);
  return static_cast<std::size_t>(std::search(begin, words_.end(), phrase.begin(), phrase.end()) - words_.begin());
}

/// Whether a phrase is denied by an earlier word. Only "not", "never" and "compared" deny a phrase after "with": "not
/// trained with LoRA" denies LoRA, "no dropout with LoRA" does not.
bool Words::denied_before(std::size_t begin) const {
  bool beside = false;
  for (std::size_t i = begin; i > 0 && begin - i < denial_reach && clause_[i - 1] == clause_[begin]; --i) {
    const std::string& word = words_[i - 1];
    const bool reaches = !beside || word == "not" || word == "never" || word == "compared";
    if (reaches && one_of_words(denials, word)) return true;
    beside |= word == "with";
  }
  return false;
}

bool Words::is_zero(std::size_t at) const {
  const auto digits = [&](std::size_t i) {
    return i < words_.size() && words_[i].find_first_not_of("0123456789") == std::string::npos;
  };
  const auto zeros = [&](std::size_t i) { return digits(i) && words_[i].find_first_not_of('0') == std::string::npos; };
  return zeros(at) && (!digits(at + 1) || zeros(at + 1));
}

bool Words::denied(std::size_t begin, std::size_t end) const {
  if (begin > 0 && words_[begin - 1] == "non") return true;
  if (denied_before(begin)) return true;
  const auto here = [&](std::size_t i) { return i < words_.size() && clause_[i] == clause_[end - 1]; };
  while (here(end) && one_of_words(words_between, words_[end])) ++end;
  if (!here(end)) return false;
  if (words_[end] == "no") return !here(end + 1);
  if (is_zero(end) || (words_[end] == "left" && here(end + 1) && words_[end + 1] == "out")) return true;
  return one_of_words(denials_behind, words_[end]) ||
         (words_[end] == "not" && here(end + 1) && one_of_words(words_of_use, words_[end + 1]));
}

bool Words::has(std::string_view phrase) const { return place(words_of(phrase)) < words_.size(); }

bool Words::affirms(std::string_view phrase) const {
  const std::vector<std::string> wanted = words_of(phrase);
  for (std::size_t at = place(wanted); at < words_.size(); at = place(wanted, at + 1))
    if (!denied(at, at + wanted.size())) return true;
  return false;
}

bool Words::has_any(std::initializer_list<std::string_view> phrases) const {
  return std::any_of(phrases.begin(), phrases.end(), [&](std::string_view p) { return has(p); });
}

bool Words::affirms_any(std::initializer_list<std::string_view> phrases) const {
  return std::any_of(phrases.begin(), phrases.end(), [&](std::string_view p) { return affirms(p); });
}

bool Words::silent() const {
  if (words_.empty()) return true;
  const bool unknown = words_.size() == 1 && (words_[0] == "unknown" || words_[0] == "unspecified");
  return unknown || has_any({"not stated", "not known", "not given", "not reported"}) ||
         words_ == std::vector<std::string>{"n", "a"};
}

bool Words::says_no() const {
  constexpr std::array<std::string_view, 6> bare{"no", "none", "off", "false", "disabled", "null"};
  return words_.size() == 1 && one_of_words(bare, words_[0]);
}

}  // namespace llmcalc
