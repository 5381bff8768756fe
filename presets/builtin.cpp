#include "presets/builtin.hpp"

#include <algorithm>

#include "text/names.hpp"

namespace llmcalc {

namespace {

constexpr std::string_view idle_words[] = {
    "base",  "bf16",   "chat",  "hf",      "instruct",   "it",     "pt",       "meta",  "thinking",
    "amd",   "apple",  "aws",   "geforce", "generation", "google", "hbm2",     "hbm2e", "hbm3",
    "hbm3e", "huawei", "intel", "nvidia",  "tesla",      "radeon", "instinct",
};

bool is_idle(std::string_view word) {
  return std::any_of(std::begin(idle_words), std::end(idle_words), [&](auto idle) { return same_name(idle, word); });
}

/// `word`, with "SXM4" and "SXM5" shortened to "sxm". Each of these sockets belongs to one generation, which the rest
/// of the name implies.
std::string_view plain(std::string_view word) {
  return same_name(word, "sxm4") || same_name(word, "sxm5") ? word.substr(0, 3) : word;
}

/// `name` without words that affect neither shapes nor peaks.
std::string without_idle_words(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const std::string_view word = name.substr(0, name.find_first_of("-_ "));
    name.remove_prefix(std::min(name.size(), word.size() + 1));
    if (!is_idle(word)) out += (out.empty() ? "" : "-") + std::string(plain(word));
  }
  return out;
}

bool is_called(const Builtin& preset, std::string_view spelled) {
  return spelling(preset.name) == spelled ||
         std::any_of(preset.aliases.begin(), preset.aliases.end(), [&](auto a) { return spelling(a) == spelled; });
}

}  // namespace

const Builtin* find_builtin(std::span<const Builtin> presets, std::string_view name) {
  auto found = std::find_if(presets.begin(), presets.end(), [&](const Builtin& p) { return p.name == name; });
  if (found != presets.end()) return &*found;
  const std::string spelled = spelling(name);
  found = std::find_if(presets.begin(), presets.end(), [&](const Builtin& p) { return is_called(p, spelled); });
  return found == presets.end() ? nullptr : &*found;
}

const Builtin* find_meant(std::span<const Builtin> presets, std::string_view name) {
  if (const Builtin* preset = find_builtin(presets, name)) return preset;
  const std::size_t slash = name.find('/');
  if (slash == 0 || name.starts_with('.')) return nullptr;  // `name` is a path
  if (slash != std::string_view::npos) name.remove_prefix(slash + 1);
  return find_builtin(presets, without_idle_words(name));
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
