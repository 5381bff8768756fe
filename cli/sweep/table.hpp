#pragma once
/// The file or stream that a sweep writes its rows to: CSV, JSONL or SQLite.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "report/sweep/point_answers.hpp"

namespace llmcalc {

/// Consecutive rows. Text tables need only the rows' text, which threads produce concurrently.
struct RowBlock {
  std::vector<RowCells> rows;
  std::string text{};
  Count size = 0;        ///< number of rows in the block
  Count errors = 0;      ///< number of impossible points in the block
  bool stopped = false;  ///< whether rows are missing at the end of the block
};

/// Rows already in a file, with a sample for comparison.
struct WrittenRows {
  Count rows = 0;
  std::vector<std::pair<Count, std::string>> sample{};  ///< index and Table::record() of each sampled row
};

enum class Opening : std::uint8_t { fresh, resume, force };

class Table {
 public:
  virtual ~Table() = default;
  Table() = default;
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  /// The rows found by Opening::resume. No row is changed or dropped before start().
  virtual WrittenRows written() { return {}; }
  /// Prepares for the first new row.
  virtual void start() = 0;
  /// The text that represents a row. Thread-safe.
  virtual std::string record(const RowCells& row) const = 0;
  /// Converts rows to the table's own form. Thread-safe.
  virtual void encode(RowBlock& block) const { static_cast<void>(block); }
  virtual void append(const RowBlock& block) = 0;
  virtual void finish() {}
  /// Whether rows are printed on the terminal, where a progress line would garble them.
  virtual bool is_on_terminal() const { return false; }
};

enum class TextFormat : std::uint8_t { csv, jsonl };

/// The table on standard output.
std::unique_ptr<Table> output_table(TextFormat format, std::vector<std::string> header);

/// The table in a file, whose name ends with .csv, .jsonl, .sqlite or .db. An existing file is continued or replaced
/// only if its header is the same, or with Opening::force. Throws InputError.
std::unique_ptr<Table> file_table(const std::string& path, std::vector<std::string> header, Opening opening);
/// Throws InputError for a name with any other ending.
void check_table_name(const std::string& path);

}  // namespace llmcalc
