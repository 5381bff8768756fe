#include "evidence/logs/log_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "calc/elementary.hpp"
#include "text/names.hpp"
#include "text/quantity.hpp"

namespace llmcalc {

namespace {

constexpr auto nowhere = std::string_view::npos;

/// A unit as written in logs, and the unit that it denotes.
struct LogUnit {
  std::string_view written, meant;
};
constexpr std::array log_units{LogUnit{"bytes", "B"}, LogUnit{"B", "B"},     LogUnit{"KiB", "KiB"},
                               LogUnit{"KB", "KiB"},  LogUnit{"MiB", "MiB"}, LogUnit{"MB", "MiB"},
                               LogUnit{"GiB", "GiB"}, LogUnit{"GB", "GiB"},  LogUnit{"TiB", "TiB"},
                               LogUnit{"TB", "TiB"},  LogUnit{"PiB", "PiB"}, LogUnit{"PB", "PiB"}};

bool is_letter_of_unit(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
bool is_of_number(char c) { return (c >= '0' && c <= '9') || c == '.' || c == ','; }

std::string_view without_spaces(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return text;
}

/// Unit at the beginning of the text: "GiB" in "GiB; non_torch_memory ...". Empty if there is no unit.
std::string_view unit_at(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_letter_of_unit);
  const std::string_view word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  for (const LogUnit& u : log_units)
    if (u.written == word) return u.meant;
  return "";
}

/// Maximum rounding error: half a unit of the last printed digit.
Bytes rounding(std::string_view number, std::string_view unit, const LogLine& line) {
  const std::size_t point = number.find('.');
  const auto decimals = static_cast<double>(point == nowhere ? 0 : number.size() - point - 1);
  const Bytes one = parse_bytes(fmt::format("1 {}", unit), line.where());
  return Bytes(std::llround(0.5 * elementary::pow(10, -decimals) * static_cast<double>(one.value)));
}

std::string without_commas(std::string_view number) {
  std::string out;
  std::copy_if(number.begin(), number.end(), std::back_inserter(out), [](char c) { return c != ','; });
  return out;
}

/// End of the terminal escape sequence that begins at `at`; `at` if no sequence begins there.
std::size_t behind_escape(std::string_view text, std::size_t at) {
  if (text.substr(at, 2) != "\033[") return at;
  const std::size_t end = text.find_first_not_of("0123456789;", at + 2);
  return end == nowhere ? text.size() : end + 1;
}

}  // namespace

std::string LogLine::where() const { return fmt::format("{}, line {}", file, number); }

std::string_view digits_at(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_of_number);
  std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  while (digits.ends_with('.') || digits.ends_with(',')) digits.remove_suffix(1);  // punctuation of the sentence
  return digits;
}

std::optional<LoggedBytes> size_at(std::string_view text, const LogLine& line) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const std::string_view number = digits_at(text), unit = unit_at(without_spaces(text.substr(number.size())));
  if (number.empty() || unit.empty()) return std::nullopt;
  const Bytes size = parse_rounded_bytes(fmt::format("{} {}", without_commas(number), unit), line.where());
  return LoggedBytes{negative ? Bytes() - size : size, rounding(number, unit, line)};
}

std::optional<std::string_view> LogLine::behind(std::string_view words) const {
  const std::size_t at = text.find(words);
  if (at == nowhere) return std::nullopt;
  return text.substr(at + words.size());
}

std::optional<LoggedBytes> LogLine::size_behind(std::string_view words) const {
  const auto rest = behind(words);
  return rest ? size_at(without_spaces(*rest), *this) : std::nullopt;
}

std::optional<LoggedBytes> LogLine::size_before(std::string_view words) const {
  const std::size_t end = text.find(words);
  if (end == nowhere) return std::nullopt;
  std::size_t begin = end;
  while (begin > 0 && is_letter_of_unit(text[begin - 1])) --begin;
  while (begin > 0 && text[begin - 1] == ' ') --begin;
  while (begin > 0 && is_of_number(text[begin - 1])) --begin;
  if (begin > 0 && text[begin - 1] == '-') --begin;
  return size_at(text.substr(begin, end - begin), *this);
}

std::optional<Count> LogLine::count_behind(std::string_view words) const {
  const auto rest = behind(words);
  const std::string digits = rest ? without_commas(digits_at(without_spaces(*rest))) : "";
  if (digits.empty() || digits.find('.') != nowhere) return std::nullopt;
  return parse_count(digits, where());
}

std::optional<double> LogLine::real_behind(std::string_view words) const {
  const auto rest = behind(words);
  const std::string digits = rest ? without_commas(digits_at(without_spaces(*rest))) : "";
  if (digits.empty()) return std::nullopt;
  return parse_real(digits, where());
}

std::string LogLine::setting(std::string_view key) const {
  for (const std::string& before : {fmt::format(" {}=", key), fmt::format("({}=", key), fmt::format("'{}': ", key)}) {
    auto rest = behind(before);
    if (!rest) continue;
    const bool quoted = rest->starts_with('\'');
    if (quoted) rest->remove_prefix(1);
    const std::string_view value = rest->substr(0, rest->find_first_of(quoted ? "'" : ",)} "));
    return value == "None" ? "" : std::string(value);
  }
  return "";
}

namespace {

/// The text with printable() applied to every line and tab-separated part.
std::string printable_lines(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\n\t"), text.size());
    out += printable(text.substr(0, end));
    out += text.substr(end, 1);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

std::string plain_log(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t next = behind_escape(text, i);
    if (next == i) out += text[i] == '\r' ? '\n' : text[i];
    i = std::max(next, i + 1);
  }
  return printable_lines(out);
}

std::vector<LogLine> log_lines(std::string_view text, std::string_view file) {
  std::vector<LogLine> lines;
  Count number = 1;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back({text.substr(0, end), file, number++});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace llmcalc
