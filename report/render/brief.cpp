#include "report/render/brief.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/render/bar.hpp"
#include "report/render/lines.hpp"
#include "report/render/text.hpp"
#include "text/counted.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// ---- Rows

bool is_zero(const Quantity& q) {
  const Count* count = std::get_if<Count>(&q);
  const double* number = std::get_if<double>(&q);
  return (count != nullptr && *count == 0) || (number != nullptr && *number == 0);
}

}  // namespace

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

const Grid* short_grid(const Report& r) {
  if (r.brief->grid) return r.brief->grid->rows.empty() ? nullptr : &*r.brief->grid;
  const auto first =
      std::find_if(r.grids.begin(), r.grids.end(), [](const Grid& g) { return !g.columns.empty() && !g.rows.empty(); });
  return first == r.grids.end() ? nullptr : &*first;
}

namespace {

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

/// A blank line and the short answer's grid, in at most `lines` lines; empty if there is no such grid.
std::string first_grid(const Report& r, std::size_t lines, const Screen& screen) {
  const Grid* const grid = short_grid(r);
  const std::string text = grid == nullptr ? "" : grid_within(*grid, lines - 1, screen);
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
  const std::string last = b.more.empty() ? "" : wrapped("", more_text(r), screen.columns);
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
