#pragma once
/// Names as people type them: upper or lower case, and nearly right.

#include <string>
#include <string_view>
#include <vector>

namespace llmcalc {

/// Whether two names are equal except for the case of ASCII letters.
bool same_name(std::string_view a, std::string_view b);

/// `name` in lower case (ASCII letters).
std::string lower(std::string_view name);

/// The canonical spelling of `name`: lower case, '_' and ' ' as '-', and no '-' where a letter meets a
/// digit. "RTX 4090", "rtx4090" and "rtx-4090" are one; "llama-2-7b" and "llama-27b" are two.
std::string spelling(std::string_view name);

/// `text` without what terminals and viewers obey (controls, line ends, bidi marks) or is no UTF-8: '?' for each.
std::string printable(std::string_view text);

/// `text` without control characters and, where it has more than `most` bytes, cut to that many with "..." at its end;
/// `most` >= 3.
std::string shortened(std::string_view text, std::size_t most);

/// `text` between double quotes for a sentence: at most about 60 bytes and without control characters, whatever it
/// holds.
std::string in_quotes(std::string_view text);

/// The text as one word of a shell's command: between single quotes where it holds more than letters, digits and the
/// signs of names and paths.
std::string shell_word(std::string_view text);

/// "adam|sgd|lion" as "adam, sgd or lion".
std::string one_of(std::string_view names);

/// Single-character insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`, each counted
/// once and no character edited twice (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// `edit_distance(a, b)` where it is `limit` or less, else a number above `limit`; names whose lengths differ by more
/// are not compared.
std::size_t edits_within(std::size_t limit, std::string_view a, std::string_view b);

/// The `most` names of `known` that `name` probably stands for, nearest first; none when nothing is near. A
/// name that has all words of `name` is nearer than one that differs in a letter.
std::vector<std::string> nearest(std::string_view name, const std::vector<std::string>& known, std::size_t most = 3);

/// The `count` names of `known` that are closest to `name`, whether or not they are near: those whose first word is the
/// same, an end of it or an abbreviation, then those of a near version, then those with as many of its words, then
/// those that the fewest edits make of it; in the order of `known` where all is the same. Of a long name its first 100
/// bytes are compared, so that a hostile one takes no time.
std::vector<std::string> closest(std::string_view name, std::vector<std::string> known, std::size_t count = 3);

/// The error message for an unknown name: "unknown model "lama3-70b", did you mean 'llama-3-70b'?
/// ('llmcalc list models' shows all 123)". `kind` is "model" or "hardware", `count` how many presets of it there are.
std::string unknown_name(std::string_view kind, std::string_view name, const std::vector<std::string>& known,
                         std::size_t count);

}  // namespace llmcalc
