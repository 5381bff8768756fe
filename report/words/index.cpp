#include "report/words/index.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ask/request/options/options.hpp"
#include "calc/formats/dtype.hpp"
#include "report/explain/definition.hpp"
#include "report/words/glossary.hpp"

namespace llmcalc {
namespace {

using Names = std::vector<std::string>;

/// A line per section: "memory", "weights_bytes gradients_bytes ...".
void add_quantities(Report& r, json::Value& rows) {
  std::vector<std::pair<std::string, Names>> sections;
  for (const explain::Definition& d : explain::definitions()) {
    const std::string section(d.section());
    if (sections.empty() || sections.back().first != section) sections.push_back({section, {}});
    const bool has_section = d.path.size() > section.size();
    sections.back().second.emplace_back(has_section ? d.path.substr(section.size() + 1) : d.path);
    rows.push_back(d.path);
  }
  for (const auto& [section, names] : sections)
    r.verdict.push_back({section, fmt::format("{}", fmt::join(names, " "))});
}

void add_words(Report& r, json::Value& rows) {
  Names terms, flags, types;
  for (const Term& t : glossary()) terms.emplace_back(t.words);
  for (const Option& o : options()) flags.emplace_back(o.flag);
  for (const Format& f : formats) types.emplace_back(f.name);
  const std::pair<const char*, const Names*> kinds[]{{"terms", &terms}, {"options", &flags}, {"formats", &types}};
  for (const auto& [kind, names] : kinds) {
    r.verdict.push_back({kind, fmt::format("{}", fmt::join(*names, kind == kinds[0].first ? "; " : " "))});
    for (const std::string& name : *names) rows.push_back(name);
  }
}

}  // namespace

Report explain_index() {
  Report r;
  r.command = "explain";
  r.title = "Quantities (section.name, as in --json) and words that 'llmcalc explain NAME' answers";
  Grid g{.key = "index", .title = "", .columns = {}, .rows = {}};
  add_quantities(r, g.json);
  add_words(r, g.json);
  r.grids.push_back(std::move(g));
  r.notes = {
      {"more_commands",
       "'llmcalc explain NAME MODEL ...' adds the numbers of a model; 'llmcalc explain --all' prints every formula; "
       "'llmcalc explain glossary' every term"}};
  return r;
}

}  // namespace llmcalc
