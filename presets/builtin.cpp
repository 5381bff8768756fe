#include "presets/builtin.hpp"

#include <algorithm>

#include "text/names.hpp"

namespace llmcalc {

const Builtin* find_builtin(std::span<const Builtin> presets, std::string_view name) {
  for (const Builtin& preset : presets)
    if (same_name(preset.name, name)) return &preset;
  for (const Builtin& preset : presets)
    if (std::any_of(preset.aliases.begin(), preset.aliases.end(), [&](auto alias) { return same_name(alias, name); }))
      return &preset;
  return nullptr;
}

std::vector<std::string> builtin_names(std::span<const Builtin> presets) {
  std::vector<std::string> out;
  for (const Builtin& preset : presets) {
    out.emplace_back(preset.name);
    out.insert(out.end(), preset.aliases.begin(), preset.aliases.end());
  }
  return out;
}

}  // namespace llmcalc
