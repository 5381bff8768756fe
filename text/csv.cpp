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

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  for (;;) {
    const std::size_t comma = line.find(',');
    cells.emplace_back(without_spaces(line.substr(0, comma)));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

std::string line_of(const std::string& where, std::size_t line) { return fmt::format("{}, line {}", where, line); }

void refuse_quotes(std::string_view line, const std::string& at) {
  if (line.find('"') != std::string_view::npos)
    throw InputError(fmt::format("{}: quotes are not read; names and numbers need none", at));
}

void refuse_columns(const std::vector<std::string>& columns, const std::string& at) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].empty()) throw InputError(fmt::format("{}: column {} has no name", at, i + 1));
    const auto before = columns.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(columns.begin(), before, columns[i]) != before)
      throw InputError(fmt::format("{}: two columns are named {}; leave one of them", at, in_quotes(columns[i])));
  }
}

}  // namespace

CsvTable::CsvTable(std::string_view text, std::string where) : where_(std::move(where)) {
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    const std::string_view one = without_spaces(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (one.empty()) continue;
    const std::string at = line_of(where_, line);
    refuse_quotes(one, at);
    std::vector<std::string> cells = cells_of(one);
    if (columns_.empty()) {
      columns_ = std::move(cells);
      refuse_columns(columns_, at);
      continue;
    }
    if (cells.size() != columns_.size())
      throw InputError(fmt::format("{}: expected {} cells, one for each of {}, got {}", at, columns_.size(),
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
    throw InputError(fmt::format("{}: no column {}; it has {}", where_, in_quotes(name), fmt::join(columns_, ", ")));
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
