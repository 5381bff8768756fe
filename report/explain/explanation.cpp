#include "report/explain/explanation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/explain/general.hpp"
#include "report/report.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc::explain {
namespace {

/// The canonical form of a name: "--micro-batch" and "micro batch" become micro_batch.
std::string plain(std::string_view name) {
  std::string s = lower(name);
  std::replace(s.begin(), s.end(), '-', '_');
  std::replace(s.begin(), s.end(), ' ', '_');
  return s;
}

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('.') + 1); }

template <typename F>
std::vector<const Definition*> those(F wanted) {
  std::vector<const Definition*> found;
  for (const Definition& d : definitions())
    if (wanted(d)) found.push_back(&d);
  for (const Definition& d : general_definitions())
    if (wanted(d)) found.push_back(&d);
  return found;
}

/// The definitions named by a path, a section or the last part of a path.
std::vector<const Definition*> matching(std::string_view quantity) {
  const std::string name = plain(quantity);
  if (name == "all") return those([](const Definition& d) { return d.formula != nullptr; });
  auto found = those([&](const Definition& d) { return d.path == name; });
  if (found.empty()) found = those([&](const Definition& d) { return d.path.starts_with(name + "."); });
  if (found.empty()) found = those([&](const Definition& d) { return d.path.ends_with("." + name); });
  return found;
}

[[noreturn]] void unknown(std::string_view quantity) {
  std::vector<std::string> known;
  for (const Definition* d : those([](const Definition&) { return true; })) {
    known.emplace_back(d->path);
    known.emplace_back(last_part(d->path));
    known.emplace_back(d->section());
  }
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  std::string near;
  for (const std::string& n : nearest(plain(quantity), known)) near += (near.empty() ? "" : ", ") + n;
  throw InputError(fmt::format("unknown quantity {}{} ('llmcalc explain' lists all {})", in_quotes(quantity),
                               near.empty() ? "" : ", did you mean " + near + "?",
                               definitions().size() + general_definitions().size()));
}

}  // namespace

std::optional<Explanation> explanation(const Setting& s, const Definition& d) {
  if (d.formula == nullptr) return std::nullopt;
  const Row* row = s.row(d.path);
  if (d.path == "decode.compute_bound_batch" && !row) row = s.row("decode.compute_bound");
  if (!row) return std::nullopt;
  Explanation e{&d, d.formula(s), {}, {}, *row};
  e.symbols = symbols(s, d.about(), e.formula);
  e.numbers = substituted(e.formula, e.symbols);
  return e;
}

namespace {

/// Whether the text contains a whole word: "price" in "price of a token", "capacity" in "capacity_req_s".
bool has_word(std::string_view text, const std::string& word) {
  return ("_" + plain(text) + "_").find("_" + word + "_") != std::string::npos;
}

/// The definitions whose key contains a word, or whose meaning begins with it.
std::vector<const Definition*> with_word(const std::string& word) {
  auto found = those([&](const Definition& d) { return has_word(last_part(d.path), word); });
  if (found.empty()) found = those([&](const Definition& d) { return plain(d.title).starts_with(word + "_"); });
  return found;
}

}  // namespace

std::vector<const Definition*> named(std::string_view quantity) {
  auto found = matching(quantity);
  if (found.empty()) found = with_word(plain(quantity));
  if (found.empty()) unknown(quantity);
  return found;
}

bool is_quantity(std::string_view quantity) { return !matching(quantity).empty(); }

}  // namespace llmcalc::explain
