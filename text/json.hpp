#pragma once
/// Checked reading of JSON. nlohmann/json converts -1 to 2^64-1, 2.7 to 2 and keeps the last of duplicate keys; nothing
/// of that may reach a formula, so all reading goes through here.

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

/// The longest text that is read unless a caller says another, and the deepest nesting.
inline constexpr std::size_t max_bytes = std::size_t{64} << 20;
inline constexpr int max_depth = 64;

/// Parses a whole document. Throws InputError, naming `where`, on a syntax error (with line and column), a duplicate
/// key, a number that no double holds, nesting past max_depth or text of more than `most` bytes.
Value parse(std::string_view text, const std::string& where, std::size_t most = max_bytes);

/// A text of Python's json as JSON: null in place of Infinity, -Infinity and NaN outside of strings, which no other
/// parser takes.
std::string without_infinities(std::string_view text);

/// The path that stands for what is piped into the program.
inline constexpr std::string_view standard_input = "-";

/// The text of a file, of a pipe, or of the standard input. Throws InputError if it is missing, a folder, a device,
/// unreadable, or longer than `most` bytes; `expected` says what to give instead.
std::string file_text(const std::string& path, std::string_view expected = "a JSON file", std::size_t most = max_bytes);

/// A JSON object seen through checks. It remembers which keys were asked for, so that unknown ones can be refused.
/// Every getter throws InputError with a sentence that names the file, the key, what was expected and what was found.
class Object {
 public:
  /// `where` names the file and the place inside it: "my.json" or "my.json, \"attention\"".
  Object(const Value& value, std::string where);
  Object(const Value&& value, std::string where) = delete;  ///< the value is looked at, not kept

  /// Present and not null.
  bool has(std::string_view key) const;
  /// The value if it is present and not null.
  const Value* find(std::string_view key) const;

  Count count(std::string_view key) const;                      ///< an integer in [0, 2^63), 3.072e3 among them
  Count count_or(std::string_view key, Count otherwise) const;  ///< the same; `otherwise` if absent or null
  Count positive(std::string_view key) const;                   ///< an integer in [1, 2^63)
  Count positive_or(std::string_view key, Count otherwise) const;
  double number_or(std::string_view key, double otherwise) const;  ///< any finite number
  bool flag(std::string_view key) const;
  bool flag_or(std::string_view key, bool otherwise) const;
  std::string text(std::string_view key) const;
  std::string text_or(std::string_view key, std::string_view otherwise) const;
  Object object(std::string_view key) const;
  std::vector<Count> counts(std::string_view key) const;       ///< an array of integers in [0, 2^63)
  std::vector<std::string> texts(std::string_view key) const;  ///< an array of strings

  /// The first of `keys` that is present, or an error that lists them.
  std::string_view first_of(std::initializer_list<std::string_view> keys) const;

  /// Every key, asked for or not, in the file's order.
  std::vector<std::string> keys() const;
  /// The keys that nothing asked for.
  std::vector<std::string> unread() const;
  /// Throws InputError naming the first unread key and the nearest known one.
  void refuse_unread() const;

  const std::string& where() const { return where_; }
  const Value& value() const { return *value_; }

 private:
  bool was_read(std::string_view key) const;

  const Value* value_;
  std::string where_;
  mutable std::vector<std::string> read_;
};

}  // namespace llmcalc::json
