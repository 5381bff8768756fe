#include "ask/answer/serving/csv_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ask/answer/serving/log_reader.hpp"
#include "text/csv.hpp"
#include "text/error.hpp"
#include "text/json.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

/// The field of each column, or `no_log_field`.
using ColumnFields = std::vector<std::size_t>;

/// The fields of a table's columns. Throws InputError if a required column is missing.
ColumnFields fields_of(const CsvTable& table, const LogFormat& format, const std::string& where, RequestLog& log) {
  for (const LogField f : needed_log_fields) table.column(format.name(f));
  ColumnFields all;
  for (const std::string& name : table.columns()) {
    all.push_back(format.field(name));
    if (all.back() == no_log_field) note_unused(log, format, name, where);
  }
  return all;
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view without_spaces(std::string_view cell) {
  while (!cell.empty() && is_space(cell.front())) cell.remove_prefix(1);
  while (!cell.empty() && is_space(cell.back())) cell.remove_suffix(1);
  return cell;
}

/// The lines of a text, numbered from 1, without surrounding spaces.
class TextLines {
 public:
  explicit TextLines(std::string_view text) : rest_(text) {}
  /// Advances to the next line that is not blank. Returns false at the end of the text.
  bool next() {
    while (!rest_.empty()) {
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      line_ = without_spaces(rest_.substr(0, end));
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      ++number_;
      if (!line_.empty()) return true;
    }
    return false;
  }
  std::string_view line() const { return line_; }
  std::size_t number() const { return number_; }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_, line_;
  std::size_t number_ = 0;
};

/// Assigns the cells of a line to fields. Returns whether there is a cell for each column.
bool split(std::string_view line, const ColumnFields& fields, LoggedLine& logged) {
  const char *at = line.data(), *const end = at + line.size();
  for (std::size_t column = 0; column < fields.size(); ++column) {
    const char* const begin = at;
    while (at != end && *at != ',') ++at;
    const std::string_view cell = without_spaces({begin, static_cast<std::size_t>(at - begin)});
    if (fields[column] != no_log_field) logged.fields[fields[column]] = cell;
    const bool last = column + 1 == fields.size();
    if ((at == end) != last) return false;
    if (!last) ++at;
  }
  return true;
}

/// Reads a text without quotes line by line. Returns false if there are no requests, or if a line lacks cells or has
/// too many.
bool read_plain(std::string_view text, const std::string& where, RequestLog& log) {
  TextLines lines(text);
  lines.next();
  const std::string_view names = text.substr(0, text.size() - lines.rest().size());
  TextLines first = lines;
  if (!first.next()) return false;
  const CsvTable head(fmt::format("{}{}", names, first.line()), where);
  const LogFormat& format = log_format(head.columns());
  const ColumnFields fields = fields_of(head, format, where, log);
  const auto rows = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  log.requests.reserve(rows);
  log.lines.reserve(rows);
  LogReader reader(log, format);
  while (lines.next()) {
    LoggedLine line{format, where, lines.number()};
    if (!split(lines.line(), fields, line)) return false;
    reader.add(line);
  }
  reader.finish(where);
  return true;
}

void read_table(const CsvTable& table, const std::string& where, RequestLog& log) {
  const LogFormat& format = log_format(table.columns());
  const ColumnFields fields = fields_of(table, format, where, log);
  LogReader reader(log, format);
  for (std::size_t row = 0; row < table.size(); ++row) {
    LoggedLine line{format, where, table.line(row)};
    for (std::size_t column = 0; column < fields.size(); ++column)
      if (fields[column] != no_log_field) line.fields[fields[column]] = table.text(row, column);
    reader.add(line);
  }
  reader.finish(where);
}

}  // namespace

void note_unused(RequestLog& log, const LogFormat& format, const std::string& name, const std::string& where) {
  for (const std::string_view field : format.names)
    if (!field.empty() && edits_within(2, lower(name), lower(field)) <= 2)
      throw InputError(fmt::format("{}: unknown field {}, did you mean {}?", where, in_quotes(name), in_quotes(field)));
  if (std::find(log.unused.begin(), log.unused.end(), name) == log.unused.end()) log.unused.push_back(name);
}

/// A text that cannot be read line by line, because it has quotes or errors, is read as a table, which checks all lines
/// before any value. A table of a long text with errors would need much memory.
void read_csv_log(std::string_view text, const std::string& where, RequestLog& log) {
  try {
    if (text.find('"') == std::string_view::npos && read_plain(text, where, log)) return;
  } catch (const InputError&) {
    if (text.size() > json::max_bytes) throw;
  }
  log = {};
  read_table(CsvTable(text, where), where, log);
}

}  // namespace llmcalc
