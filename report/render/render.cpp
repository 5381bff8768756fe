#include "report/render/render.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "report/render/brief.hpp"
#include "report/render/html.hpp"
#include "report/render/markdown_text.hpp"
#include "report/render/records.hpp"
#include "report/render/text.hpp"
#include "report/report.hpp"
#include "text/format.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

/// Sets the value at a dotted key.
void put(json::Value& object, std::string_view key, json::Value value) {
  const std::size_t dot = key.find('.');
  if (dot == std::string_view::npos) {
    object[std::string(key)] = std::move(value);
    return;
  }
  put(object[std::string(key.substr(0, dot))], key.substr(dot + 1), std::move(value));
}

/// Cells of a row: label, the exact number if requested, the readable number, the note.
std::vector<std::string> cells(const Row& row, bool exact) {
  std::vector<std::string> all{row.label, human_text(row.value, row.unit), row.note};
  if (exact) all.insert(all.begin() + 1, exact_beside(row));
  return all;
}

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) {
    std::string c = markdown_text(cell);
    for (std::size_t at = 0; (at = c.find('|', at)) != std::string::npos; at += 2) c.insert(at, "\\");
    line += " " + c + " |";
  }
  return line + "\n";
}

std::string section_markdown(const Section& s, bool exact) {
  std::string body;
  for (const Row& row : s.rows)
    if (!row.label.empty()) body += markdown_row(cells(row, exact));
  if (body.empty()) return "";
  return fmt::format("## {}\n\n| quantity |{} | note |\n|---|{}---:|---|\n{}\n", s.title, exact ? " exact | " : "",
                     exact ? "---:|" : "", body);
}

std::string grid_markdown(const Grid& g) {
  std::string out = (g.title.empty() ? "" : "## " + g.title + "\n\n") + markdown_row(g.columns) + "|---|";
  for (std::size_t i = 1; i < g.columns.size(); ++i) out += i < g.left ? "---|" : "---:|";
  out += "\n";
  for (const auto& row : g.rows) out += markdown_row(row);
  return out + "\n";
}

std::string markdown(const Report& r, bool exact) {
  std::string out = r.title.empty() ? "" : "# " + markdown_text(r.title) + "\n\n";
  for (const Finding& f : r.verdict)
    out +=
        f.label.empty() ? markdown_text(f.text) + "\n" : fmt::format("- **{}** {}\n", f.label, markdown_text(f.text));
  if (!r.verdict.empty()) out += "\n";
  for (const Section& s : r.sections) out += section_markdown(s, exact);
  for (const Grid& g : r.grids)
    if (!g.columns.empty()) out += grid_markdown(g.shown(exact));
  for (const Note& n : r.notes) out += "- " + markdown_text(n.text) + "\n";
  return out;
}

void make_printable(std::vector<std::string>& all) {
  for (std::string& s : all) s = printable(s);
}

void make_printable(Section& s) {
  for (Row& row : s.rows) {
    row.label = printable(row.label), row.note = printable(row.note);
    if (std::string* text = std::get_if<std::string>(&row.value)) *text = printable(*text);
  }
}

void make_printable(Grid& g) {
  make_printable(g.columns);
  make_printable(g.spare);
  for (std::vector<std::string>& row : g.rows) make_printable(row);
}

Brief as_printed(Brief b) {
  for (Finding& f : b.findings) f.label = printable(f.label), f.text = printable(f.text);
  b.more = printable(b.more);
  return b;
}

/// The parts of a report shown in text and Markdown, made printable. Strings from files are made printable when read;
/// file names and arguments must stay unchanged for byte-wise comparison and are made printable here.
Report as_printed(const Report& r) {
  Report p;
  p.title = printable(r.title);
  p.verdict = r.verdict, p.sections = r.sections, p.notes = r.notes;
  for (const Grid& g : r.grids)
    p.grids.push_back({g.key, g.title, g.columns, g.left, g.exact, g.spare, g.rows, json::Value()});
  for (Finding& f : p.verdict) f.label = printable(f.label), f.text = printable(f.text);
  for (Section& s : p.sections) make_printable(s);
  for (Grid& g : p.grids) make_printable(g);
  for (Note& n : p.notes) n.text = printable(n.text);
  if (r.brief) p.brief = as_printed(*r.brief);
  return p;
}

/// A count above 2^64 as a JSON value: a binary value with the bytes of the number. JSON text has no binary values,
/// so no file can contain one.
json::Value wide_json(Int128 value) {
  const auto bytes = std::bit_cast<std::array<std::uint8_t, sizeof(Int128)>>(value);
  return json::Value::binary({bytes.begin(), bytes.end()});
}

Int128 wide_in(const json::Value& value) {
  Int128 number = 0;
  const auto& bytes = value.get_binary();
  std::memcpy(&number, bytes.data(), std::min(bytes.size(), sizeof number));
  return number;
}

/// Whether a string is its own JSON text.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

