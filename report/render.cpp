#include <fmt/format.h>

#include <algorithm>

#include "report/report.hpp"

namespace llmcalc {
namespace {

constexpr std::string_view wide_mark = "\x01wide:";  // a number too long for JSON libraries, unquoted by dump()

/// Puts value at a dotted key.
void put(json::Value& object, std::string_view key, json::Value value) {
  const std::size_t dot = key.find('.');
  if (dot == std::string_view::npos) {
    object[std::string(key)] = std::move(value);
    return;
  }
  put(object[std::string(key.substr(0, dot))], key.substr(dot + 1), std::move(value));
}

/// Columns on display: UTF-8 continuation bytes take none.
std::size_t width(std::string_view s) {
  return static_cast<std::size_t>(std::count_if(s.begin(), s.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}
std::string left(const std::string& s, std::size_t w) { return s + std::string(w > width(s) ? w - width(s) : 0, ' '); }
std::string right(const std::string& s, std::size_t w) { return std::string(w > width(s) ? w - width(s) : 0, ' ') + s; }

/// A row as three cells: label, the exact number where it says more than the rounded one, and what people read.
std::vector<std::string> cells(const Row& row) {
  const bool whole = std::holds_alternative<Count>(row.value) || std::holds_alternative<Flops>(row.value);
  std::string human = human_text(row.value, row.unit);
  const std::string exact = exact_text(row.value);
  if (!whole || human == exact || human.starts_with(exact + " ")) return {row.label, "", human, row.note};
  return {row.label, exact, human, row.note};
}

using Rows = std::vector<std::vector<std::string>>;

std::vector<std::size_t> widths(const Rows& rows) {
  std::vector<std::size_t> w;
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (w.size() <= i) w.push_back(0);
      w[i] = std::max(w[i], width(row[i]));
    }
  return w;
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

/// Words on lines of at most 100 columns, the further ones indented.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::string out, line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const std::string word = text.substr(at, end - at);
    if (width(line) + 1 + width(word) > 100) {
      out += line + "\n";
      line = std::string(indent, ' ') + word;
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
    if (end < text.size() && text[end] == '\n') {
      out += line + "\n";
      line.clear();
    }
    at = end + 1;
  }
  return out + line + "\n";
}

std::string section_text(const Section& s) {
  Rows rows;
  for (const Row& r : s.rows)
    if (!r.label.empty()) rows.push_back(cells(r));
  if (rows.empty()) return "";
  const std::vector<std::size_t> w = widths(rows);
  std::string out = s.title + "\n";
  for (const auto& r : rows)
    out += trimmed("  " + left(r[0], std::max<std::size_t>(w[0], 22)) + "  " + right(r[1], w[1]) + (w[1] ? "  " : "") +
                   right(r[2], std::max<std::size_t>(w[2], 12)) + "  " + r[3]);
  return out + "\n";
}

std::string grid_text(const Grid& g) {
  Rows rows{g.columns};
  rows.insert(rows.end(), g.rows.begin(), g.rows.end());
  const std::vector<std::size_t> w = widths(rows);
  std::string out = g.title.empty() ? "" : g.title + "\n";
  for (const auto& r : rows) {
    std::string line = "  ";
    for (std::size_t i = 0; i < r.size(); ++i) line += (i < g.left ? left(r[i], w[i]) : right(r[i], w[i])) + "  ";
    out += trimmed(line);
  }
  return out + "\n";
}

std::string text(const Report& r) {
  std::string out = r.title.empty() ? "" : r.title + "\n\n";
  for (const Section& s : r.sections) out += section_text(s);
  for (const Grid& g : r.grids) out += grid_text(g);
  for (const std::string& n : r.notes) out += wrapped("note: " + n, 6);
  if (!r.notes.empty()) out += "\n";
  if (r.one_line) return out + r.conclusion + "\n";
  return r.conclusion.empty() ? out : out + wrapped(r.conclusion, 0);
}

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (std::string c : cells) {
    for (std::size_t at = 0; (at = c.find('|', at)) != std::string::npos; at += 2) c.insert(at, "\\");
    line += " " + c + " |";
  }
  return line + "\n";
}

std::string markdown(const Report& r) {
  std::string out = r.title.empty() ? "" : "# " + r.title + "\n\n";
  for (const Section& s : r.sections) {
    std::string body;
    for (const Row& row : s.rows)
      if (!row.label.empty()) body += markdown_row(cells(row));
    if (!body.empty())
      out += "## " + s.title + "\n\n| quantity | exact | | note |\n|---|---:|---:|---|\n" + body + "\n";
  }
  for (const Grid& g : r.grids) {
    out += (g.title.empty() ? "" : "## " + g.title + "\n\n") + markdown_row(g.columns) + "|---|";
    for (std::size_t i = 1; i < g.columns.size(); ++i) out += i < g.left ? "---|" : "---:|";
    out += "\n";
    for (const auto& row : g.rows) out += markdown_row(row);
    out += "\n";
  }
  for (const std::string& n : r.notes) out += "- " + n + "\n";
  return (r.notes.empty() ? out : out + "\n") + (r.conclusion.empty() ? "" : "**" + r.conclusion + "**\n");
}

}  // namespace

json::Value value_json(const Quantity& q) {
  if (const Count* c = std::get_if<Count>(&q)) return *c;
  if (const bool* b = std::get_if<bool>(&q)) return *b;
  if (const double* d = std::get_if<double>(&q)) return *d;
  if (const std::string* s = std::get_if<std::string>(&q)) return *s;
  const Wide v = std::get<Flops>(q).value;
  if (v <= ~std::uint64_t{0}) return static_cast<std::uint64_t>(v);
  return std::string(wide_mark) + digits(v);
}

const Section* Report::find(std::string_view key) const {
  for (const Section& s : sections)
    if (s.key == key) return &s;
  return nullptr;
}

json::Value report_json(const Report& r) {
  json::Value v;
  v["llmcalc"] = {{"version", LLMCALC_VERSION}, {"schema", report_schema}};
  v["command"] = r.command;
  for (const auto& [key, part] : {std::pair{"model", &r.model}, std::pair{"hardware", &r.hardware},
                                  std::pair{"inputs", &r.inputs}, std::pair{"conventions", &r.conventions}})
    if (!part->is_null()) v[key] = *part;
  for (const Section& s : r.sections) {
    if (s.key.empty()) continue;
    for (const Row& row : s.rows)
      if (!row.key.empty()) put(v, s.key + "." + row.key, value_json(row.value));
  }
  for (const Grid& g : r.grids)
    if (!g.key.empty()) v[g.key] = g.json;
  if (!r.notes.empty()) v["notes"] = r.notes;
  if (!r.conclusion.empty()) v["conclusion"] = r.conclusion;
  return v;
}

std::string dump(const json::Value& value) {
  std::string s = value.dump(2, ' ', false, json::Value::error_handler_t::replace) + "\n";
  const std::string mark = "\"\\u0001wide:";
  for (std::size_t at = 0; (at = s.find(mark, at)) != std::string::npos;) {
    s.erase(at, mark.size());
    s.erase(s.find('"', at), 1);
  }
  return s;
}

std::string render(const Report& r, Style style) {
  switch (style) {
    case Style::text:
      return text(r);
    case Style::markdown:
      return markdown(r);
    case Style::json:
      return dump(report_json(r));
  }
  return {};
}

}  // namespace llmcalc
