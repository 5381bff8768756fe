#include "presets/unknown_keys.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/names.hpp"

namespace llmcalc {

namespace {
constexpr std::size_t most_keys = 5;
}

std::string unknown_keys_note(const ModelCard& model) {
  const std::vector<std::string>& keys = model.unknown_keys;
  if (keys.empty()) return "";
  const std::size_t named = keys.size() > most_keys ? most_keys - 1 : keys.size();
  std::string list;
  for (std::size_t i = 0; i < named; ++i) {
    const bool last = i > 0 && i + 1 == keys.size();
    list += (i == 0 ? "" : last ? " and " : ", ") + in_quotes(keys[i]);
  }
  if (named < keys.size()) list += fmt::format(" and {} more", keys.size() - named);
  return fmt::format("{} in {} {} not understood and {} not counted", list, model.source,
                     keys.size() > 1 ? "are" : "is", keys.size() > 1 ? "were" : "was");
}

}  // namespace llmcalc
