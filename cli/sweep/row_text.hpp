#pragma once
/// Rows as text: CSV (RFC 4180), or one JSON object per line. Numbers have all digits, as in --json.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/sweep/table.hpp"

namespace llmcalc {

/// The first line of a table; empty for JSONL.
std::string header_text(TextFormat format, const std::vector<std::string>& header);
/// A row with its line end.
std::string row_text(TextFormat format, const std::vector<std::string>& header, const RowCells& row);
/// A single value without quotes; empty for null.
std::string cell_text(const json::Value& value);

/// Splits a table that is read in pieces into records, and keeps a sample of them.
class RecordReader {
 public:
  explicit RecordReader(TextFormat format) : is_csv_(format == TextFormat::csv), rows_(is_csv_ ? -1 : 0) {}
  void read(std::string_view piece);
  /// Number of whole records, without the header of a CSV file.
  Count rows() const { return std::max<Count>(0, rows_); }
  /// Number of bytes up to the end of the last whole record.
  Count whole_bytes() const { return whole_bytes_; }
  /// The header or the first row, with its line end.
  const std::optional<std::string>& first() const { return first_; }
  /// At most 16 evenly spaced rows, and the last one.
  std::vector<std::pair<Count, std::string>> sample() const;

 private:
  void end_record();
  bool is_csv_, quoted_ = false;
  Count rows_;  ///< number of rows read; -1 while the CSV header is expected
  Count bytes_ = 0, whole_bytes_ = 0, distance_ = 1;
  std::string record_, last_;
  std::optional<std::string> first_;
  std::vector<std::pair<Count, std::string>> sample_;
};

}  // namespace llmcalc
