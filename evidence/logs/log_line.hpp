#pragma once
/// Lines of logs, and the numbers that stand before and behind known words of them.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calc/units.hpp"

namespace llmcalc {

/// Bytes as a program printed them.
struct LoggedBytes {
  Bytes bytes{};
  Bytes within{};  ///< how far it may be from the number before rounding
};

/// A line and where it stands. The words that are looked for stand in it once.
struct LogLine {
  std::string_view text;
  std::string_view file;
  Count number = 1;

  std::string where() const;
  bool says(std::string_view words) const { return text.find(words) != std::string_view::npos; }
  /// The text behind these words; absent where the line does not have them.
  std::optional<std::string_view> behind(std::string_view words) const;
  /// The size that begins right behind these words, or ends right before them: "14.99GiB", "-2.81 GiB", "512 bytes".
  /// PyTorch and vLLM divide by powers of 1024 even where they write "GB" ("Loading model weights took 14.99 GB" is in
  /// units of 2^30 bytes), so that GB is GiB here. Throws InputError for a number that no size has.
  std::optional<LoggedBytes> size_behind(std::string_view words) const;
  std::optional<LoggedBytes> size_before(std::string_view words) const;
  /// A count behind these words: "435,296", "2048".
  std::optional<Count> count_behind(std::string_view words) const;
  /// A number of at least 0: "3.32".
  std::optional<double> real_behind(std::string_view words) const;
};

/// The size at the beginning of a text.
std::optional<LoggedBytes> size_at(std::string_view text, const LogLine& line);
/// The digits at the beginning of a text, with points and commas.
std::string_view digits_at(std::string_view text);

/// A log as it is shown, without colours, and with line ends for the returns of progress bars.
std::string plain_log(std::string_view text);
/// The lines of a text, which must outlive them.
std::vector<LogLine> log_lines(std::string_view text, std::string_view file);

}  // namespace llmcalc
