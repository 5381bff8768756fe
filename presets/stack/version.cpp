#include "presets/stack/version.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "text/date.hpp"
#include "text/error.hpp"
#include "text/leading_number.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The numbers in a version: {0, 10, 1} for "0.10.1", {4500} for "b4500". Empty if the text is not a version.
std::vector<Count> numbers_of(std::string_view text) {
  if (text.starts_with('b') || text.starts_with('v')) text.remove_prefix(1);
  std::vector<Count> all;
  while (!text.empty()) {
    const std::size_t n = std::min(text.find('.'), text.size());
    const std::string_view part = text.substr(0, n);
    if (part.empty() || part.size() > 9 || !std::all_of(part.begin(), part.end(), is_digit)) return {};
    all.push_back(leading_whole(std::string(part)));
    text.remove_prefix(std::min(n + 1, text.size()));
  }
  while (!all.empty() && all.size() > 1 && all.back() == 0) all.pop_back();
  return all;
}

/// Whether a version was released by the date `by`. A year or a month includes all of its days.
bool is_released(const SoftwareVersion& v, std::string_view by) {
  return !v.released.empty() && std::string_view(v.released).substr(0, by.size()) <= by;
}

std::vector<SoftwareVersion> versions_of(const json::Value& list, const std::string& where) {
  std::vector<SoftwareVersion> all;
  for (const json::Value& entry : list) {
    const json::Object o(entry, fmt::format("{}, \"versions\"[{}]", where, all.size()));
    SoftwareVersion v{o.text("version"), o.text_or("released", "")};
    if (numbers_of(v.name).empty())
      throw InputError(fmt::format("{}: {} is not a version number", o.where(), in_quotes(v.name)));
    if (!v.released.empty() && !is_date(v.released))
      throw InputError(fmt::format("{}, \"released\": expected a date such as 2026-03-28", o.where()));
    if (!all.empty() && !is_older(all.back().name, v.name))
      throw InputError(
          fmt::format("{}: version {} must be newer than {}, the entry before it", o.where(), v.name, all.back().name));
    all.push_back(std::move(v));
  }
  return all;
}

/// Number of entries up to and including the requested version.
std::size_t entries_to(const std::vector<SoftwareVersion>& all, std::string_view wanted, const std::string& where) {
  const bool date = is_date(wanted);
  if (!date && numbers_of(wanted).empty())
    throw InputError(fmt::format("{}: {} is neither a version number nor a date such as 2026-03", where, wanted));
  std::size_t n = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (date ? is_released(all[i], wanted) : !is_older(wanted, all[i].name)) n = i + 1;
  if (n > 0) return n;
  const auto dated = std::find_if(all.begin(), all.end(), [](const auto& v) { return !v.released.empty(); });
  const std::string since =
      date && dated != all.end() ? fmt::format("{}, of {}", dated->name, dated->released) : all.front().name;
  throw InputError(fmt::format("{}: version {} is older than the first known version, {}", where, wanted, since));
}

}  // namespace

VersionedName versioned(std::string_view text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos || at == 0 || text.find('/', at) != std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

bool is_older(std::string_view a, std::string_view b) { return numbers_of(a) < numbers_of(b); }

SoftwareAtVersion at_version(const json::Value& file, std::optional<std::string_view> wanted,
                             const std::string& where) {
  SoftwareAtVersion at{file, {}, {}};
  const auto list = file.find("versions");
  if (list == file.end()) {
    if (wanted) throw InputError(fmt::format("{} has no versions; omit @{}", where, *wanted));
    return at;
  }
  if (!list->is_array() || list->empty())
    throw InputError(fmt::format("{}, \"versions\": expected a list of versions", where));
  at.versions = versions_of(*list, where);
  at.value.erase("versions");
  const std::size_t n = wanted ? entries_to(at.versions, *wanted, where) : at.versions.size();
  for (std::size_t i = 0; i < n; ++i) {
    json::Value difference = (*list)[i];
    for (const char* key : {"version", "released"}) difference.erase(key);
    at.value.merge_patch(difference);
  }
  at.version = at.versions[n - 1];
  return at;
}

}  // namespace llmcalc
