#include "presets/names/name_table.hpp"

#include <algorithm>
#include <array>

#include "text/names.hpp"

namespace llmcalc {
namespace {

using Text = std::string_view;
using Cells = std::array<Text, 5>;

Cells cells_of(Text line) {
  Cells cells;
  for (Text& cell : cells) {
    const std::size_t tab = line.find('\t');
    cell = line.substr(0, tab);
    line = tab == Text::npos ? Text() : line.substr(tab + 1);
  }
  return cells;
}

Text line_at(Text table, std::size_t start) { return table.substr(start, table.find('\n', start) - start); }

/// Start of the line that contains position `at`.
std::size_t line_start(Text table, std::size_t at) {
  const std::size_t before = at == 0 ? Text::npos : table.rfind('\n', at - 1);
  return before == Text::npos ? 0 : before + 1;
}

/// Address of the source with this number. A linear search suffices, since sources are few and precede the names.
Text source_of(Text number) {
  const Text table = name_table();
  for (std::size_t at = 0; at < table.size() && table[at] == '#'; at = table.find('\n', at) + 1) {
    const Text line = line_at(table, at).substr(1);
    const std::size_t tab = line.find('\t');
    if (line.substr(0, tab) == number) return line.substr(tab + 1);
  }
  return {};
}

/// Start of the first name.
std::size_t first_name() {
  const Text table = name_table();
  std::size_t at = 0;
  while (at < table.size() && table[at] == '#') at = table.find('\n', at) + 1;
  return at;
}

/// Start of the first line whose name is at least `key`.
std::size_t lower_bound(Text key) {
  const Text table = name_table();
  std::size_t low = first_name(), high = table.size();
  while (low < high) {
    const std::size_t start = line_start(table, low + (high - low) / 2);
    if (const Text line = line_at(table, start); cells_of(line)[0] < key)
      low = start + line.size() + 1;
    else
      high = start;
  }
  return low;
}

}  // namespace

std::optional<NamedModel> named_model(Text name) {
  const std::string key = spelling(name);
  const Cells cells = cells_of(line_at(name_table(), lower_bound(key)));
  if (cells[0] != key) return std::nullopt;
  return NamedModel{cells[1], cells[2], source_of(cells[3]), cells[4]};
}

std::vector<Text> tagged_presets(Text name) {
  const Text table = name_table();
  const std::string start = spelling(name) + ":";
  std::vector<Text> presets;
  for (std::size_t at = lower_bound(start); at < table.size();) {
    const Text line = line_at(table, at);
    if (!line.starts_with(start)) break;
    if (const Text preset = cells_of(line)[1]; !preset.empty()) presets.push_back(preset);
    at += line.size() + 1;
  }
  std::sort(presets.begin(), presets.end());
  presets.erase(std::unique(presets.begin(), presets.end()), presets.end());
  return presets;
}

}  // namespace llmcalc
