#include "report/render/records.hpp"

#include <algorithm>

#include "report/render/render.hpp"

namespace llmcalc {
namespace {

using PathCells = std::vector<std::pair<std::string, std::string>>;  // path and text

/// The table of measurement rows or, without it, the first table in text output.
const Grid* listed(const Report& r) {
  const auto has_rows = [](const Grid& g) { return g.json.is_array() && !g.json.empty(); };
  for (const Grid& g : r.grids)
    if (g.key == "rows" && has_rows(g)) return &g;
  const auto found =
      std::find_if(r.grids.begin(), r.grids.end(), [&](const Grid& g) { return !g.columns.empty() && has_rows(g); });
  return found == r.grids.end() ? nullptr : &*found;
}

/// JSON without line ends and indentation. In strings, line ends are escaped.
std::string one_line(const json::Value& v) {
  std::string line;
  bool is_start = false;
  for (const char c : dump(v)) {
    is_start = c == '\n' || (is_start && c == ' ');
    if (!is_start) line += c;
  }
  return line;
}

/// Values of a row by path. A list of simple values is one cell, with semicolons between them.
void add_cells(const json::Value& v, const std::string& path, PathCells& cells) {
  if (v.is_object()) {
    for (const auto& [key, part] : v.items()) add_cells(part, path.empty() ? key : path + "." + key, cells);
    return;
  }
  std::string text;
  if (v.is_array())
    for (const json::Value& one : v)
      text += (text.empty() ? "" : "; ") + (one.is_string() ? one.get<std::string>() : one_line(one));
  else if (!v.is_null())
    text = v.is_string() ? v.get<std::string>() : one_line(v);
  cells.emplace_back(path, std::move(text));
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i == 0 ? "" : ",") + csv_cell(cells[i]);
  return line + "\r\n";
}

}  // namespace

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string csv_text(const Report& r) {
  const Grid* const grid = listed(r);
  if (grid == nullptr) return "";
  std::vector<PathCells> rows;
  std::vector<std::string> columns;
  for (const json::Value& row : grid->json) {
    add_cells(row, "", rows.emplace_back());
    for (const auto& [path, text] : rows.back())
      if (std::find(columns.begin(), columns.end(), path) == columns.end()) columns.push_back(path);
  }
  std::string out = csv_line(columns);
  for (const PathCells& cells : rows) {
    std::vector<std::string> line(columns.size());
    for (const auto& [path, text] : cells)
      line[static_cast<std::size_t>(std::find(columns.begin(), columns.end(), path) - columns.begin())] = text;
    out += csv_line(line);
  }
  return out;
}

std::string jsonl_text(const Report& r) {
  const Grid* const grid = listed(r);
  std::string out;
  if (grid != nullptr)
    for (const json::Value& row : grid->json) out += one_line(row) + "\n";
  return out;
}

}  // namespace llmcalc
