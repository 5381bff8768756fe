#include "ask/answer/serving/request_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ask/answer/serving/csv_log.hpp"
#include "ask/answer/serving/log_reader.hpp"
#include "text/csv.hpp"
#include "text/json.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

/// Text of a field in either format: strings unchanged, numbers as in JSON.
std::string field_text(const json::Value& value, const std::string& where) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_null()) return value.is_null() ? "" : value.dump();
  throw InputError(fmt::format("{}: expected a number or a name, got {}", where, in_quotes(value.dump())));
}

/// Text of a line's fields.
using FieldTexts = std::array<std::string, log_fields.size()>;

FieldTexts json_line(std::string_view text, const LoggedLine& line, RequestLog& log) {
  const std::string where = line.where();
  const json::Value value = json::parse(text, where);
  if (!value.is_object())
    throw InputError(fmt::format(
        "{}: expected an object per line ({{\"arrival\": 0.5, \"prompt\": 900, \"generated\": 120}}), got {}", where,
        in_quotes(text)));
  FieldTexts texts;
  for (const auto& [name, field] : value.items()) {
    const auto found = std::find(log_fields.begin(), log_fields.end(), name);
    if (found == log_fields.end()) {
      note_unused(log, name, where);
      continue;
    }
    const auto i = static_cast<std::size_t>(found - log_fields.begin());
    texts[i] = field_text(field, line.where(static_cast<LogField>(i)));
  }
  return texts;
}

void read_json_lines(std::string_view text, const std::string& where, RequestLog& log) {
  LogReader reader(log);
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (one.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    LoggedLine line{where, number};
    const FieldTexts texts = json_line(one, line, log);
    std::copy(texts.begin(), texts.end(), line.fields.begin());
    reader.add(line);
  }
}

}  // namespace

RequestLog read_request_log(std::string_view text, const std::string& where) {
  text = without_byte_order_mark(text);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos)
    throw InputError(fmt::format("{} is empty; expected one request per line", where));
  RequestLog log;
  if (text[begin] == '{' || text[begin] == '[')
    read_json_lines(text, where, log);
  else
    read_csv_log(text, where, log);
  return log;
}

RequestLog read_request_log_file(const std::string& path) {
  return read_request_log(json::file_text(path, "a request log, JSONL or CSV"), path);
}

}  // namespace llmcalc
