#pragma once
/// Matching of names as users type them: in upper or lower case, and possibly misspelled.

#include <string>
#include <string_view>
#include <vector>

namespace llmcalc {

/// Whether two names are equal except for the case of ASCII letters.
bool same_name(std::string_view a, std::string_view b);

/// `name` in lower case (ASCII letters).
std::string lower(std::string_view name);

/// The canonical spelling of `name`: lower case, '_' and ' ' replaced by '-', and no '-' between a letter and a digit.
/// "RTX 4090", "rtx4090" and "rtx-4090" have the same spelling; "llama-2-7b" and "llama-27b" do not.
std::string spelling(std::string_view name);

/// `text` with '?' in place of each character that terminals and viewers interpret (controls, line ends, bidi marks)
/// and of each byte that is not UTF-8.
std::string printable(std::string_view text);

/// `text` without control characters, truncated to `most` bytes including a final "..." if it is longer; `most` >= 3.
std::string shortened(std::string_view text, std::size_t most);

/// `text` in double quotes for use in a sentence: at most about 60 bytes, without control characters.
std::string in_quotes(std::string_view text);

/// `text` as a single word of a shell command, in single quotes if it has characters other than letters, digits and
/// the punctuation of names and paths.
std::string shell_word(std::string_view text);

/// The names in "adam|sgd|lion".
std::vector<std::string> split_at_bars(std::string_view names);

/// Joins the names in "adam|sgd|lion" as "adam, sgd or lion".
std::string one_of(std::string_view names);

/// Number of single-character insertions, deletions, substitutions and swaps of neighbors that turn `a` into `b`; no
/// character is edited twice (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// `edit_distance(a, b)` if it is at most `limit`, otherwise a number above `limit`. Names whose lengths differ by more
/// than `limit` are not compared.
std::size_t edits_within(std::size_t limit, std::string_view a, std::string_view b);

/// The names of `known` that `name` probably means, nearest first, at most `most`; empty if no name is near. A name
/// that contains all words of `name` ranks before one that differs from it in a letter.
std::vector<std::string> nearest(std::string_view name, const std::vector<std::string>& known, std::size_t most = 3);
/// The text ", did you mean "tp"?" for the nearest of `known`; empty if none is near.
std::string suggestion(std::string_view name, const std::vector<std::string>& known);

/// The `count` names of `known` closest to `name`, however distant. Ranked by first word (equal, one a prefix or suffix
/// of the other, an abbreviation), then by nearness of version, shared words and edit distance; ties keep the order of
/// `known`. Only the first 100 bytes of `name` are compared, to bound the time for a hostile name.
std::vector<std::string> closest(std::string_view name, std::vector<std::string> known, std::size_t count = 3);

/// The error message for an unknown name: "unknown model "lama3-70b", did you mean 'llama-3-70b'? ('llmcalc list
/// models' shows all 123)". `kind` is "model" or "hardware", `count` the number of presets of that kind.
std::string unknown_name(std::string_view kind, std::string_view name, const std::vector<std::string>& known,
                         std::size_t count);

}  // namespace llmcalc
