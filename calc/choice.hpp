#pragma once
/// Names of enum values. Each enum that appears on the command line or in a file has one table, next to the enum, used
/// to parse and print its values.
///
///   template <> inline constexpr auto choices<Mla> = std::array{Choice{Mla::automatic, "auto"}, ...};
///
/// The first row of a value has its name; further rows of the same value have alternative spellings ("adamw").

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace llmcalc {

template <typename E>
struct Choice {
  E value;
  std::string_view name;
};
template <typename E>
Choice(E, std::string_view) -> Choice<E>;

/// The table of E. The primary template marks an enum without a table.
template <typename E>
inline constexpr int choices = 0;

template <typename E>
concept Named = requires {
  choices<E>.size();
};

template <Named E>
constexpr std::string_view name(E value) {
  for (const auto& row : choices<E>)
    if (row.value == value) return row.name;
  return "?";
}

/// Whether a and b are equal if the case of ASCII letters and the characters '-', '_' and ' ' are ignored.
constexpr bool same_spelling(std::string_view a, std::string_view b) {
  const auto skip = [](std::string_view& s) {
    while (!s.empty() && (s[0] == '-' || s[0] == '_' || s[0] == ' ')) s.remove_prefix(1);
  };
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  for (skip(a), skip(b); !a.empty() && !b.empty(); skip(a), skip(b)) {
    if (lower(a[0]) != lower(b[0])) return false;
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.empty() && b.empty();
}

/// The value named by `text`, if any.
template <Named E>
constexpr std::optional<E> parse(std::string_view text) {
  for (const auto& row : choices<E>)
    if (same_spelling(row.name, text)) return row.value;
  return std::nullopt;
}

namespace detail {

template <Named E>
constexpr auto joined_names() {
  constexpr auto is_name = [](const auto& row) { return name(row.value) == row.name; };
  constexpr std::size_t size = [&] {
    std::size_t n = 0;
    for (const auto& row : choices<E>)
      if (is_name(row)) n += row.name.size() + 1;
    return n - 1;
  }();
  std::array<char, size> text{};
  std::size_t at = 0;
  for (const auto& row : choices<E>) {
    if (!is_name(row)) continue;
    if (at > 0) text[at++] = '|';
    for (const char c : row.name) text[at++] = c;
  }
  return text;
}
template <Named E>
inline constexpr auto joined = joined_names<E>();

}  // namespace detail

/// The names of all choices of E, in table order: "none|selective|full".
template <Named E>
inline constexpr std::string_view choice_names{detail::joined<E>.data(), detail::joined<E>.size()};

/// A set of values of an enum with a table of names.
template <typename E>
class SetOf {
 public:
  constexpr SetOf() = default;
  constexpr SetOf(E m) { add(m); }
  constexpr void add(E m) { bits_ |= bit(m); }
  constexpr bool has(E m) const { return (bits_ & bit(m)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool operator==(const SetOf&) const = default;
  static constexpr SetOf all() {
    SetOf s;
    for (const auto& row : choices<E>) s.add(row.value);
    return s;
  }

 private:
  static constexpr unsigned bit(E m) { return 1U << static_cast<unsigned>(m); }
  unsigned bits_ = 0;
};

}  // namespace llmcalc
