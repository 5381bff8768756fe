#include "text/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <tuple>

#include "text/utf8.hpp"

namespace llmcalc {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool separates(char c) { return c == '-' || c == '_' || c == '.' || c == ' '; }

/// `name` in lower case without separators, which users often get wrong.
std::string letters(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (!separates(c)) out += lower(c);
  return out;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }
bool letter_meets_digit(char a, char b) { return (is_digit(a) && is_letter(b)) || (is_letter(a) && is_digit(b)); }

/// The words of `name` in lower case.
std::vector<std::string> words(std::string_view name) {
  std::vector<std::string> out(1);
  for (const char c : name)
    if (!separates(c))
      out.back() += lower(c);
    else if (!out.back().empty())
      out.emplace_back();
  if (out.back().empty()) out.pop_back();
  return out;
}

std::string first_word(std::string_view name) {
  const std::vector<std::string> all = words(name);
  return all.empty() ? std::string() : all.front();
}

/// Whether `all` contains every element of `some`; false if `some` is empty.
bool all_among(const std::vector<std::string>& some, const std::vector<std::string>& all) {
  return !some.empty() && std::all_of(some.begin(), some.end(), [&](const std::string& w) {
    return std::find(all.begin(), all.end(), w) != all.end();
  });
}

}  // namespace

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

std::string lower(std::string_view name) {
  std::string out(name);
  for (char& c : out) c = lower(c);
  return out;
}

std::string spelling(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool gap = name[i] == '-' || name[i] == '_' || name[i] == ' ';
    if (gap && i > 0 && i + 1 < name.size() && letter_meets_digit(name[i - 1], name[i + 1])) continue;
    out += gap ? '-' : lower(name[i]);
  }
  return out;
}

namespace {

/// Whether a UTF-8 character is one that terminals interpret: the controls C0, C1 and DEL; U+2028 and U+2029, which end
/// lines and paragraphs; and the bidirectional controls (The Unicode Standard, 23.2), which can make one text look like
/// another.
bool is_obeyed(std::string_view c) {
  constexpr std::array<std::string_view, 14> others{"\u061C", "\u200E", "\u200F", "\u2028", "\u2029",
                                                    "\u202A", "\u202B", "\u202C", "\u202D", "\u202E",
                                                    "\u2066", "\u2067", "\u2068", "\u2069"};
  const auto byte = static_cast<unsigned char>(c[0]);
  if (c.size() == 1) return byte < 0x20 || byte == 0x7f;
  if (byte == 0xC2) return static_cast<unsigned char>(c[1]) < 0xA0;
  return std::find(others.begin(), others.end(), c) != others.end();
}

}  // namespace

std::string printable(std::string_view text) {
  if (std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; })) return std::string(text);
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t n = model::character_length(text, at);
    const std::string_view c = text.substr(at, std::max<std::size_t>(n, 1));
    out += n == 0 || is_obeyed(c) ? "?" : c;
    at += c.size();
  }
  return out;
}

namespace {

/// The first `bytes` bytes of a longer string, without a partial UTF-8 character at the end, followed by "...".
std::string beginning(std::string_view text, std::size_t bytes) {
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  return printable(text.substr(0, bytes)) + "...";
}

}  // namespace

std::string shortened(std::string_view text, std::size_t most) {
  return text.size() <= most ? printable(text) : beginning(text, most - 3);
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t most = 60;
  return "\"" + (text.size() <= most ? printable(text) : beginning(text, most)) + "\"";
}

std::string shell_word(std::string_view text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./+:=@%,").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return std::string(text);
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::vector<std::string> split_at_bars(std::string_view names) {
  std::vector<std::string> all;
  for (std::size_t bar = 0; bar != names.npos; names.remove_prefix(bar == names.npos ? 0 : bar + 1)) {
    bar = names.find('|');
    all.emplace_back(names.substr(0, bar));
  }
  return all;
}

std::string one_of(std::string_view names) {
  std::string out(names);
  if (const std::size_t last = out.rfind('|'); last != std::string::npos) out.replace(last, 1, " or ");
  for (std::size_t at = out.find('|'); at != std::string::npos; at = out.find('|', at)) out.replace(at, 1, ", ");
  return out;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1] ? 1 : 0)});
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

std::size_t edits_within(std::size_t limit, std::string_view a, std::string_view b) {
  const std::size_t at_least = std::max(a.size(), b.size()) - std::min(a.size(), b.size());
  return at_least > limit ? at_least : edit_distance(a, b);
}

namespace {

/// Whether `other` begins with a word that is one edit away from `typed`.
bool nearly_begins(const std::string& other, const std::string& typed) {
  if (typed.size() < 5) return false;
  for (const std::size_t n : {typed.size() - 1, typed.size(), typed.size() + 1})
    if (n < other.size() && edit_distance(typed, other.substr(0, n)) == 1) return true;
  return false;
}

/// Maximum length of a name that is compared; longer names match no known name.
constexpr std::size_t longest_compared = 100;

/// Distance of `candidate` from a typed name: 0 if it has all words of the name, 1 if it begins with the name, at most
/// 2 if it begins with a word one edit away, otherwise the edit distance, exact up to `limit`.
std::size_t distance(std::string_view name, std::string_view candidate, std::size_t limit) {
  const std::string typed = letters(name), other = letters(candidate);
  if (typed.size() >= 3 && all_among(words(name), words(candidate))) return 0;
  if (typed.size() >= 3 && other.starts_with(typed)) return 1;
  const std::size_t whole = edits_within(limit, typed, other);
  return nearly_begins(other, typed) ? std::min<std::size_t>(whole, 2) : whole;
}

}  // namespace

