#pragma once
/// A report: named quantities in sections. Text, Markdown and JSON are three renderings of the same rows, so that none
/// of them can say something else.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/format.hpp"
#include "text/json.hpp"

namespace llmcalc {

struct Row {
  std::string key;    ///< in JSON, dots for nesting; empty: not there
  std::string label;  ///< in text; empty: not there
  Quantity value;
  Unit unit = Unit::none;
  std::string note;  ///< a few words next to the number
};

struct Section {
  std::string key;  ///< in JSON; empty: its rows are text only
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

/// The exact number where it says more than human_text; else nothing.
std::string exact_beside(const Row& row);

/// A plain table, for lists and operators.
struct Grid {
  std::string key, title;
  std::vector<std::string> columns;    ///< none: the table stands in JSON alone
  std::size_t left = 1;                ///< number of left-aligned columns; the others are right-aligned
  std::optional<std::size_t> exact{};  ///< the column that only --exact shows
  std::vector<std::string> spare{};    ///< right-aligned columns that a narrow screen leaves out first
  std::vector<std::vector<std::string>> rows;
  json::Value json = json::Value::array();  ///< the same rows with exact numbers

  /// Without the column that is not asked for.
  Grid shown(bool exact_too) const;
  void drop(std::size_t column);
};

/// A line of a verdict: "fits", and "yes: 37.5 of 80.0 GiB per GPU". A sentence has no label.
struct Finding {
  std::string label, text;
  bool bad = false;  ///< red on a terminal
};

struct Report {
  std::string command;
  std::string title;             ///< the first line of text
  std::vector<Finding> verdict;  ///< what the numbers come to; follows the title
  json::Value model, hardware, inputs, conventions, layout;
  std::vector<Section> sections;
  std::vector<Grid> grids;
  std::vector<std::string> notes;  ///< what a reader must know to trust the numbers

  const Section* find(std::string_view key) const;
  /// The row at "memory.peak_bytes".
  const Row* row(std::string_view path) const;
};

enum class Style : std::uint8_t { text, markdown, json };
/// The option that selects a style; without one, text.
struct StyleFlag {
  std::string_view flag;
  Style style;
};
inline constexpr std::array style_flags{StyleFlag{"--json", Style::json}, StyleFlag{"--markdown", Style::markdown}};

/// How a report is rendered. The caller knows the terminal.
struct Screen {
  Style style = Style::text;
  std::size_t columns = 80;
  bool colour = false;  ///< bold and colours
  bool exact = false;   ///< every digit beside the rounded numbers; JSON always has them
};

/// The version of the JSON of reports: another number is another meaning of some key.
inline constexpr Count report_schema = 2;
}  // namespace llmcalc