std::string scalar_json(const json::Value& v) {
  if (v.is_number_integer() && !v.is_number_unsigned()) return std::to_string(v.get<std::int64_t>());
  if (v.is_string() && is_plain(v.get_ref<const std::string&>())) return '"' + v.get_ref<const std::string&>() + '"';
  return v.is_binary() ? digits(wide_in(v)) : v.dump(-1, ' ', false, json::Value::error_handler_t::replace);
}

/// The digits of an integer of more than 53 bits, which readers that use doubles would round; empty for other values.
std::string exact_digits(const json::Value& v) {
  constexpr std::int64_t most = std::int64_t{1} << 53;
  if (v.is_binary()) return digits(wide_in(v));
  if (v.is_number_unsigned()) return v.get<std::uint64_t>() > std::uint64_t{most} ? v.dump() : "";
  if (!v.is_number_integer()) return "";
  const auto n = v.get<std::int64_t>();
  return n > most || n < -most ? v.dump() : "";
}

/// Appends the text of a value at this indentation. A number above 2^53 is followed by its digits as `KEY_text`.
void append_json(const json::Value& v, std::size_t indent, std::string& out) {
  if (!v.is_structured() || v.empty()) {
    out += scalar_json(v);
    return;
  }
  const std::string line = "\n" + std::string(indent + 2, ' ');
  out += v.is_object() ? "{" : "[";
  bool first = true;
  for (const auto& [key, part] : v.items()) {
    out += (std::exchange(first, false) ? "" : ",") + line;
    if (v.is_object()) out.append(is_plain(key) ? '"' + key + '"' : scalar_json(key)).append(": ");
    append_json(part, indent + 2, out);
    if (const std::string exact = v.is_object() ? exact_digits(part) : ""; !exact.empty())
      out += fmt::format(",{}{}: \"{}\"", line, scalar_json(key + std::string(exact_text_ending)), exact);
  }
  out += "\n" + std::string(indent, ' ') + (v.is_object() ? "}" : "]");
}

}  // namespace

bool is_exact_text(const json::Value& object, std::string_view key) {
  if (!key.ends_with(exact_text_ending)) return false;
  const auto number = object.find(std::string(key.substr(0, key.size() - exact_text_ending.size())));
  return number != object.end() && (number->is_number() || number->is_binary());
}

json::Value value_json(const Quantity& q) {
  if (const Count* c = std::get_if<Count>(&q)) return *c;
  if (const bool* b = std::get_if<bool>(&q)) return *b;
  if (const double* d = std::get_if<double>(&q)) return *d;
  if (const std::string* s = std::get_if<std::string>(&q)) return *s;
  const Int128 v = std::get<Flops>(q).value;
  return v <= ~std::uint64_t{0} ? json::Value(static_cast<std::uint64_t>(v)) : wide_json(v);
}

std::optional<double> number_of(const json::Value& value) {
  if (value.is_number()) return value.get<double>();
  return value.is_binary() ? std::optional(static_cast<double>(wide_in(value))) : std::nullopt;
}

std::string dump(const json::Value& value) {
  std::string text;
  append_json(value, 0, text);
  return text + "\n";
}

std::string dump_line(const json::Value& value) {
  return value.is_structured() ? value.dump(-1, ' ', false, json::Value::error_handler_t::replace) : scalar_json(value);
}

std::string markdown_text(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '<' ? "&lt;" : std::string(1, c);
  return out;
}

json::Value report_json(const Report& r) {
  json::Value v;
  v["llmcalc"] = {{"version", LLMCALC_VERSION}, {"schema", report_schema}};
  v["command"] = r.command;
  for (const auto& [key, part] :
       {std::pair{"model", &r.model}, std::pair{"hardware", &r.hardware}, std::pair{"inputs", &r.inputs},
        std::pair{"conventions", &r.conventions}, std::pair{"layout", &r.layout}})
    if (!part->is_null()) v[key] = *part;
  for (const Section& s : r.sections) {
    if (s.key.empty()) continue;
    for (const Row& row : s.rows)
      if (!row.key.empty()) put(v, s.key + "." + row.key, value_json(row.value));
  }
  for (const Grid& g : r.grids)
    if (!g.key.empty()) v[g.key] = g.json;
  put_notes(v, r.notes);
  if (r.fit) {
    v["verdict"]["fit"] = name(r.fit->verdict);
    v["verdict"]["fit_probability"] = r.fit->probability;
    if (!r.fit->is_expected()) v["possible"] = false;
  }
  for (const Finding& f : r.verdict) v["verdict"]["text"].push_back(f.label.empty() ? f.text : f.label + ": " + f.text);
  return v;
}

std::string render(const Report& r, const Screen& screen) {
  switch (screen.style) {
    case Style::text:
      return r.brief && !screen.full ? brief_text(as_printed(r), screen) : render_text(as_printed(r), screen);
    case Style::markdown:
      return markdown(as_printed(r), screen.exact);
    case Style::json:
      return dump(report_json(r));
    case Style::csv:
      return csv_text(r);
    case Style::jsonl:
      return jsonl_text(r);
    case Style::html:
      return html_text(as_printed(r), screen);
  }
  return {};
}

}  // namespace llmcalc
