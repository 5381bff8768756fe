#include "report/render/text.hpp"

#include <fmt/color.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "report/question.hpp"
#include "report/render/lines.hpp"
#include "report/report.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

std::string painted(const std::string& lines, const fmt::text_style& style, const Screen& screen) {
  if (!screen.color || lines.empty()) return lines;
  return fmt::format(style, "{}", lines.substr(0, lines.size() - 1)) + "\n";
}

std::string heading(const std::string& title, const Screen& screen) {
  return title.empty() ? "" : in_bold(wrapped("", title, screen.columns), screen);
}

std::string verdict_text(const Report& r, const Screen& screen) {
  std::size_t label = 0;
  for (const Finding& f : r.verdict) label = std::max(label, columns_of(f.label));
  std::string out;
  for (const Finding& f : r.verdict) {
    const std::string first = f.label.empty() ? "" : flush_left(f.label, label + 2);
    const std::string lines = wrapped(first, f.text, screen.columns);
    out += f.bad ? in_red(lines, screen) : in_bold(lines, screen);
  }
  return out.empty() ? out : out + "\n";
}

// ---- Sections: label, exact number, number, unit, note; the same columns in all sections of a report

struct TextLine {
  std::string label, exact, number, unit, note;
};

TextLine line_of(const Row& row, bool exact) {
  const bool plain = row.unit == Unit::parameters;  // the label implies the unit
  TextLine l{row.label, exact ? exact_beside(row) : "",
             plain ? short_text(row.value, row.unit) : human_text(row.value, row.unit), "", row.note};
  const std::size_t space = l.number.find(' ');
  if (l.number.find_first_of("0123456789-") != 0 || space == std::string::npos) return l;
  l.unit = l.number.substr(space + 1);
  l.number.resize(space);
  return l;
}

struct Widths {
  std::size_t label = 22, exact = 0, number = 0, unit = 0;

  /// Adds a line. Values that are text do not widen the number column.
  void add(const TextLine& l) {
    label = std::max(label, columns_of(l.label));
    exact = std::max(exact, columns_of(l.exact));
    if (l.number.find_first_of("0123456789-") == 0) number = std::max(number, columns_of(l.number));
    unit = std::max(unit, columns_of(l.unit));
  }
};

/// Column widths of all sections. If the columns do not fit, the longest exact numbers exceed their column.
Widths widths(const Report& r, bool exact, std::size_t columns) {
  Widths w;
  for (const Section& s : r.sections)
    for (const Row& row : s.rows)
      if (!row.label.empty()) w.add(line_of(row, exact));
  const std::size_t all = 2 + w.label + 2 + w.exact + 2 + w.number + 1 + w.unit;
  if (all > columns) w.exact -= std::min(w.exact, all - columns);
  return w;
}

/// The text of a line. A note that does not fit next to the number goes below it.
std::string line_text(const TextLine& l, const Widths& w, std::size_t columns) {
  constexpr std::size_t least_note = 20;
  std::string first = "  " + flush_left(l.label, w.label) + "  ";
  if (w.exact > 0) first += flush_right(l.exact, w.exact) + "  ";
  const std::size_t both = w.number + 1 + w.unit;
  const bool words = columns_of(l.number) > w.number;
  if (words && columns_of(l.number) > both)
    return wrapped(first, l.number + (l.note.empty() ? "" : "; ") + l.note, columns);
  first += flush_left(words ? l.number : flush_right(l.number, w.number) + " " + l.unit, both) + "  ";
  if (columns_of(first) + std::min(least_note, columns_of(l.note)) <= columns) return wrapped(first, l.note, columns);
  return wrapped(first, "", columns) + wrapped("      ", l.note, columns);
}

std::string section_text(const Section& s, const Widths& w, const Screen& screen) {
  std::string out;
  for (const Row& r : s.rows)
    if (!r.label.empty()) out += line_text(line_of(r, screen.exact), w, screen.columns);
  return out.empty() ? out : heading(s.title, screen) + out + "\n";
}

// ---- Grids

using Cells = std::vector<std::string>;
using ColumnWidths = std::vector<std::size_t>;

std::size_t longest_word(std::string_view text) {
  std::size_t most = 0;
  for (const std::string& word : broken(text, 0)) most = std::max(most, columns_of(word));
  return most;
}

