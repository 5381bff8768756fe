#include "report/render/brief.hpp"

#include <fmt/color.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/render/lines.hpp"
#include "report/render/text.hpp"
#include "text/counted.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// ---- Memory bar

/// Marks for the largest parts, for all others, and for free memory.
constexpr std::array largest_marks{'#', '=', '+'};
constexpr char other_mark = '-', free_mark = '.';

constexpr const char* other_label = "other";

/// The largest parts; the rest of the used memory as "other".
MemoryParts shown_parts(const MemoryBar& bar) {
  MemoryParts parts = bar.parts;
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  parts.resize(std::min(parts.size(), largest_marks.size()));
  std::erase_if(parts, [](const auto& p) { return p.second <= Bytes(); });
  Bytes rest = bar.used;
  for (const auto& [label, bytes] : parts) rest -= bytes;
  if (rest > Bytes()) parts.emplace_back(other_label, rest);
  return parts;
}

char mark_of(const std::pair<std::string, Bytes>& part, std::size_t i) {
  return part.first == other_label ? other_mark : largest_marks[i];
}

/// The cells of a bar, in proportion to the bytes: "##########==+.....". `all`: bytes of the whole bar.
std::string cells_text(const MemoryParts& parts, Bytes all, std::size_t cells) {
  const auto end_of = [&](Bytes upto) {
    return static_cast<std::size_t>(real(upto.value) / real(all.value) * static_cast<double>(cells) + 0.5);
  };
  std::string text;
  Bytes upto;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    upto += parts[i].second;
    text.resize(std::max(text.size(), std::min(cells, end_of(upto))), mark_of(parts[i], i));
  }
  text.resize(cells, free_mark);
  return text;
}

/// A size in this unit: "15.0".
std::string in_unit(Bytes b, Bytes unit) { return fmt::format("{:.1f}", real(b.value) / real(unit.value)); }

/// The legend of a bar: "# weights 15.0  = workspace 1.9  . free 62.2 GiB", without the last parts if a line is too
/// short for all.
std::string legend_text(const MemoryBar& bar, const MemoryParts& parts, std::size_t columns) {
  const Bytes gibi(Count{1} << 30), mebi(Count{1} << 20);
  const bool is_large = std::max(bar.used, bar.capacity) >= gibi;
  const auto piece = [&](char mark, const std::string& label, Bytes bytes) {
    return fmt::format("{} {} {}", mark, label, in_unit(bytes, is_large ? gibi : mebi));
  };
  std::vector<std::string> pieces;
  for (std::size_t i = 0; i < parts.size(); ++i)
    pieces.push_back(piece(mark_of(parts[i], i), parts[i].first, parts[i].second));
  if (bar.capacity > bar.used) pieces.push_back(piece(free_mark, "free", bar.capacity - bar.used));
  std::string text;
  const std::string unit = is_large ? " GiB" : " MiB";
  for (const std::string& one : pieces)
    if (columns_of(text) + 2 + columns_of(one) + unit.size() <= columns) text += (text.empty() ? "" : "  ") + one;
  return text + unit;
}

std::string size_text(const MemoryBar& bar) {
  if (bar.capacity == Bytes()) return bytes_text(bar.used);
  return fmt::format("{:.0f} % of {}", 100 * real(bar.used.value) / real(bar.capacity.value), bytes_text(bar.capacity));
}

std::string bar_text(const MemoryBar& bar, std::size_t label, const Screen& screen) {
  constexpr std::size_t most_cells = 60;
  const MemoryParts parts = shown_parts(bar);
  const Bytes all = std::max(bar.used, bar.capacity);
  if (all <= Bytes()) return "";
  const std::string size = size_text(bar), first = flush_left(bar.label, label);
  const std::size_t taken = label + 2 + columns_of(size);
  const std::size_t cells = std::min(most_cells, screen.columns > taken + 10 ? screen.columns - taken : 10);
  return fmt::format("{}{}  {}\n", first, cells_text(parts, all, cells), size) + std::string(label, ' ') +
         legend_text(bar, parts, screen.columns - label) + "\n";
}

// ---- Rows

bool is_zero(const Quantity& q) {
  const Count* count = std::get_if<Count>(&q);
  const double* number = std::get_if<double>(&q);
  return (count != nullptr && *count == 0) || (number != nullptr && *number == 0);
}

std::vector<const Row*> chosen_rows(const Report& r) {
  std::vector<const Row*> rows;
  for (const std::string& path : r.brief->rows)
    for (const Section& s : r.sections)
      for (const Row& row : s.rows) {
        const std::string here = s.key + "." + row.key;
        const bool is_chosen = path.ends_with('.') ? here.starts_with(path) : here == path;
        if (is_chosen && !row.label.empty() && !is_zero(row.value)) rows.push_back(&row);
      }
  return rows;
}

