#include "text/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace llmcalc {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// `name` in lower case and without what separates its words, which people seldom remember.
std::string letters(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c != '-' && c != '_' && c != '.' && c != ' ') out += lower(c);
  return out;
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

std::string in_quotes(std::string_view text) {
  std::size_t end = std::min<std::size_t>(text.size(), 60);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // inside UTF-8
  std::string out = "\"";
  for (const char c : text.substr(0, end)) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return out + (end < text.size() ? "...\"" : "\"");
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

std::vector<std::string> nearest(std::string_view name, const std::vector<std::string>& known, std::size_t most) {
  if (name.size() > 100) return {};
  const std::string wanted = letters(name);
  const std::size_t limit = std::max<std::size_t>(1, wanted.size() / 3);
  std::vector<std::tuple<std::size_t, std::size_t, std::string>> found;  // distance, that of the whole names, name
  for (const auto& candidate : known) {
    const std::string other = letters(candidate);
    const bool begun = wanted.size() >= 3 && other.substr(0, wanted.size()) == wanted;
    if (const std::size_t d = begun ? 1 : edit_distance(wanted, other); d <= limit)
      found.emplace_back(d, edit_distance(lower(name), lower(candidate)), candidate);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> out;
  for (auto& [distance, whole, candidate] : found)
    if (out.size() < most) out.push_back(std::move(candidate));
  return out;
}

std::string unknown_name(std::string_view kind, std::string_view name, const std::vector<std::string>& known,
                         std::size_t count) {
  std::string meant;
  for (const auto& candidate : nearest(name, known)) meant += (meant.empty() ? " '" : " or '") + candidate + "'";
  if (!meant.empty()) meant = ", did you mean" + meant + "?";
  const std::string_view plural = kind == "model" ? "models" : "hardware";
  return fmt::format("unknown {} '{}'{} ('llmcalc list {}' shows all {})", kind, name.substr(0, 100), meant, plural,
                     count);
}

}  // namespace llmcalc