std::vector<std::string> nearest(std::string_view name, const std::vector<std::string>& known, std::size_t most) {
  if (name.size() > longest_compared) return {};
  const std::size_t limit = std::max<std::size_t>(1, letters(name).size() / 3);
  // Sort key: distance, whether the first words differ, edit distance between the whole names, name.
  std::vector<std::tuple<std::size_t, bool, std::size_t, std::string>> found;
  for (const auto& candidate : known)
    if (const std::size_t d = distance(name, candidate, limit); d <= limit)
      found.emplace_back(d, first_word(name) != first_word(candidate), edit_distance(lower(name), lower(candidate)),
                         candidate);
  std::sort(found.begin(), found.end());
  std::vector<std::string> out;
  for (auto& match : found) {
    std::string& candidate = std::get<std::string>(match);
    const auto same = [&](const std::string& said) { return spelling(said) == spelling(candidate); };
    if (out.size() < most && std::none_of(out.begin(), out.end(), same)) out.push_back(std::move(candidate));
  }
  return out;
}

std::string suggestion(std::string_view name, const std::vector<std::string>& known) {
  const std::vector<std::string> near = nearest(name, known, 1);
  return near.empty() ? "" : ", did you mean " + in_quotes(near[0]) + "?";
}

namespace {

/// The parts of a name, with letters and digits separated: "glm4v_moe_text" becomes glm, 4, v, moe. Omits "text", which
/// may occur in any name.
std::vector<std::string> parts(std::string_view name) {
  std::string apart;
  for (const char c : name) {
    if (!apart.empty() && letter_meets_digit(apart.back(), c)) apart += '_';
    apart += c;
  }
  std::vector<std::string> out = words(apart);
  std::erase(out, "text");
  return out;
}

/// Whether `brief` consists of some letters of `word` in order, including its first: "hy" for "hunyuan".
bool abbreviates(const std::string& brief, const std::string& word) {
  if (brief.size() < 2 || brief.size() > 4 || brief[0] != word[0]) return false;
  std::size_t found = 0;
  for (const char c : word)
    if (found < brief.size() && brief[found] == c) ++found;
  return found == brief.size();
}

/// Distance between two first words: 0 if equal, 1 if one is a prefix or suffix of the other, 2 if one abbreviates the
/// other, otherwise 3.
int kinship(const std::string& a, const std::string& b) {
  const std::string &brief = a.size() < b.size() ? a : b, &word = a.size() < b.size() ? b : a;
  if (a == b) return 0;
  if (brief.size() >= 3 && (word.starts_with(brief) || word.ends_with(brief))) return 1;
  return abbreviates(brief, word) ? 2 : 3;
}

/// The first number among the words, read from at most four digits; -1 if there is none.
int version(const std::vector<std::string>& words) {
  for (const std::string& w : words)
    if (is_digit(w[0])) return std::stoi(w.substr(0, 4));
  return -1;
}

/// Difference between `candidate` and a name with the words `typed`, as a tuple: kinship; distance between versions in
/// half steps, or 1 if the candidate has no version; number of words missing from the candidate. For unrelated names,
/// only kinship is set.
std::tuple<int, int, std::size_t> strangeness(const std::vector<std::string>& typed, std::string_view candidate) {
  const std::vector<std::string> other = parts(candidate);
  const int kin = typed.empty() || other.empty() ? 3 : kinship(typed[0], other[0]);
  if (kin == 3) return {kin, 0, 0};
  const int mine = version(typed), its = version(other);
  const int steps = mine < 0 ? 0 : its < 0 ? 1 : 2 * std::abs(mine - its);
  const auto strange = std::count_if(typed.begin(), typed.end(), [&](const std::string& w) {
    return std::find(other.begin(), other.end(), w) == other.end();
  });
  return {kin, steps, static_cast<std::size_t>(strange)};
}

}  // namespace

std::vector<std::string> closest(std::string_view name, std::vector<std::string> known, std::size_t count) {
  std::vector<std::tuple<std::tuple<int, int, std::size_t>, std::size_t, std::string>> found;
  const std::string typed = lower(name.substr(0, longest_compared));
  const std::vector<std::string> typed_words = parts(typed);
  for (std::string& candidate : known) {
    const std::size_t edits = edit_distance(typed, lower(candidate));
    found.emplace_back(strangeness(typed_words, candidate), edits, std::move(candidate));
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
  });
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::min(count, found.size()); ++i) out.push_back(std::move(std::get<2>(found[i])));
  return out;
}

std::string unknown_name(std::string_view kind, std::string_view name, const std::vector<std::string>& known,
                         std::size_t count) {
  std::string meant;
  for (const auto& candidate : nearest(name, known)) meant += (meant.empty() ? " '" : " or '") + candidate + "'";
  if (!meant.empty()) meant = ", did you mean" + meant + "?";
  const std::string plural = kind == "model" ? "models" : std::string(kind);
  return fmt::format("unknown {} {}{} ('llmcalc list {}' shows all {})", kind, in_quotes(name), meant, plural, count);
}

}  // namespace llmcalc