std::string number_text(const Row& row) {
  return row.unit == Unit::parameters ? short_text(row.value, row.unit) : human_text(row.value, row.unit);
}

/// The first line of a row. Text that does not fit is omitted together with its separator.
std::string first_line(const std::string& line, std::size_t columns) {
  std::string first = broken(line, columns)[0];
  const std::size_t last = first.find_last_not_of(first.size() < line.size() ? " ,;:" : " ");
  return first.substr(0, last + 1) + "\n";
}

std::string rows_text(const std::vector<const Row*>& rows, std::size_t label, const Screen& screen) {
  std::size_t number = 0;
  for (const Row* row : rows) number = std::max(number, columns_of(number_text(*row)));
  std::string out;
  for (const Row* row : rows)
    out += first_line(
        fmt::format("{}{}  {}", flush_left(row->label, label), flush_right(number_text(*row), number), row->note),
        screen.columns);
  return out;
}

// ---- Grid

/// The grid with as many rows as fit in `lines`; empty if no row fits.
std::string grid_within(Grid grid, std::size_t lines, const Screen& screen) {
  const std::size_t all = grid.rows.size();
  std::string text = grid_text(grid, screen);
  while (grid.rows.size() > 1 && lines_in(text) > lines) {
    grid.rows.pop_back();
    text = grid_text(grid, screen) + fmt::format("  and {} more\n", all - grid.rows.size());
  }
  return lines_in(text) > lines ? "" : text;
}

/// A blank line and the first grid with rows, in at most `lines` lines; empty if there is no such grid.
std::string first_grid(const Report& r, std::size_t lines, const Screen& screen) {
  const auto first =
      std::find_if(r.grids.begin(), r.grids.end(), [](const Grid& g) { return !g.columns.empty() && !g.rows.empty(); });
  const Grid* const grid = r.brief->grid ? &*r.brief->grid : first != r.grids.end() ? &*first : nullptr;
  const std::string text = grid == nullptr || grid->rows.empty() ? "" : grid_within(*grid, lines - 1, screen);
  return text.empty() ? "" : "\n" + text;
}

std::size_t label_width(const Report& r, const std::vector<const Row*>& rows) {
  std::size_t most = 0;
  for (const auto* findings : {&r.verdict, &r.brief->findings})
    for (const Finding& f : *findings)
      if (!f.detail) most = std::max(most, columns_of(f.label));
  for (const MemoryBar& bar : r.brief->bars) most = std::max(most, columns_of(bar.label));
  for (const Row* row : rows) most = std::max(most, columns_of(row->label));
  return most + 2;
}

std::string findings_text(const std::vector<Finding>& findings, std::size_t label, const Screen& screen, bool bold) {
  std::string out;
  for (const Finding& f : findings) {
    if (f.detail || f.text.empty()) continue;
    const std::string& text = f.brief.empty() ? f.text : f.brief;
    const std::string lines = wrapped(f.label.empty() ? "" : flush_left(f.label, label), text, screen.columns);
    out += f.bad ? in_red(lines, screen) : bold ? in_bold(lines, screen) : lines;
  }
  return out;
}

/// The options that show more: "more: --full (2 notes), --ops".
std::string more_text(const Report& r) {
  constexpr std::string_view full = "--full";
  std::string text = r.brief->more;
  const std::size_t at = text.find(full);
  if (at != std::string::npos && !r.notes.empty())
    text.insert(at + full.size(), fmt::format(" ({})", counted(static_cast<Count>(r.notes.size()), "note")));
  return text;
}

}  // namespace

std::string brief_text(const Report& r, const Screen& screen) {
  const Brief& b = *r.brief;
  const std::vector<const Row*> rows = chosen_rows(r);
  const std::size_t label = label_width(r, rows);
  const std::string title = r.title.empty() ? "" : in_bold(wrapped("", r.title, screen.columns), screen);
  const std::string last = wrapped("", more_text(r), screen.columns);
  std::string out = findings_text(r.verdict, label, screen, true);
  if (!rows.empty() && !r.verdict.empty() && r.verdict[0].label.empty()) out += "\n";
  for (const MemoryBar& bar : b.bars) out += bar_text(bar, label, screen);
  out += rows_text(rows, label, screen) + findings_text(b.findings, label, screen, false);
  std::size_t used = lines_in(title) + lines_in(out) + lines_in(last);
  const bool has_gap = !title.empty() && used < b.lines;
  used += has_gap ? 1 : 0;
  if (b.with_grid && used + 1 < b.lines) out += first_grid(r, b.lines - used, screen);
  return title + (has_gap ? "\n" : "") + out + last;
}

}  // namespace llmcalc
