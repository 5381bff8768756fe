#include "report/software_grids.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "presets/builtin.hpp"
#include "presets/load.hpp"

namespace llmcalc {
namespace {

std::string_view use_of(const SoftwareCard& card) {
  return card.training && card.inference ? "both" : card.training ? "training" : "inference";
}

std::string_view kernels_of(const SoftwareCard& card) {
  return card.training ? word(card.training->fusion) : word(card.inference->launching);
}

/// The range of versions: "0.2 to 0.20"; "-" without versions.
std::string versions_text(const SoftwareCard& card) {
  if (card.versions.empty()) return "-";
  return fmt::format("{} to {}", card.versions.front().name, card.versions.back().name);
}

/// The stack at each of its versions, oldest first; a single entry if it has no versions.
std::vector<SoftwareCard> at_all_versions(std::string_view name) {
  SoftwareCard newest = load_software(name);
  if (newest.versions.empty()) return {std::move(newest)};
  std::vector<SoftwareCard> all;
  for (const SoftwareVersion& v : newest.versions) all.push_back(load_software(fmt::format("{}@{}", name, v.name)));
  return all;
}

/// The values of a capability; "-" if it has none, empty if they are unknown.
std::string words_text(const Capabilities& of, Capability c) {
  const Capabilities::Words& words = of.of(c);
  if (!words) return "";
  return words->empty() ? "-" : fmt::format("{}", fmt::join(*words, ", "));
}

std::string plain_text(const json::Value& v) { return v.is_string() ? v.get<std::string>() : v.dump(); }

/// The values of a list, joined by commas; "-" for an empty list.
std::string joined_text(const json::Value& list) {
  std::vector<std::string> all;
  for (const json::Value& v : list) all.push_back(plain_text(v));
  return all.empty() ? "-" : fmt::format("{}", fmt::join(all, ", "));
}

/// Keys of a JSON value with their values as text: "capabilities.schedules" -> "1f1b".
void flatten(const json::Value& v, const std::string& path, std::map<std::string, std::string>& all) {
  if (!v.is_object()) {
    all[path] = v.is_array() ? joined_text(v) : plain_text(v);
    return;
  }
  for (const auto& [key, value] : v.items()) flatten(value, path.empty() ? key : path + "." + key, all);
}

std::map<std::string, std::string> keys_of(const std::string& name) {
  std::map<std::string, std::string> all;
  flatten(software_at(name), "", all);
  return all;
}

}  // namespace

Grid software_grid() {
  Grid g{.key = "software",
         .title = "",
         .columns = {"name", "for", "versions", "kernels", "description"},
         .left = 5,
         .rows = {}};
  for (const Builtin& b : builtin_software()) {
    const SoftwareCard card = load_software(b.name);
    g.rows.push_back({std::string(b.name), std::string(use_of(card)), versions_text(card),
                      std::string(kernels_of(card)), std::string(b.title)});
    json::Value versions = json::Value::array();
    for (const SoftwareVersion& v : card.versions) versions.push_back(v.name);
    g.json.push_back({{"name", b.name},
                      {"title", b.title},
                      {"aliases", std::vector<std::string>(b.aliases.begin(), b.aliases.end())},
                      {"for", use_of(card)},
                      {card.training ? "fusion" : "launching", kernels_of(card)},
                      {"versions", std::move(versions)},
                      {"source", card.source}});
  }
  return g;
}

Grid capabilities_grid() {
  Grid g{.key = "capabilities",
         .title = "capabilities",
         .columns = {"software", "capability", "values"},
         .left = 3,
         .rows = {}};
  for (const Builtin& b : builtin_software()) {
    std::map<Capability, std::string> last;
    for (const SoftwareCard& card : at_all_versions(b.name))
      for (const auto& [c, key] : choices<Capability>) {
        const std::string text = words_text(card.capabilities, c);
        if (text.empty() || last[c] == text) continue;
        last[c] = text;
        g.rows.push_back({card.word, std::string(key), text});
        g.json.push_back({{"software", card.word}, {"capability", key}, {"values", *card.capabilities.of(c)}});
      }
  }
  return g;
}

Grid versions_grid() {
  Grid g{.key = "versions", .title = "sources", .columns = {"software", "released", "source"}, .left = 3, .rows = {}};
  for (const Builtin& b : builtin_software())
    for (const SoftwareCard& card : at_all_versions(b.name)) {
      g.rows.push_back({card.word, card.version.released.empty() ? "-" : card.version.released, card.source});
      g.json.push_back({{"software", card.word}, {"source", card.source}});
      if (!card.version.released.empty()) g.json.back()["released"] = card.version.released;
    }
  return g;
}

Grid software_differences(const std::string& a, const std::string& b) {
  Grid g{.key = "differences", .title = "", .columns = {"key", a, b}, .left = 3, .rows = {}};
  std::map<std::string, std::string> first = keys_of(a), second = keys_of(b);
  std::map<std::string, std::string> all = first;
  all.insert(second.begin(), second.end());
  for (const auto& [key, ignored] : all) {
    if (first[key] == second[key]) continue;
    g.rows.push_back({key, first[key].empty() ? "-" : first[key], second[key].empty() ? "-" : second[key]});
    g.json.push_back({{"key", key}, {"a", first[key]}, {"b", second[key]}});
  }
  return g;
}

}  // namespace llmcalc
