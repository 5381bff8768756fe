#pragma once
/// A report: named quantities in sections. Text, Markdown and JSON are renderings of the same rows and therefore agree.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ask/answer/fit_verdict.hpp"
#include "report/note.hpp"
#include "text/format.hpp"
#include "text/json.hpp"

namespace llmcalc {

struct Row {
  std::string key;    ///< key in JSON, with dots for nesting; empty: not in JSON
  std::string label;  ///< label in text; empty: not in text
  Quantity value;
  Unit unit = Unit::none;
  std::string note;  ///< a few words next to the number
};

struct Section {
  std::string key;  ///< key in JSON; empty: the rows are only in text
  std::string title;
  std::vector<Row> rows;

  void add(std::string row_key, std::string label, Quantity value, Unit unit = Unit::none, std::string note = "") {
    rows.push_back({std::move(row_key), std::move(label), std::move(value), unit, std::move(note)});
  }
  void add(std::string row_key, std::string label, Bytes value, std::string note = "") {
    add(std::move(row_key), std::move(label), Quantity(value.value), Unit::bytes, std::move(note));
  }
  void add(std::string row_key, std::string label, Seconds value, std::string note = "") {
    add(std::move(row_key), std::move(label), Quantity(value.value), Unit::seconds, std::move(note));
  }
  void add(std::string row_key, std::string label, Flops value, std::string note = "") {
    add(std::move(row_key), std::move(label), Quantity(value), Unit::flops, std::move(note));
  }
};

/// The exact number if it has more digits than human_text; otherwise empty.
std::string exact_beside(const Row& row);

/// A plain table, for lists and operators.
struct Grid {
  std::string key, title;
  std::vector<std::string> columns;    ///< headings; empty: the table is only in JSON
  std::size_t left = 1;                ///< number of left-aligned columns; all other columns are right-aligned
  std::optional<std::size_t> exact{};  ///< index of the column shown only with --exact
  std::vector<std::string> spare{};    ///< right-aligned columns that a narrow screen drops first
  std::vector<std::vector<std::string>> rows;
  json::Value json = json::Value::array();  ///< the same rows with exact numbers

  /// The grid, without the `exact` column unless `exact_too`.
  Grid shown(bool exact_too) const;
  void drop(std::size_t column);
};

/// A line of a verdict: "fits", and "yes: 37.5 of 80.0 GiB per GPU". A sentence has no label.
struct Finding {
  std::string label, text;
  bool bad = false;     ///< whether it is red on a terminal
  bool detail = false;  ///< whether the short answer omits it
  std::string brief{};  ///< text in the short answer; empty: `text`
};

/// Bytes by label.
using MemoryParts = std::vector<std::pair<std::string, Bytes>>;

/// Memory of one device as a bar: parts against the capacity.
struct MemoryBar {
  std::string label;
  MemoryParts parts{};  ///< may sum to more than `used` if not all are live at once
  Bytes used{};
  Bytes capacity{};  ///< capacity of the device; 0: unknown
};

/// The short answer in text: the verdict, and these parts of the report.
struct Brief {
  std::vector<Finding> findings{};
  std::vector<MemoryBar> bars{};
  std::vector<std::string> rows{};  ///< paths of rows to show unless they are 0; "parameters.": a whole section
  bool with_grid = false;           ///< whether to show as many rows of `grid` (if empty: the first grid) as fit
  std::optional<Grid> grid{};
  std::size_t lines = 16;  ///< maximum number of lines
  std::string more{};      ///< last line: "more: --full"
};

struct Report {
  std::string command;
  std::string title;             ///< first line of text
  std::vector<Finding> verdict;  ///< summary of the numbers; follows the title
  std::optional<Fit> fit;  ///< verdict on the plan: the worse of training and inference; absent without a capacity
  json::Value model, hardware, inputs, conventions, layout;
  std::vector<Section> sections;
  std::vector<Grid> grids;
  Notes notes;                 ///< caveats and assumptions behind the numbers
  std::optional<Brief> brief;  ///< the short answer; absent: text is always complete

  const Section* find(std::string_view key) const;
  /// The row at a path such as "memory.peak_bytes".
  const Row* row(std::string_view path) const;
};

enum class Style : std::uint8_t { text, markdown, json, csv, jsonl, html };
/// The option that selects a style; text is the default. Only requests select HTML (report/ask.hpp).
struct StyleFlag {
  std::string_view flag;
  Style style;
};
inline constexpr std::array style_flags{StyleFlag{"--json", Style::json}, StyleFlag{"--markdown", Style::markdown},
                                        StyleFlag{"--csv", Style::csv}, StyleFlag{"--jsonl", Style::jsonl}};

/// Rendering parameters. The caller queries the terminal.
struct Screen {
  Style style = Style::text;
  std::size_t columns = 80;
  bool color = false;  ///< whether the screen shows bold and colors
  bool exact = false;  ///< whether to show every digit next to the rounded numbers; JSON always has them
  bool full = true;    ///< whether to show the whole report instead of its short answer
};

/// Version of the JSON of reports; changes when the meaning of a key changes.
inline constexpr Count report_schema = 2;
}  // namespace llmcalc