/// Total width: indent, columns, and two spaces between columns.
std::size_t total(const ColumnWidths& w) { return std::accumulate(w.begin(), w.end(), 2 * w.size()); }

/// Whether a row is a heading between other rows.
bool is_heading(const Cells& row) {
  return row.size() > 1 &&
         std::all_of(row.begin() + 1, row.end(), [](const std::string& cell) { return cell.empty(); });
}

ColumnWidths widest(const Grid& g, std::size_t (*of_heading)(std::string_view)) {
  ColumnWidths w(g.rows.empty() ? g.columns.size() : g.rows[0].size());
  for (std::size_t i = 0; i < g.columns.size(); ++i) w[i] = of_heading(g.columns[i]);
  for (const Cells& row : g.rows)
    for (std::size_t i = 0; i < row.size() && !is_heading(row); ++i) w[i] = std::max(w[i], columns_of(row[i]));
  return w;
}

/// Column widths. If the full cells do not fit, headings wrap first, then other text.
ColumnWidths sizes(const Grid& g, std::size_t columns) {
  constexpr std::size_t least_words = 16;
  ColumnWidths w = widest(g, columns_of);
  if (total(w) > columns) w = widest(g, longest_word);
  while (total(w) > columns) {
    const auto most = std::max_element(w.begin(), w.begin() + static_cast<std::ptrdiff_t>(g.left));
    if (*most <= least_words) break;
    *most -= std::min(*most - least_words, total(w) - columns);
  }
  return w;
}

/// The text of a row. A name too long for its column gets a separate line.
std::string row_text(Cells row, std::size_t left, const ColumnWidths& w) {
  if (!row.empty() && longest_word(row[0]) > w[0]) {
    const std::string name = "  " + std::exchange(row[0], "") + "\n";
    return name + row_text(row, left, w);
  }
  std::vector<Cells> cells;
  std::size_t height = 0;
  for (std::size_t i = 0; i < row.size(); ++i)
    height = std::max(height, cells.emplace_back(broken(row[i], w[i])).size());
  std::string out;
  for (std::size_t y = 0; y < height; ++y) {
    std::string line = "  ";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string cell = y < cells[i].size() ? cells[i][y] : "";
      line += (i < left ? flush_left(cell, w[i]) : flush_right(cell, w[i])) + "  ";
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

}  // namespace

std::string in_bold(const std::string& lines, const Screen& screen) {
  return painted(lines, fmt::emphasis::bold, screen);
}

std::string in_red(const std::string& lines, const Screen& screen) {
  return painted(lines, fmt::emphasis::bold | fmt::fg(fmt::terminal_color::red), screen);
}

std::string grid_text(const Grid& grid, const Screen& screen) {
  Grid g = grid.shown(screen.exact);
  ColumnWidths w = sizes(g, screen.columns);
  const auto leave_out = [&](std::size_t column) {
    g.title += fmt::format("{}{} on a wider screen", g.title.empty() ? "" : "; ", g.columns[column]);
    g.drop(column);
    w = sizes(g, screen.columns);
  };
  for (const std::string& spare : g.spare)
    if (const auto at = std::find(g.columns.begin(), g.columns.end(), spare);
        total(w) > screen.columns && at != g.columns.end())
      leave_out(static_cast<std::size_t>(at - g.columns.begin()));
  while (total(w) > screen.columns && g.left > 1) leave_out(--g.left);
  std::string out =
      heading(g.title, screen) + painted(row_text(g.columns, g.left, w), fmt::emphasis::underline, screen);
  for (const Cells& row : g.rows)
    out += is_heading(row) ? wrapped("  ", row[0], screen.columns) : row_text(row, g.left, w);
  return out;
}

std::string render_text(const Report& r, const Screen& screen) {
  std::string out = heading(r.title, screen);
  if (!out.empty()) out += "\n";
  out += verdict_text(r, screen);
  const Widths w = widths(r, screen.exact, screen.columns);
  for (const Section& s : r.sections) out += section_text(s, w, screen);
  for (const Grid& g : r.grids)
    if (!g.columns.empty()) out += grid_text(g, screen) + "\n";
  for (const Note& n : r.notes) out += wrapped("note: ", n.text, screen.columns);
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace llmcalc
