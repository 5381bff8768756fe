#include "report/html/page.hpp"

#include <fmt/format.h>

#include "report/html/style.hpp"
#include "report/plot/report_numbers.hpp"
#include "report/plot/svg.hpp"
#include "report/plot/table.hpp"
#include "report/render/escaped.hpp"

namespace llmcalc {
namespace {

std::string findings_html(const std::vector<Finding>& verdict) {
  std::string out = "<dl>\n";
  for (const Finding& f : verdict)
    out += fmt::format("<dt>{}</dt><dd{}>{}</dd>\n", escaped(f.label), f.bad ? " class=\"bad\"" : "", escaped(f.text));
  return out + "</dl>\n";
}

std::string table_html(const Grid& g) {
  std::string out = "<div class=\"scroll\"><table>\n<tr>";
  for (const std::string& column : g.columns) out += "<th>" + escaped(column) + "</th>";
  out += "</tr>\n";
  for (const auto& row : g.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i)
      out += fmt::format("<td{}>{}</td>", i < g.left ? "" : " class=\"number\"", escaped(row[i]));
    out += "</tr>\n";
  }
  return out + "</table></div>\n";
}

std::string charts_html(const std::vector<plot::Chart>& charts) {
  if (charts.empty()) return "";
  std::string out = "<div class=\"charts\">\n";
  for (const plot::Chart& c : charts)
    out += fmt::format("<figure>\n{}<details><summary>Numbers</summary>{}</details>\n</figure>\n",
                       plot::svg_element(c, "chart-"), table_html(plot::table_of(c)));
  return out + "</div>\n";
}

/// Formula with symbols and values, convention and source of a number.
std::string explanation_html(const json::Value& e) {
  const auto text = [&](const char* key) { return escaped(plot::text_at(e, key)); };
  std::string out = fmt::format("<p><code>= {}</code></p><table>", text("formula"));
  if (const json::Value* symbols = plot::value_at(e, "symbols"))
    for (const json::Value& s : *symbols)
      out += fmt::format("<tr><td><code>{}</code></td><td>{}</td><td class=\"number\">{}</td></tr>",
                         escaped(plot::text_at(s, "symbol")), escaped(plot::text_at(s, "meaning")),
                         escaped(plot::text_at(s, "value")));
  out += fmt::format("</table><p><code>= {}</code></p>", text("numbers"));
  if (const std::string counted = text("convention"); !counted.empty()) out += "<p>Counted: " + counted + ".</p>";
  if (const std::string source = text("source"); !source.empty()) out += "<p>Source: " + source + ".</p>";
  return out;
}

std::string row_html(const Section& s, const Row& row, const Explanations& explanations) {
  const auto found = row.key.empty() ? explanations.end() : explanations.find(s.key + "." + row.key);
  const std::string label = found == explanations.end()
                                ? escaped(row.label)
                                : fmt::format("<details><summary>{}</summary>{}</details>", escaped(row.label),
                                              explanation_html(found->second));
  return fmt::format("<tr><td>{}</td><td class=\"number\">{}</td><td>{}</td></tr>\n", label,
                     escaped(human_text(row.value, row.unit)), escaped(row.note));
}

std::string section_html(const Section& s, const Explanations& explanations) {
  std::string rows;
  for (const Row& row : s.rows)
    if (!row.label.empty()) rows += row_html(s, row, explanations);
  if (rows.empty()) return "";
  return fmt::format("<h2>{}</h2>\n<div class=\"scroll\"><table>\n{}</table></div>\n", escaped(s.title), rows);
}

std::string notes_html(const Notes& notes) {
  if (notes.empty()) return "";
  std::string out = "<h2>Notes</h2>\n<ul>\n";
  for (const Note& n : notes) out += "<li>" + escaped(n.text) + "</li>\n";
  return out + "</ul>\n";
}

}  // namespace

std::string page_text(const HtmlPage& page) {
  const Report& r = page.report;
  std::string out(html_begin);
  out += fmt::format(
      "<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
      "<title>{}</title>\n<style>\n{}{}</style></head>\n<body><main>\n<h1>{}</h1>\n",
      escaped(r.title), page_style, plot::chart_style(), escaped(r.title));
  out += findings_html(r.verdict) + charts_html(page.charts) + "<div class=\"more\">\n";
  for (const Section& s : r.sections) out += section_html(s, page.explanations);
  for (const Grid& g : r.grids)
    if (!g.columns.empty())
      out += fmt::format("<h2>{}</h2>\n{}", escaped(g.title.empty() ? g.key : g.title), table_html(g.shown(false)));
  out += notes_html(r.notes) + "</div>\n";
  return out + fmt::format("<h2>Command</h2>\n<p><code>{}</code></p>\n</main></body></html>\n", escaped(page.command));
}

}  // namespace llmcalc
