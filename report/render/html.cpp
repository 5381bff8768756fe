#include "report/render/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/render/bar.hpp"
#include "report/render/brief.hpp"
#include "report/render/escaped.hpp"
#include "report/render/text.hpp"

namespace llmcalc {
namespace {

std::string table_row(std::string_view label, const std::string& cell_html) {
  return fmt::format(
      "<tr><td style=\"text-align:left;vertical-align:top;white-space:nowrap\"><b>{}</b></td>"
      "<td style=\"text-align:left\">{}</td></tr>\n",
      escaped(label), cell_html);
}

std::string finding_row(const Finding& f) {
  if (f.detail || f.text.empty()) return "";
  const std::string text = escaped(f.brief.empty() ? f.text : f.brief);
  return table_row(f.label, f.bad ? fmt::format("<span style=\"color:#c0392b\">{}</span>", text) : text);
}

// ---- Memory bar

constexpr std::string_view color_of(char mark) {
  switch (mark) {
    case '#':
      return "#2f6db3";
    case '=':
      return "#e08a2e";
    case '+':
      return "#3c9a5f";
    case '.':
      return "#d5d8dc";
    default:
      return "#8e959c";
  }
}

std::string bar_segment(const BarPart& part, Bytes all) {
  return fmt::format("<div title=\"{}\" style=\"width:{:.2f}%;background:{}\"></div>", escaped(part.label),
                     100 * real(part.bytes.value) / real(all.value), color_of(part.mark));
}

std::string legend_entry(const BarPart& part, std::string_view unit) {
  return fmt::format("<span style=\"white-space:nowrap\"><span style=\"color:{}\">&#9632;</span> {} {} {}</span> ",
                     color_of(part.mark), escaped(part.label), part.size, unit);
}

std::string bar_row(const MemoryBar& bar) {
  Bytes all;  // parts that are live at different times may add up to more than the capacity
  const std::vector<BarPart> parts = shown_parts(bar);
  for (const BarPart& part : parts) all += part.bytes;
  if (all <= Bytes()) return "";
  std::string segments, legend;
  for (const BarPart& part : parts) segments += bar_segment(part, all), legend += legend_entry(part, size_unit(bar));
  return table_row(bar.label, fmt::format("<div style=\"display:flex;width:30em;max-width:100%;height:1em\">{}</div>"
                                          "{}<br>{}",
                                          segments, legend, escaped(size_text(bar))));
}

// ---- Grid

std::string grid_html(const Grid& g) {
  constexpr std::size_t most_rows = 10;
  const auto cells = [&](const std::vector<std::string>& row, const char* tag) {
    std::string out;
    for (std::size_t i = 0; i < row.size(); ++i)
      out +=
          fmt::format("<{0} style=\"text-align:{1}\">{2}</{0}>", tag, i < g.left ? "left" : "right", escaped(row[i]));
    return "<tr>" + out + "</tr>\n";
  };
  std::string out = cells(g.columns, "th");
  for (std::size_t i = 0; i < std::min(most_rows, g.rows.size()); ++i) out += cells(g.rows[i], "td");
  if (g.rows.size() > most_rows) out += fmt::format("<tr><td>and {} more</td></tr>\n", g.rows.size() - most_rows);
  return "<table>\n" + out + "</table>\n";
}

std::string grid_part(const Report& r) {
  const Grid* const grid = short_grid(r);
  return grid == nullptr || !r.brief->with_grid ? "" : grid_html(grid->shown(false));
}

}  // namespace

std::string preformatted_html(std::string_view text) { return "<pre>" + escaped(text) + "</pre>\n"; }

std::string html_text(const Report& r, const Screen& screen) {
  if (!r.brief || screen.full) return preformatted_html(render_text(r, screen));
  std::string rows;
  for (const Finding& f : r.verdict) rows += finding_row(f);
  for (const MemoryBar& bar : r.brief->bars) rows += bar_row(bar);
  for (const Row* row : chosen_rows(r))
    rows += table_row(row->label, escaped(number_text(*row) + (row->note.empty() ? "" : "  " + row->note)));
  for (const Finding& f : r.brief->findings) rows += finding_row(f);
  return fmt::format("<div class=\"llmcalc\">\n<b>{}</b>\n<table>\n{}</table>\n{}</div>\n", escaped(r.title), rows,
                     grid_part(r));
}

}  // namespace llmcalc
