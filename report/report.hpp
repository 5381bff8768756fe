#pragma once
/// A report: named quantities in sections. Text, Markdown and JSON are three renderings of the same rows, so that none
/// of them can say something else.

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
  std::vector<std::string> columns;
  std::size_t left = 1;  ///< number of left-aligned columns; the others are right-aligned
  std::vector<std::vector<std::string>> rows;
  json::Value json = json::Value::array();  ///< the same rows with exact numbers
};

struct Report {
  std::string command;
  std::string title;  ///< the first line of text
  json::Value model, hardware, inputs, conventions;
  std::vector<Section> sections;
  std::vector<Grid> grids;
  std::vector<std::string> notes;  ///< what a reader must know to trust the numbers
  std::string conclusion;          ///< the last line
  bool one_line = false;           ///< the conclusion is not broken into lines, however long it is

  const Section* find(std::string_view key) const;
};

enum class Style : std::uint8_t { text, markdown, json };
std::string render(const Report& report, Style style);

/// The version of the JSON of reports: another number is another meaning of some key.
inline constexpr Count report_schema = 2;
json::Value report_json(const Report& report);
/// One value, exact.
json::Value value_json(const Quantity& q);
/// JSON text; integers past 2^64 with every digit.
std::string dump(const json::Value& value);

/// "405,853,388,800", and "405.85 B parameters", "754.9 GiB", "2.197 PFLOP", "4.08 ms", "54.6 %".
std::string exact_text(const Quantity& value);
std::string human_text(const Quantity& value, Unit unit);

/// Every digit of a 128-bit number.
std::string digits(Wide value);
/// 1234567 -> "1,234,567".
std::string grouped_digits(const std::string& digits);

}  // namespace llmcalc
