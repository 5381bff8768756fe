#include "presets/names/typed_name.hpp"

#include <algorithm>
#include <array>

#include "presets/formats/gguf_mix.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

using Text = std::string_view;

/// Addresses of model hubs. A longer address precedes its prefixes.
constexpr std::array hubs{Text("huggingface.co/"),
                          Text("hf.co/"),
                          Text("modelscope.cn/models/"),
                          Text("ollama.com/library/"),
                          Text("registry.ollama.ai/library/"),
                          Text("ollama.com/"),
                          Text("lmstudio.ai/models/"),
                          Text("github.com/")};

bool is_decimal(char c) { return c >= '0' && c <= '9'; }

/// Removes `start`, ignoring case. Returns whether it was present.
bool take_start(Text& text, Text start) {
  if (text.size() < start.size() || !same_name(text.substr(0, start.size()), start)) return false;
  text.remove_prefix(start.size());
  return true;
}

/// Removes the shard number, as in "Llama-3.1-8B-Q4_K_M-00001-of-00003".
Text without_shard(Text name) {
  constexpr Text form = "-00000-of-00000";
  if (name.size() <= form.size()) return name;
  const Text end = name.substr(name.size() - form.size());
  for (std::size_t i = 0; i < form.size(); ++i)
    if (form[i] == '0' ? !is_decimal(end[i]) : end[i] != form[i]) return name;
  return name.substr(0, name.size() - form.size());
}

/// Replaces the dot before a mix: "Llama-3-8B.Q4_0" becomes "Llama-3-8B-Q4_0".
std::string with_dashed_mix(Text name) {
  const std::size_t dot = name.rfind('.');
  std::string dashed(name);
  if (dot != Text::npos && is_gguf_mix(lower(name.substr(dot + 1)))) dashed[dot] = '-';
  return dashed;
}

/// The first and last parts of a path; the first is empty if there is only one part.
std::pair<Text, Text> first_and_last(Text path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  const std::size_t first = path.find('/'), last = path.rfind('/');
  if (first == Text::npos) return {"", path};
  return {path.substr(0, first), path.substr(last + 1)};
}

/// The repository in a path on a hub: "owner/name" for "owner/name/tree/main".
Text repository(Text path) {
  const std::size_t first = path.find('/');
  if (first == Text::npos) return path;
  return path.substr(0, path.find('/', first + 1));
}

}  // namespace

std::string TypedName::whole() const {
  return (owner.empty() ? "" : owner + "/") + name + (tag.empty() ? "" : ":" + tag);
}

TypedName typed_name(Text text) {
  Text rest = text;
  if (!take_start(rest, "https://")) take_start(rest, "http://");
  take_start(rest, "www.");
  const bool on_hub = std::any_of(hubs.begin(), hubs.end(), [&](Text hub) { return take_start(rest, hub); });
  rest = rest.substr(0, rest.find_first_of("?#"));
  constexpr Text gguf = ".gguf";
  const bool is_file = lower(rest).ends_with(gguf);
  if (on_hub && !is_file) rest = repository(rest);
  auto [owner, name] = first_and_last(rest);
  TypedName t{.owner = std::string(owner)};
  if (is_file) name = without_shard(name.substr(0, name.size() - gguf.size()));
  const std::string dashed = is_file ? with_dashed_mix(name) : "";
  if (is_file) name = dashed;
  const std::size_t colon = name.find(':');
  t.name = name.substr(0, colon);
  if (colon != Text::npos && !same_name(name.substr(colon + 1), "latest")) t.tag = name.substr(colon + 1);
  return t;
}

}  // namespace llmcalc
