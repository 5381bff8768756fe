#include "evidence/bench/exposition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "calc/units.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

constexpr std::string_view name_characters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:";  // a digit is not first

/// Reads the sample of a line: name{label="value",...} value [timestamp].
class SampleReader {
 public:
  explicit SampleReader(std::string_view line) : rest_(line) {}

  /// Removes the name from the front; empty without a name.
  std::string_view name() {
    const std::size_t end = std::min(rest_.find_first_not_of(name_characters), rest_.size());
    if (end == 0 || (rest_.front() >= '0' && rest_.front() <= '9')) return {};
    return removed(end);
  }
  /// Removes `{...}` if it comes next, and calls `use` with each label. False if it is malformed.
  template <typename Use>
  bool labels(const Use& use) {
    skip_blanks();
    if (!skips('{')) return true;
    while (skip_blanks(), !skips('}')) {
      const std::string_view label = name();
      skip_blanks();
      if (label.empty() || !skips('=')) return false;
      const std::optional<std::string> text = quoted();
      if (!text) return false;
      use(label, *text);
      skip_blanks();
      skips(',');
    }
    return true;
  }
  /// The number that comes next, after blanks.
  std::optional<double> number() {
    skip_blanks();
    skips('+');
    double x = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), x);
    const std::size_t length = static_cast<std::size_t>(end - rest_.data());
    const bool ends = length == rest_.size() || rest_[length] == ' ' || rest_[length] == '\t' || rest_[length] == '\r';
    return error == std::errc() && ends ? std::optional(x) : std::nullopt;
  }

 private:
  std::string_view removed(std::size_t n) {
    const std::string_view front = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return front;
  }
  void skip_blanks() { removed(std::min(rest_.find_first_not_of(" \t"), rest_.size())); }
  bool skips(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  /// The text in quotes that comes next, with \n, \" and \\ replaced.
  std::optional<std::string> quoted() {
    skip_blanks();
    if (!skips('"')) return std::nullopt;
    std::string text;
    while (!rest_.empty() && !rest_.starts_with('"')) {
      const bool escaped = skips('\\');
      if (rest_.empty()) return std::nullopt;
      const char c = removed(1).front();
      text += escaped && c == 'n' ? '\n' : c;
    }
    return skips('"') ? std::optional(text) : std::nullopt;
  }

  std::string_view rest_;
};

[[noreturn]] void refuse_line(const std::string& where, Count number, std::string_view line) {
  throw InputError(
      fmt::format("{}: line {} is no Prometheus metric, {}; pass the address of a vLLM, SGLang or "
                  "llama.cpp server",
                  where, number, in_quotes(line)));
}

}  // namespace

Exposition::Exposition(std::string_view text, const std::string& where) {
  for (Count number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos || line[first] == '#') continue;
    if (!read_sample(line.substr(first))) refuse_line(where, number, line.substr(first));
  }
}

/// False if the line is malformed.
bool Exposition::read_sample(std::string_view line) {
  SampleReader sample(line);
  const std::string name(sample.name());
  const auto note_model = [&](std::string_view label, const std::string& value) {
    if (label == "model_name") models_.insert(value);
  };
  if (name.empty() || !sample.labels(note_model)) return false;
  const std::optional<double> x = sample.number();
  if (x && std::isfinite(*x) && !name.ends_with("_bucket")) values_[name] += *x;
  return x.has_value();
}

std::optional<double> Exposition::value(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

bool Exposition::has(std::string_view prefix) const {
  const auto found = values_.lower_bound(prefix);
  return found != values_.end() && found->first.starts_with(prefix);
}

}  // namespace llmcalc
