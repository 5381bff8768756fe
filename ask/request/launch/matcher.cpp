#include "ask/request/launch/matcher.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/error.hpp"

namespace llmcalc {

std::string dashed_setting(std::string_view name) {
  std::string s(name);
  std::replace(s.begin(), s.end(), '_', '-');
  return s;
}
bool same_setting(std::string_view a, std::string_view b) { return dashed_setting(a) == dashed_setting(b); }
bool is_any_setting(const std::vector<std::string>& all, std::string_view name) {
  return std::any_of(all.begin(), all.end(), [&](const std::string& one) { return same_setting(one, name); });
}

namespace {

bool equal_setting(const json::Value& pattern, const json::Value& v, Gaps& gaps) {
  if (pattern.is_string()) return match(pattern.get<std::string>(), setting_text(v), gaps);
  const auto joined = [](const json::Value& list) {
    std::string s;
    for (const json::Value& one : list) s += (s.empty() ? "" : " ") + setting_text(one);
    return s;
  };
  if (pattern.is_array()) return (v.is_array() ? joined(v) : setting_text(v)) == joined(pattern);
  return setting_text(pattern) == setting_text(v);
}

bool mentions(const LaunchRow& row, const std::string& name) {
  if (is_any_setting(row.names, name)) return true;
  for (const LaunchCase& c : row.cases)
    for (const LaunchSettings& way : c.ways)
      for (const LaunchSetting& one : way)
        if (same_setting(one.name, name)) return true;
  return false;
}

std::string values_of(const LaunchRow& row, const std::string& name) {
  std::string s;
  for (const LaunchCase& c : row.cases)
    for (const LaunchSettings& way : c.ways)
      for (const LaunchSetting& one : way)
        if (same_setting(one.name, name) || is_any_setting(row.names, one.name))
          s += (s.empty() ? "" : ", ") + (one.value.is_array() ? one.value.dump() : setting_text(one.value));
  return s;
}

}  // namespace

std::optional<std::string> LaunchMatcher::read(const LaunchRow& row) {
  if (row.cases.empty()) return read_plain(row);
  const Best best = best_way(row);
  for (const std::size_t i : best.places) used_[i] = true;
  if (best.found == nullptr) return row.absent;
  return best.found->input.empty() ? std::nullopt : std::optional(filled(best.found->input, best.gaps));
}

void LaunchMatcher::mark(const LaunchRow& row) {
  for (std::size_t i = 0; i < settings_.size(); ++i) used_[i] = used_[i] || mentions(row, settings_[i].name);
}

void LaunchMatcher::refuse_unused(const LaunchRow& row) const {
  for (std::size_t i = 0; i < settings_.size(); ++i) {
    if (used_[i] || !mentions(row, settings_[i].name)) continue;
    throw InputError(
        fmt::format("--from: {} {} has no counterpart in llmcalc; known values: {}", settings_[i].name,
                    settings_[i].value.is_array() ? settings_[i].value.dump() : setting_text(settings_[i].value),
                    values_of(row, settings_[i].name)));
  }
}

std::optional<std::string> LaunchMatcher::read_plain(const LaunchRow& row) {
  std::optional<std::string> said;
  for (std::size_t i = 0; i < settings_.size(); ++i) {
    if (used_[i] || !is_any_setting(row.names, settings_[i].name)) continue;
    used_[i] = true;
    said = setting_text(settings_[i].value);
  }
  return !said || *said == "auto" ? row.absent : said;
}

std::optional<std::size_t> LaunchMatcher::place(const LaunchRow& row, const LaunchSetting& wanted, Gaps& gaps) const {
  for (std::size_t i = settings_.size(); i-- > 0;) {
    const std::string& name = settings_[i].name;
    const bool named =
        same_setting(name, wanted.name) || (is_any_setting(row.names, wanted.name) && is_any_setting(row.names, name));
    if (named && !used_[i] && equal_setting(wanted.value, settings_[i].value, gaps)) return i;
  }
  return std::nullopt;
}

LaunchMatcher::Best LaunchMatcher::best_way(const LaunchRow& row) const {
  Best best;
  for (const LaunchCase& c : row.cases)
    for (const LaunchSettings& way : c.ways) {
      Best one{&c, {}, {}};
      for (const LaunchSetting& wanted : way)
        if (const auto i = place(row, wanted, one.gaps)) one.places.push_back(*i);
      if (one.places.size() == way.size() && one.places.size() > best.places.size()) best = std::move(one);
    }
  return best;
}

}  // namespace llmcalc
