#include "report/words/meaning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ask/request/options/options.hpp"
#include "ask/request/options/synonyms.hpp"
#include "calc/formats/dtype.hpp"
#include "presets/builtin.hpp"
#include "presets/formats/gguf_mix.hpp"
#include "report/commands/command.hpp"
#include "report/words/glossary.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

using Text = std::string_view;

/// The words of a term: "MFU, HFU" as "MFU" and "HFU".
std::vector<std::string> words_of(Text term) {
  std::vector<std::string> words;
  while (!term.empty()) {
    const std::size_t comma = term.find(", ");
    words.emplace_back(term.substr(0, comma));
    term = comma == Text::npos ? "" : term.substr(comma + 2);
  }
  return words;
}

bool is_word(Text a, Text b) { return spelling(a) == spelling(b); }

void add_terms(Text word, std::vector<Meaning>& all) {
  for (const Term& t : glossary()) {
    const std::vector<std::string> words = words_of(t.words);
    const bool is_named = is_word(t.words, word) ||
                          std::any_of(words.begin(), words.end(), [&](const auto& w) { return is_word(w, word); });
    if (is_named) all.push_back({"term", std::string(t.words), std::string(t.meaning)});
  }
}

void add_option(Text flag, std::vector<Meaning>& all) {
  const Option* const o = find_option(flag);
  if (o == nullptr) return;
  const std::string value = o->value.empty() ? "" : fmt::format(" {}", o->value);
  all.push_back({"option", fmt::format("{}{}", o->flag, value), std::string(o->help)});
}

void add_options(Text word, std::vector<Meaning>& all) {
  const std::string flag = word.starts_with("--") ? std::string(word) : fmt::format("--{}", lower(word));
  add_option(flag, all);
  if (const Synonym* s = find_synonym(flag); s != nullptr && find_option(flag) == nullptr)
    for (const Text meant : {s->flag, s->instead})
      if (!meant.empty()) add_option(meant, all);
}

void add_formats(Text word, std::vector<Meaning>& all) {
  for (const Format& f : formats)
    if (is_word(f.name, word))
      all.push_back({"number format", std::string(f.name), std::string(f.note), "llmcalc list dtypes"});
  if (all.empty() && is_gguf_mix(lower(word)))
    all.push_back({"weight format", lower(word), "GGUF file with a mix of block formats, as llama-quantize writes it"});
}

void add_presets(Text word, std::vector<Meaning>& all) {
  const std::array kinds{std::pair{"model", builtin_models()}, std::pair{"hardware", builtin_hardware()},
                         std::pair{"software", builtin_software()}};
  for (const auto& [kind, presets] : kinds)
    if (const Builtin* b = find_builtin(presets, word))
      all.push_back({kind, std::string(b->name), std::string(b->title), fmt::format("llmcalc show {}", b->name)});
}

void add_commands(Text word, std::vector<Meaning>& all) {
  for (const Command& c : answered_commands())
    if (is_word(c.name, word))
      all.push_back({"command", std::string(c.name), std::string(c.summary), fmt::format("llmcalc {} --help", c.name)});
}

Grid terms_grid(Text group) {
  Grid g{.key = "", .title = std::string(group), .columns = {"term", "meaning"}, .left = 2, .rows = {}};
  for (const Term& t : glossary())
    if (t.group == group) g.rows.push_back({std::string(t.words), std::string(t.meaning)});
  return g;
}

}  // namespace

std::vector<Meaning> meanings(Text word) {
  std::vector<Meaning> all;
  add_terms(word, all);
  add_options(word, all);
  add_formats(word, all);
  add_presets(word, all);
  add_commands(word, all);
  return all;
}

std::vector<std::string> known_words() {
  std::vector<std::string> all;
  for (const Term& t : glossary())
    for (std::string& w : words_of(t.words)) all.push_back(std::move(w));
  for (const Option& o : options()) all.emplace_back(o.flag);
  for (const Format& f : formats) all.emplace_back(f.name);
  return all;
}

Report meaning_report(const std::vector<Meaning>& all) {
  Report r;
  r.command = "explain";
  Grid g{.key = "meanings", .title = "", .columns = {}, .rows = {}};
  for (const Meaning& m : all) {
    const std::string more = m.more.empty() ? "" : fmt::format("; '{}' shows more", m.more);
    r.verdict.push_back({fmt::format("{} ({})", m.word, m.kind), m.text + more});
    g.json.push_back({{"kind", m.kind}, {"word", m.word}, {"meaning", m.text}});
  }
  r.grids.push_back(std::move(g));
  return r;
}

Report glossary_report() {
  Report r;
  r.command = "explain";
  r.title = "Glossary";
  Text last;
  Grid all{.key = "terms", .title = "", .columns = {}, .rows = {}};
  for (const Term& t : glossary()) {
    if (t.group != last) r.grids.push_back(terms_grid(t.group));
    last = t.group;
    all.json.push_back({{"group", t.group}, {"words", t.words}, {"meaning", t.meaning}});
  }
  r.grids.push_back(std::move(all));
  return r;
}

}  // namespace llmcalc
