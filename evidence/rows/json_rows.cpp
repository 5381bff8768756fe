#include "evidence/rows/json_rows.hpp"

#include <fmt/format.h>

#include "text/error.hpp"

namespace llmcalc {
namespace {

/// Scans JSON text for the lines on which elements of its outermost array begin.
class Elements {
 public:
  explicit Elements(std::string_view text) {
    for (const char c : text) step(c);
  }
  /// Line numbers from 1, one per element.
  std::vector<Count> lines;

 private:
  void step(char c) {
    if (c == '\n') ++line_;
    if (in_string_) return inside_string(c);
    if (depth_ == 1 && awaited_ && c != ' ' && c != '\t' && c != '\r' && c != '\n' && c != ']') {
      lines.push_back(line_);
      awaited_ = false;
    }
    if (c == '"') in_string_ = true;
    if (c == '[' || c == '{') awaited_ = ++depth_ == 1;
    if (c == ']' || c == '}') --depth_;
    if (c == ',' && depth_ == 1) awaited_ = true;
  }
  void inside_string(char c) {
    if (!escaped_ && c == '"') in_string_ = false;
    escaped_ = !escaped_ && c == '\\';
  }

  Count line_ = 1, depth_ = 0;
  bool in_string_ = false, escaped_ = false, awaited_ = false;
};

/// Whether the first line is a complete object, as in JSON Lines.
bool is_lines(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || text[begin] != '{') return false;
  const std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
  return json::Value::accept(line);
}

void for_each_line(std::string_view text, const std::string& where,
                   const std::function<void(const json::Value&, Count)>& read) {
  Count line = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view one = text.substr(0, end);
    ++line;
    if (one.find_first_not_of(" \t\r") != std::string_view::npos)
      read(json::parse(one, fmt::format("{}:{}", where, line)), line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

std::vector<Count> element_lines(std::string_view text) { return Elements(text).lines; }

void for_each_row(std::string_view text, const std::string& where,
                  const std::function<void(const json::Value&, Count)>& read) {
  if (is_lines(text)) return for_each_line(text, where, read);
  const json::Value whole = json::parse(text, where);
  if (whole.is_object()) return read(whole, 1);
  if (!whole.is_array() || whole.empty())
    throw InputError(where + ": expected rows: a JSON array, or one object per line");
  const std::vector<Count> lines = element_lines(text);
  for (std::size_t i = 0; i < whole.size(); ++i) read(whole[i], lines[i]);
}

}  // namespace llmcalc
