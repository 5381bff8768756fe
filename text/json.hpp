#pragma once
/// Checked reading of JSON. nlohmann/json converts -1 to 2^64-1 and 2.7 to 2, and keeps the last of duplicate keys. No
/// such value may reach a formula, so all JSON is read through this file.

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calc/units.hpp"
#include "text/error.hpp"

namespace llmcalc::json {

using Value = nlohmann::ordered_json;

/// Default limit on the length of a document, and the limit on nesting depth.
inline constexpr std::size_t max_bytes = std::size_t{64} << 20;
inline constexpr int max_depth = 64;

/// Parses a whole document. Throws an InputError that names `where` on a syntax error (with line and column), a
/// duplicate key, a number outside the range of double, nesting deeper than max_depth, or a document of more than
/// `most` bytes.
Value parse(std::string_view text, const std::string& where, std::size_t most = max_bytes);

/// Turns the output of Python's json module into valid JSON: outside strings, Infinity, -Infinity and NaN, which other
/// parsers reject, are replaced by null.
std::string without_infinities(std::string_view text);

/// The path that denotes standard input.
inline constexpr std::string_view standard_input = "-";

/// The contents of a file, a pipe or standard input. Throws InputError if it is missing, a folder, a device, unreadable
/// or longer than `most` bytes; `expected` describes the kind of file to pass instead.
std::string file_text(const std::string& path, std::string_view expected = "a JSON file", std::size_t most = max_bytes);

/// The values that a reader expects at a key: their schema, and samples that it reads in different ways.
struct Expected {
  Value schema, samples;
};

/// Whether this thread's readers are run for their schema (text/json_schema.hpp).
bool is_describing();

/// A checked view of a JSON object. It records which keys were read, so that unknown keys can be rejected. Every getter
/// throws an InputError that names the file, the key, the expected value and the actual one.
class Object {
 public:
  /// `where` names the file and the location in it: "my.json" or "my.json, \"attention\"".
  Object(const Value& value, std::string where);
  Object(const Value&& value, std::string where) = delete;  ///< only a pointer to the value is stored

  /// Whether the key is present and not null.
  bool has(std::string_view key) const;
  /// The value if it is present and not null.
  const Value* find(std::string_view key) const;

  Count count(std::string_view key) const;  ///< an integer in [0, 2^63), which may be written as 3.072e3
  Count count_or(std::string_view key, Count otherwise) const;  ///< like count(); `otherwise` if absent or null
  Count positive(std::string_view key) const;                   ///< an integer in [1, 2^63)
  Count positive_or(std::string_view key, Count otherwise) const;
  double number_or(std::string_view key, double otherwise) const;  ///< any finite number
  bool flag(std::string_view key) const;
  bool flag_or(std::string_view key, bool otherwise) const;
  std::string text(std::string_view key) const;
  std::string text(std::string_view key, std::string_view example) const;  ///< text(); `example`: for the schema
  std::string word(std::string_view key, std::string_view words) const;    ///< text(); "a|b|c" is expected, unchecked
  std::string text_or(std::string_view key, std::string_view otherwise) const;
  Object object(std::string_view key) const;
  std::vector<Count> counts(std::string_view key) const;       ///< an array of integers in [0, 2^63)
  std::vector<std::string> texts(std::string_view key) const;  ///< an array of strings

  /// Declares, for the schema, the values expected at a key that is read without one of the getters above. `of` returns
  /// an Expected.
  template <typename Of>
  void expects(std::string_view key, const Of& of) const {
    if (is_describing()) expect(key, of());
  }

  /// The first of `keys` that is present. If all are absent, throws an InputError that lists them.
  std::string_view first_of(std::initializer_list<std::string_view> keys) const;

  /// All keys, in file order.
  std::vector<std::string> keys() const;
  /// Keys that have not been read.
  std::vector<std::string> unread() const;
  /// If there is an unread key, throws an InputError that names the first one and the nearest known key.
  void refuse_unread() const;

  const std::string& where() const { return where_; }
  const Value& value() const { return *value_; }

 private:
  bool was_read(std::string_view key) const;
  void expect(std::string_view key, const Expected& value) const;
  void need(std::string_view key, const Expected& value) const;

  const Value* value_;
  std::string where_;
  mutable std::vector<std::string> read_;
};

}  // namespace llmcalc::json
