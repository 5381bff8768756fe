#include "text/csv.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "text/names.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {

std::string_view without_spaces(std::string_view cell) {
  constexpr std::string_view space = " \t\r";
  const std::size_t begin = cell.find_first_not_of(space);
  return begin == std::string_view::npos ? "" : cell.substr(begin, cell.find_last_not_of(space) + 1 - begin);
}

std::string line_of(const std::string& where, std::size_t line) { return fmt::format("{}, line {}", where, line); }

/// Removes the quoted cell at the front of the line, up to the next comma, and returns its text.
std::string quoted_cell(std::string_view& line, const std::string& at) {
  std::string cell;
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i] != '"') {
      cell += line[i];
    } else if (line.substr(i + 1).starts_with('"')) {
      cell += line[i++];
    } else {
      line = without_spaces(line.substr(i + 1));
      if (line.empty() || line[0] == ',') return cell;
      break;
    }
  }
  throw InputError(
      fmt::format("{}: a quoted cell must end with a quote followed by a comma or the end of the line", at));
}

std::vector<std::string> cells_of(std::string_view line, const std::string& at) {
  std::vector<std::string> cells;
  for (;;) {
    line = without_spaces(line);
    const std::size_t comma = line.find(',');
    if (line.starts_with('"')) {
      cells.push_back(quoted_cell(line, at));
    } else {
      cells.emplace_back(without_spaces(line.substr(0, comma)));
      line.remove_prefix(std::min(comma, line.size()));
    }
    if (line.empty()) return cells;
    line.remove_prefix(1);
  }
}

void refuse_columns(const std::vector<std::string>& columns, const std::string& at) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].empty()) throw InputError(fmt::format("{}: column {} has no name", at, i + 1));
    const auto before = columns.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(columns.begin(), before, columns[i]) != before)
      throw InputError(fmt::format("{}: duplicate column {}; remove one", at, in_quotes(columns[i])));
  }
}

}  // namespace

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

CsvTable::CsvTable(std::string_view text, std::string where) : where_(std::move(where)) {
  text = without_byte_order_mark(text);
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    const std::string_view one = without_spaces(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (one.empty()) continue;
    const std::string at = line_of(where_, line);
    std::vector<std::string> cells = cells_of(one, at);
    if (columns_.empty()) {
      columns_ = std::move(cells);
      refuse_columns(columns_, at);
      continue;
    }
    if (cells.size() != columns_.size())
      throw InputError(fmt::format("{}: expected {} cells, one per column of {}, got {}", at, columns_.size(),
                                   fmt::join(columns_, ", "), cells.size()));
    rows_.push_back({line, std::move(cells)});
  }
  if (rows_.empty())
    throw InputError(fmt::format("{}: expected a line of column names and lines of numbers, got {}", where_,
                                 columns_.empty() ? "an empty file" : "no numbers"));
}

bool CsvTable::has(std::string_view column) const {
  return std::find(columns_.begin(), columns_.end(), column) != columns_.end();
}

std::size_t CsvTable::column(std::string_view name) const {
  const auto found = std::find(columns_.begin(), columns_.end(), name);
  if (found == columns_.end())
    throw InputError(
        fmt::format("{}: no column {}; the columns are {}", where_, in_quotes(name), fmt::join(columns_, ", ")));
  return static_cast<std::size_t>(found - columns_.begin());
}

const std::string& CsvTable::name(std::size_t row, std::size_t column) const {
  const std::string& cell = rows_[row].cells[column];
  if (cell.empty()) throw InputError(where(row, column) + ": expected a name, got an empty cell");
  return cell;
}

Count CsvTable::count(std::size_t row, std::size_t column) const {
  return parse_count(rows_[row].cells[column], where(row, column));
}

double CsvTable::positive(std::size_t row, std::size_t column) const {
  return parse_positive_real(rows_[row].cells[column], where(row, column));
}

std::string CsvTable::where(std::size_t row) const { return line_of(where_, line(row)); }
std::string CsvTable::where(std::size_t row, std::size_t column) const {
  return fmt::format("{}, {}", where(row), in_quotes(columns_[column]));
}

}  // namespace llmcalc
