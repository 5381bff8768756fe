#pragma once
/// A table of comma-separated values: a line of column names, then lines with a cell for each of them. A cell may stand
/// in quotes, in which "" is one ("a, ""b"""); it ends on its line. A byte-order mark before the table is skipped.

#include <string>
#include <string_view>
#include <vector>

#include "calc/units.hpp"
#include "text/error.hpp"

namespace llmcalc {

/// The text behind the mark that some programs put before UTF-8 (EF BB BF).
std::string_view without_byte_order_mark(std::string_view text);

class CsvTable {
 public:
  /// `where` names the file in errors. Throws InputError, with the line, for a table without column names, a column
  /// named twice or not at all, a cell too many or too few, and quotes that do not end.
  CsvTable(std::string_view text, std::string where);

  const std::vector<std::string>& columns() const { return columns_; }
  /// Rows, without the line of column names.
  std::size_t size() const { return rows_.size(); }
  bool has(std::string_view column) const;
  /// The index of a column. Throws InputError with all columns if there is none of that name.
  std::size_t column(std::string_view name) const;

  /// A cell as it stands, without spaces around it; empty ones too.
  const std::string& text(std::size_t row, std::size_t column) const { return rows_[row].cells[column]; }
  /// A cell that is not empty.
  const std::string& name(std::size_t row, std::size_t column) const;
  /// A whole number of at least 0.
  Count count(std::size_t row, std::size_t column) const;
  /// A finite number above 0.
  double positive(std::size_t row, std::size_t column) const;

  /// The row's line in the file, from 1.
  std::size_t line(std::size_t row) const { return rows_[row].line; }
  /// "dense.csv, line 12"
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
