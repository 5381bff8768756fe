#pragma once
/// A table of comma-separated values: a line of column names, then lines with one cell per column. In a quoted cell,
/// quotes are doubled ("a, ""b"""); a cell never spans several lines. A leading byte-order mark is skipped.

#include <string>
#include <string_view>
#include <vector>

#include "calc/units.hpp"
#include "text/error.hpp"

namespace llmcalc {

/// The text after an optional UTF-8 byte-order mark (EF BB BF).
std::string_view without_byte_order_mark(std::string_view text);

class CsvTable {
 public:
  /// `where` names the file in errors. Throws an InputError that names the line if column names are missing, empty or
  /// repeated, if a line has too many or too few cells, or if a quote is not closed.
  CsvTable(std::string_view text, std::string where);

  const std::vector<std::string>& columns() const { return columns_; }
  /// Number of rows, excluding the line of column names.
  std::size_t size() const { return rows_.size(); }
  bool has(std::string_view column) const;
  /// Index of a column. If the name is unknown, throws an InputError that lists all columns.
  std::size_t column(std::string_view name) const;

  /// The text of a cell without surrounding spaces; may be empty.
  const std::string& text(std::size_t row, std::size_t column) const { return rows_[row].cells[column]; }
  /// The text of a cell that must not be empty.
  const std::string& name(std::size_t row, std::size_t column) const;
  /// The value of a cell that must be a whole number of at least 0.
  Count count(std::size_t row, std::size_t column) const;
  /// The value of a cell that must be a finite number above 0.
  double positive(std::size_t row, std::size_t column) const;

  /// The row's line number in the file, counted from 1.
  std::size_t line(std::size_t row) const { return rows_[row].line; }
  /// Place of a row, for messages: "dense.csv, line 12".
  std::string where(std::size_t row) const;
  const std::string& where() const { return where_; }

 private:
  struct Line {
    std::size_t line;
    std::vector<std::string> cells;
  };
  std::string where(std::size_t row, std::size_t column) const;

  std::string where_;
  std::vector<std::string> columns_;
  std::vector<Line> rows_;
};

}  // namespace llmcalc
