#include "report/render/bar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/render/lines.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

/// Marks for the largest parts, for all others, and for free memory.
constexpr std::array largest_marks{'#', '=', '+'};
constexpr char other_mark = '-', free_mark = '.';

constexpr Bytes gibi(Count{1} << 30), mebi(Count{1} << 20);
bool is_large(const MemoryBar& bar) { return std::max(bar.used, bar.capacity) >= gibi; }

/// The largest parts, in order.
MemoryParts largest_parts(const MemoryBar& bar) {
  MemoryParts parts = bar.parts;
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  parts.resize(std::min(parts.size(), largest_marks.size()));
  std::erase_if(parts, [](const auto& p) { return p.second <= Bytes(); });
  return parts;
}

/// The cells of a bar, in proportion to the bytes: "##########==+.....". `all`: bytes of the whole bar.
std::string cells_text(const std::vector<BarPart>& parts, Bytes all, std::size_t cells) {
  const auto end_of = [&](Bytes upto) {
    return static_cast<std::size_t>(real(upto.value) / real(all.value) * static_cast<double>(cells) + 0.5);
  };
  std::string text;
  Bytes upto;
  for (const BarPart& part : parts) {
    upto += part.bytes;
    text.resize(std::max(text.size(), std::min(cells, end_of(upto))), part.mark);
  }
  text.resize(cells, free_mark);
  return text;
}

/// The legend of a bar: "# weights 15.0  = workspace 1.9  . free 62.2 GiB", without the last parts if a line is too
/// short for all.
std::string legend_text(const MemoryBar& bar, const std::vector<BarPart>& parts, std::size_t columns) {
  const std::string unit = fmt::format(" {}", size_unit(bar));
  std::string text;
  for (const BarPart& part : parts) {
    const std::string one = fmt::format("{} {} {}", part.mark, part.label, part.size);
    if (columns_of(text) + 2 + columns_of(one) + unit.size() <= columns) text += (text.empty() ? "" : "  ") + one;
  }
  return text + unit;
}

}  // namespace

std::string_view size_unit(const MemoryBar& bar) { return is_large(bar) ? "GiB" : "MiB"; }

std::vector<BarPart> shown_parts(const MemoryBar& bar) {
  std::vector<BarPart> parts;
  const auto add = [&](const std::string& label, Bytes bytes, char mark) {
    const Bytes unit = is_large(bar) ? gibi : mebi;
    if (bytes > Bytes())
      parts.push_back({label, bytes, mark, fmt::format("{:.1f}", real(bytes.value) / real(unit.value))});
  };
  Bytes rest = bar.used;
  for (const auto& [label, bytes] : largest_parts(bar)) {
    add(label, bytes, largest_marks[parts.size()]);
    rest -= bytes;
  }
  add("other", rest, other_mark);
  add("free", bar.capacity - bar.used, free_mark);
  return parts;
}

std::string size_text(const MemoryBar& bar) {
  if (bar.capacity == Bytes()) return bytes_text(bar.used);
  return fmt::format("{:.0f} % of {}", 100 * real(bar.used.value) / real(bar.capacity.value), bytes_text(bar.capacity));
}

std::string bar_text(const MemoryBar& bar, std::size_t label, const Screen& screen) {
  constexpr std::size_t most_cells = 60;
  const Bytes all = std::max(bar.used, bar.capacity);
  if (all <= Bytes()) return "";
  const std::vector<BarPart> parts = shown_parts(bar);
  const std::string size = size_text(bar), first = flush_left(bar.label, label);
  const std::size_t taken = label + 2 + columns_of(size);
  const std::size_t cells = std::min(most_cells, screen.columns > taken + 10 ? screen.columns - taken : 10);
  return fmt::format("{}{}  {}\n", first, cells_text(parts, all, cells), size) + std::string(label, ' ') +
         legend_text(bar, parts, screen.columns - label) + "\n";
}

}  // namespace llmcalc
