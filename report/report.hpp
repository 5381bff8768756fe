#pragma once
/// A report: named quantities in sections. Text, Markdown and JSON are three renderings of the same rows, so that none
/// of them can say something else.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "calc/units.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// The meaning of a number, which decides how it is printed, exactly and for people.
enum class Unit : std::uint8_t {
  none,
  parameters,
  tokens,
  sequences,
  bytes,
  flops,
  seconds,
  ratio,  ///< printed as a percentage
  tokens_per_second,
  flops_per_byte,
  days,
  hours,
  kilowatt_hours,
  kilograms,
  dollars,
  bits
};

using Quantity = std::variant<Count, Flops, double, bool, std::string>;

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

/// How a report is rendered. The caller knows the terminal.
struct Screen {
  Style style = Style::text;
  std::size_t columns = 80;
  bool colour = false;  ///< bold and colours
  bool exact = false;   ///< every digit beside the rounded numbers; JSON always has them
};
std::string render(const Report& report, const Screen& screen);

/// Parts of the style text: a whole report, one grid, and lines in bold where the screen has it.
std::string render_text(const Report& report, const Screen& screen);
std::string grid_text(const Grid& grid, const Screen& screen);
std::string in_bold(const std::string& lines, const Screen& screen);

/// The version of the JSON of reports: another number is another meaning of some key.
inline constexpr Count report_schema = 2;
json::Value report_json(const Report& report);
/// One value, exact.
json::Value value_json(const Quantity& q);
/// The number of such a value, counts past 2^64 among them; nothing where it is none.
std::optional<double> number_of(const json::Value& value);
/// JSON text; integers past 2^64 with every digit.
std::string dump(const json::Value& value);

/// "405,853,388,800", and "405.85 B parameters", "754.9 GiB", "2.197 PFLOP", "4.08 ms", "54.6 %".
std::string exact_text(const Quantity& value);
std::string human_text(const Quantity& value, Unit unit);
std::string bytes_text(Bytes b);  // human_text() of bytes
/// human_text() without its last word, which stands in the heading: "405.9 B".
std::string short_text(const Quantity& value, Unit unit);
/// The exact number where it says more than human_text; else nothing.
std::string exact_beside(const Row& row);

/// Every digit of a 128-bit number.
std::string digits(Wide value);
/// 1234567 -> "1,234,567".
std::string grouped_digits(const std::string& digits);

}  // namespace llmcalc
