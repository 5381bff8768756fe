#pragma once
/// Log lines, and the numbers next to known words in them.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calc/units.hpp"

namespace llmcalc {

/// Bytes as printed by a program.
struct LoggedBytes {
  Bytes bytes{};
  Bytes within{};  ///< maximum rounding error
};

/// A log line and its position. The member functions search for words that occur once in the line.
struct LogLine {
  std::string_view text;
  std::string_view file;
  Count number = 1;

  std::string where() const;
  bool says(std::string_view words) const { return text.find(words) != std::string_view::npos; }
  /// Text after these words, if the line contains them.
  std::optional<std::string_view> behind(std::string_view words) const;
  /// Size that begins after these words and blanks, or ends right before them: "14.99GiB", "-2.81 GiB", "512 bytes".
  /// PyTorch and vLLM divide by powers of 1024 even if they write "GB" ("Loading model weights took 14.99 GB" is in
  /// units of 2^30 bytes), so GB means GiB here. Throws InputError for a number that cannot be a size.
  std::optional<LoggedBytes> size_behind(std::string_view words) const;
  std::optional<LoggedBytes> size_before(std::string_view words) const;
  /// Count after these words: "435,296", "2048".
  std::optional<Count> count_behind(std::string_view words) const;
  /// Non-negative number after these words: "3.32".
  std::optional<double> real_behind(std::string_view words) const;
  /// Value of a configuration key: "dtype=torch.bfloat16," or "'dtype': 'bfloat16'". Empty for `None`.
  std::string setting(std::string_view key) const;
};

/// Size at the beginning of the text.
std::optional<LoggedBytes> size_at(std::string_view text, const LogLine& line);
/// Digits at the beginning of the text, including decimal points and commas.
std::string_view digits_at(std::string_view text);

/// The log as displayed: without colors, and with line breaks in place of the carriage returns of progress bars.
std::string plain_log(std::string_view text);
/// Splits a log's text into lines. The text must outlive them.
std::vector<LogLine> log_lines(std::string_view text, std::string_view file);

}  // namespace llmcalc
