#include "ask/answer/serving/request_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "ask/answer/serving/csv_log.hpp"
#include "ask/answer/serving/log_reader.hpp"
#include "text/csv.hpp"
#include "text/json.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

/// Text of a field in either format: strings unchanged, numbers and arrays of hash ids as in JSON.
std::string field_text(const json::Value& value, LogField field, const std::string& where) {
  if (field == LogField::hash_ids && value.is_array()) return value.dump();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_null()) return value.is_null() ? "" : value.dump();
  throw InputError(fmt::format("{}: expected a number or a name, got {}", where, in_quotes(value.dump())));
}

/// Text of a line's fields.
using FieldTexts = std::array<std::string, log_field_count>;

json::Value json_object(std::string_view text, const std::string& where) {
  json::Value value = json::parse(text, where);
  if (!value.is_object())
    throw InputError(fmt::format(
        "{}: expected an object per line ({{\"arrival\": 0.5, \"prompt\": 900, \"generated\": 120}}), got {}", where,
        in_quotes(text)));
  return value;
}

FieldTexts json_fields(const json::Value& object, const LoggedLine& line, RequestLog& log) {
  FieldTexts texts;
  for (const auto& [name, value] : object.items()) {
    const std::size_t i = line.format.field(name);
    const auto field = static_cast<LogField>(i);
    if (i == no_log_field)
      note_unused(log, line.format, name, line.where());
    else
      texts[i] = field_text(value, field, line.where(field));
  }
  return texts;
}

/// Reads objects, one per line, in the format of the first.
class JsonLines {
 public:
  JsonLines(const std::string& where, RequestLog& log) : where_(where), log_(log) {}
  void read(std::string_view text) {
    for (std::size_t number = 1; !text.empty(); ++number) {
      const std::size_t end = text.find('\n');
      const std::string_view one = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      if (one.find_first_not_of(" \t\r") != std::string_view::npos) read_line(one, number);
    }
    if (reader_) reader_->finish(where_);
  }

 private:
  void read_line(std::string_view text, std::size_t number) {
    const json::Value object = json_object(text, fmt::format("{}, line {}", where_, number));
    if (!reader_) begin(object);
    LoggedLine line{*format_, where_, number};
    const FieldTexts texts = json_fields(object, line, log_);
    std::copy(texts.begin(), texts.end(), line.fields.begin());
    reader_->add(line);
  }
  void begin(const json::Value& object) {
    std::vector<std::string> names;
    for (const auto& [name, value] : object.items()) names.push_back(name);
    format_ = &log_format(names);
    reader_.emplace(log_, *format_);
  }

  const std::string& where_;
  RequestLog& log_;
  const LogFormat* format_ = nullptr;
  std::optional<LogReader> reader_;
};

}  // namespace

RequestLog read_request_log(std::string_view text, const std::string& where) {
  text = without_byte_order_mark(text);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos)
    throw InputError(fmt::format("{} is empty; expected one request per line", where));
  RequestLog log;
  if (text[begin] == '{' || text[begin] == '[')
    JsonLines(where, log).read(text);
  else
    read_csv_log(text, where, log);
  return log;
}

RequestLog read_request_log_file(const std::string& path) {
  constexpr std::size_t most = std::size_t{2} << 30;  // bytes; the Azure trace of conversations in 2024 has 1.1e9
  return read_request_log(json::file_text(path, "a request log, JSONL or CSV", most), path);
}

}  // namespace llmcalc
