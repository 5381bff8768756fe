#include "report/explain/train/layout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/explain/general.hpp"
#include "report/explain/parts.hpp"
#include "report/question.hpp"
#include "report/render/lines.hpp"
#include "report/render/render.hpp"
#include "report/render/text.hpp"
#include "report/report.hpp"
#include "text/format.hpp"

namespace llmcalc::explain {
namespace {

/// The width of fenced blocks in Markdown, which terminals do not wrap.
constexpr Screen fence{Style::markdown, 100};

/// The expression after `first`, followed by the parts that it names.
std::string formula_text(const std::string& first, const std::string& expression, const Screen& screen) {
  const NamedParts parts = with_parts(with_separators(expression), screen.columns - 12);
  std::string out = wrapped(first, parts.expression, screen.columns);
  const std::string indent(first.size(), ' ');
  for (std::size_t i = 0; i < parts.named.size(); ++i)
    out += wrapped(indent + (i == 0 ? "where " : "      ") + parts.named[i].first + " = ", parts.named[i].second,
                   screen.columns);
  return out;
}

std::string answer(const Row& row, std::string_view unit) {
  const std::string exact = exact_text(row.value), human = human_text(row.value, row.unit);
  if (std::holds_alternative<double>(row.value)) {
    const std::string number = number_text(std::get<double>(row.value));
    return number + (unit.empty() ? "" : " " + std::string(unit)) + (human == number ? "" : " (" + human + ")");
  }
  if (human == exact || human.starts_with(exact + " ")) return human;
  return exact + " (" + human + ")";
}

/// The formula with its numbers: "= 126*(4*16384^2 + ...)"; the terms of a sum one per line, each with its name.
std::string numbers_text(const std::vector<Piece>& pieces, const Screen& screen) {
  const bool terms = std::any_of(pieces.begin(), pieces.end(), [](const Piece& p) { return !p.name.empty(); });
  if (!terms) return wrapped("  = ", with_separators(joined(pieces)), screen.columns);
  std::size_t width = 0;
  for (const Piece& p : pieces)
    if (!p.name.empty()) width = std::max(width, with_separators(p.text).size());
  std::string out, line = "  = ";
  for (const Piece& p : pieces) {
    const std::string text = with_separators(p.text);
    if (p.name.empty()) {
      line += text;
      continue;
    }
    if (!line.empty()) out += line + "\n";
    line.clear();
    const std::string term = text.starts_with(" + ") ? "    + " + text.substr(3) : "      " + text;
    constexpr std::size_t least_name = 20;
    const std::size_t column = std::min(width + 6, screen.columns - least_name);
    out += term.size() <= column ? wrapped(fmt::format("{:<{}}  ", term, column), p.name, screen.columns)
                                 : wrapped(term.substr(0, 6), term.substr(6), screen.columns) +
                                       wrapped("          ", p.name, screen.columns);
  }
  return out + (line.empty() ? "" : wrapped("    ", line, screen.columns));
}

std::string legend(const std::vector<Symbol>& symbols, const Screen& screen) {
  Grid g{.key = "", .title = "", .columns = {}, .left = 3, .rows = {}};
  for (const Symbol& s : symbols) g.rows.push_back({"  " + s.name, s.meaning, with_separators(s.value)});
  return grid_text(g, screen);
}

std::string footer(const Definition& d, const Screen& screen) {
  std::string out;
  if (!d.verdict.empty() && d.verdict != d.convention)
    out += wrapped("  verdict: ", std::string(d.verdict), screen.columns);
  if (!d.convention.empty()) out += wrapped("  counted: ", std::string(d.convention), screen.columns);
  if (!d.source.empty()) out += wrapped("  source:  ", std::string(d.source), screen.columns);
  return out;
}

std::string with_unit(std::string_view title, std::string_view unit) {
  return unit.empty() ? std::string(title) : fmt::format("{} [{}]", title, unit);
}
std::string heading(const Definition& d, const Screen& screen) {
  return in_bold(wrapped(fmt::format("{}: ", d.path), with_unit(d.title, d.unit), screen.columns), screen);
}

json::Value head_json(const Definition& d) {
  json::Value v{{"path", d.path}, {"title", d.title}};
  if (!d.unit.empty()) v["unit"] = d.unit;
  if (!d.convention.empty()) v["convention"] = d.convention;
  if (!d.verdict.empty()) v["verdict"] = d.verdict;
  v["source"] = d.source;
  return v;
}

json::Value symbols_json(const std::vector<Symbol>& symbols) {
  json::Value all = json::Value::array();
  for (const Symbol& s : symbols) {
    json::Value v{{"symbol", s.name}, {"meaning", s.meaning}};
    if (!s.value.empty()) v["value"] = s.value;
    all.push_back(std::move(v));
  }
  return all;
}

std::string markdown_legend(const std::vector<Symbol>& symbols, bool values) {
  if (symbols.empty()) return "";
  std::string out = values ? "| symbol | meaning | value |\n|---|---|---:|\n" : "| symbol | meaning |\n|---|---|\n";
  for (const Symbol& s : symbols)
    out += values ? fmt::format("| `{}` | {} | {} |\n", s.name, s.meaning, with_separators(s.value))
                  : fmt::format("| `{}` | {} |\n", s.name, s.meaning);
  return out + "\n";
}

std::string fenced(const std::string& lines) { return "```\n" + lines + "```\n\n"; }

std::string markdown_footer(const Definition& d) {
  std::string out;
  if (!d.verdict.empty() && d.verdict != d.convention) out += fmt::format("- verdict: {}\n", d.verdict);
  if (!d.convention.empty()) out += fmt::format("- counted: {}\n", d.convention);
  if (!d.source.empty()) out += fmt::format("- source: {}\n", d.source);
  return out + "\n";
}

/// The text of all variants, each formula below its condition.
std::string variants_text(const std::string& indent, const std::vector<Variant>& variants, const Screen& screen) {
  std::string out;
  for (const Variant& v : variants) {
    if (!v.when.empty()) out += wrapped(indent, v.when, screen.columns);
    out += formula_text(indent + (v.when.empty() ? "= " : "  = "), v.formula.expression, screen);
  }
  return out;
}

/// The distinct symbols of all variants.
std::vector<Symbol> all_symbols(const std::vector<Variant>& variants) {
  std::vector<Symbol> all;
  for (const Variant& v : variants)
    for (const Symbol& s : v.symbols)
      if (std::none_of(all.begin(), all.end(), [&](const Symbol& x) { return x.name == s.name; })) all.push_back(s);
  return all;
}

std::string percent(double x) { return fmt::format("{:+.2f} %", 100 * x); }

/// The parameters of an estimate, one per row with its source.
std::string estimate_text(const EstimateTerms& t, const Screen& screen) {
  if (t.parameters.empty()) return "";
  Grid g{.key = "",
         .title = "  parameters used, and the effect of a 10 % increase of each",
         .columns = {"  parameter", "meaning; source of the default", "fitted", "default", "change"},
         .left = 2,
         .rows = {}};
  for (const EnteringParameter& p : t.parameters)
    g.rows.push_back({"  " + p.name, fmt::format("{}; {}", p.meaning, p.source), fmt::format("{:.4g}", p.value),
                      fmt::format("{:.4g}", p.standard), percent(p.effect)});
  std::string out = "\n" + grid_text(g, screen) + wrapped("  fitted:  ", t.fitted, screen.columns);
  return t.interval.empty() ? out : out + wrapped("  interval: ", t.interval, screen.columns);
}

std::string estimate_markdown(const EstimateTerms& t) {
  if (t.parameters.empty()) return "";
  std::string out =
      "| parameter | meaning | source of the default | fitted | default | 10 % more |\n|---|---|---|---:|---:|---:|\n";
  for (const EnteringParameter& p : t.parameters)
    out += fmt::format("| {} | {} | {} | {:.4g} | {:.4g} | {} |\n", p.name, p.meaning, p.source, p.value, p.standard,
                       percent(p.effect));
  out += fmt::format("\n- fitted: {}\n", t.fitted);
  return out + (t.interval.empty() ? "\n" : fmt::format("- interval: {}\n\n", t.interval));
}

json::Value estimate_json(const EstimateTerms& t) {
  json::Value v{{"fitted", t.fitted}, {"parameters", json::Value::array()}};
  for (const EnteringParameter& p : t.parameters)
    v["parameters"].push_back({{"name", p.name},
                               {"meaning", p.meaning},
                               {"source", p.source},
                               {"value", p.value},
                               {"default", p.standard},
                               {"change_with_a_tenth_more", p.effect}});
  if (!t.interval.empty()) v["interval"] = t.interval;
  return v;
}

}  // namespace

std::string text(const Explanation& e, const Screen& screen) {
  const Definition& d = *e.definition;
  std::string out = heading(d, screen) + "\n" + formula_text("  = ", e.formula.expression, screen);
  if (!e.symbols.empty()) out += "\n" + legend(e.symbols, screen) + "\n";
  if (joined(e.numbers) != e.formula.expression) out += numbers_text(e.numbers, screen);
  if (d.verdict.empty())
    out += wrapped("  = ", answer(e.answer, d.unit), screen.columns);
  else
    out += wrapped("  -> ", exact_text(e.answer.value), screen.columns);
  return out + estimate_text(e.estimate, screen) + "\n" + footer(d, screen);
}

std::string markdown(const Explanation& e) {
  const Definition& d = *e.definition;
  std::string out =
      fmt::format("## {}\n\n{}\n\n{}", d.path, d.title, fenced(formula_text("", e.formula.expression, fence)));
  out += markdown_legend(e.symbols, true);
  return out + fenced(numbers_text(e.numbers, fence) + "  = " + answer(e.answer, d.unit) + "\n") +
         estimate_markdown(e.estimate) + markdown_footer(d);
}

json::Value json_of(const Explanation& e) {
  json::Value v = head_json(*e.definition);
  v["formula"] = e.formula.expression;
  v["symbols"] = symbols_json(e.symbols);
  v["numbers"] = joined(e.numbers);
  for (const Piece& p : e.numbers)
    if (!p.name.empty()) v["terms"].push_back({{"name", p.name}, {"numbers", p.text}});
  Report one;
  one.sections.push_back({"answer", "", {e.answer}});
  one.sections[0].rows[0].key = "value";
  v["value"] = report_json(one)["answer"]["value"];
  if (!e.estimate.parameters.empty()) v["estimate"] = estimate_json(e.estimate);
  return v;
}

std::string text(const Definition& d, const std::vector<Variant>& variants, const Screen& screen) {
  std::string out = heading(d, screen) + "\n";
  out += variants_text("  ", variants, screen);
  const std::vector<Symbol> symbols = all_symbols(variants);
  if (!symbols.empty()) out += "\n" + legend(symbols, screen);
  return out + "\n" + footer(d, screen);
}

std::string markdown(const Definition& d, const std::vector<Variant>& variants) {
  std::string out = fmt::format("## {}\n\n{}\n\n", d.path, d.title);
  out += fenced(variants_text("", variants, fence));
  return out + markdown_legend(all_symbols(variants), false) + markdown_footer(d);
}

json::Value json_of(const Definition& d, const std::vector<Variant>& variants) {
  json::Value v = head_json(d);
  v["formulas"] = json::Value::array();
  for (const Variant& x : variants) {
    json::Value one{{"formula", x.formula.expression}};
    if (!x.when.empty()) one["when"] = x.when;
    v["formulas"].push_back(std::move(one));
  }
  v["symbols"] = symbols_json(all_symbols(variants));
  return v;
}

// ---- The cheat sheet.

namespace {

std::string_view name_of(const Definition& d) { return d.path.substr(d.path.find('.') + 1); }

struct LayoutEntry {
  const Definition* definition;
  std::vector<Variant> variants;
};
std::vector<LayoutEntry> entries() {
  std::vector<LayoutEntry> all;
  for (const Definition& d : definitions()) all.push_back({&d, variants(d, false)});
  for (const Definition& d : general_definitions()) all.push_back({&d, general_variants(d)});
  return all;
}
std::vector<Symbol> vocabulary(const std::vector<LayoutEntry>& all) {
  std::vector<Variant> together;
  for (const LayoutEntry& e : all)
    for (const Variant& v : e.variants) together.push_back(v);
  return all_symbols(together);
}

std::string entry_text(const LayoutEntry& e, const Screen& screen) {
  const Definition& d = *e.definition;
  std::string out = wrapped(fmt::format("  {:<33} ", name_of(d)), with_unit(d.title, d.unit), screen.columns);
  out += variants_text("    ", e.variants, screen);
  return out + wrapped("    ", d.source, screen.columns) + "\n";
}

constexpr std::string_view sheet_title = "llmcalc cheat sheet: every quantity with its formula and source";

}  // namespace

std::string cheat_sheet_text(const Screen& screen) {
  const std::vector<LayoutEntry> all = entries();
  std::string out = in_bold(std::string(sheet_title) + "\n", screen) + "\n", section;
  for (const LayoutEntry& e : all) {
    if (section != e.definition->section()) out += in_bold((section = e.definition->section()) + "\n", screen) + "\n";
    out += entry_text(e, screen);
  }
  out += in_bold("rules of thumb\n", screen) + "\n";
  for (const Rule& r : rules())
    out += wrapped("  ", with_unit(r.title, r.unit), screen.columns) + wrapped("    = ", r.expression, screen.columns) +
           wrapped("    ", r.source, screen.columns) + "\n";
  return out + in_bold("symbols\n", screen) + "\n" + legend(vocabulary(all), screen) + "\n" +
         wrapped("",
                 "'llmcalc explain QUANTITY' also shows other plans; 'llmcalc explain QUANTITY MODEL' substitutes the "
                 "numbers.",
                 screen.columns);
}

std::string cheat_sheet_markdown() {
  const std::vector<LayoutEntry> all = entries();
  std::string out = "# " + std::string(sheet_title) + "\n\n", section;
  for (const LayoutEntry& e : all) {
    const Definition& d = *e.definition;
    if (section != d.section()) out += fmt::format("## {}\n\n", section = d.section());
    out += fmt::format("### `{}`\n\n{}\n\n", d.path, with_unit(d.title, d.unit));
    out += fenced(variants_text("", e.variants, fence)) + wrapped("", std::string(d.source), fence.columns) + "\n";
  }
  out += "## rules of thumb\n\n";
  for (const Rule& r : rules())
    out +=
        fmt::format("{}\n\n{}{}\n\n", with_unit(r.title, r.unit), fenced(std::string(r.expression) + "\n"), r.source);
  return out + "## symbols\n\n" + markdown_legend(vocabulary(all), false);
}

json::Value cheat_sheet_json() {
  json::Value v{{"quantities", json::Value::array()}, {"rules", json::Value::array()}};
  for (const LayoutEntry& e : entries()) v["quantities"].push_back(json_of(*e.definition, e.variants));
  for (const Rule& r : rules())
    v["rules"].push_back({{"title", r.title}, {"unit", r.unit}, {"formula", r.expression}, {"source", r.source}});
  return v;
}

}  // namespace llmcalc::explain
