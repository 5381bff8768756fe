// Arguments from a launch command or file (--from), and the software of --emit.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "ask/request/launch/read.hpp"
#include "presets/load.hpp"
#include "report/commands/arguments.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

bool is_launch_file(const std::string& text) {
  std::error_code failed;
  const auto status = std::filesystem::status(text, failed);
  return text == json::standard_input || is_regular_file(status) || is_fifo(status);
}

/// A GGUF file name without folder and extension, split into the name of a preset and the format after it.
struct GgufName {
  std::string model, format;
};
std::optional<GgufName> gguf_preset(const std::string& name) {
  constexpr std::string_view ending = ".gguf";
  if (!lower(name).ends_with(ending) || is_launch_file(name)) return std::nullopt;
  const std::string base = name.substr(name.rfind('/') + 1, std::string::npos);
  const std::string stem = base.substr(0, base.size() - ending.size());
  const std::size_t dash = stem.rfind('-');
  if (dash == std::string::npos || find_meant(builtin_models(), stem.substr(0, dash)) == nullptr) return std::nullopt;
  return GgufName{stem.substr(0, dash), lower(stem.substr(dash + 1))};
}

}  // namespace

const Option* Arguments::option_of_key(std::string_view key) const {
  for (const Option* o : options_of(command_))
    if (o->field.read != nullptr && o->key() == key) return o;
  return nullptr;
}

void Arguments::give_unless_typed(std::string_view flag, const std::string& text) {
  const Option* o = option_of(command_, flag);
  if (o != nullptr && !has(flag)) given_.push_back({o, text});
}

std::size_t Arguments::place_of_model() const {
  const auto at =
      std::find_if(command_.words.begin(), command_.words.end(), [](const Word& w) { return w.name == "MODEL"; });
  return static_cast<std::size_t>(at - command_.words.begin());
}

/// Sets MODEL, unless the user typed it.
void Arguments::take_model(const Launched& from) {
  const std::size_t place = place_of_model();
  if (from.model.empty() || place >= command_.words.size() || words_.size() > place) return;
  const auto gguf = gguf_preset(from.model);
  if (gguf) give_unless_typed("--weight-precision", gguf->format);
  words_.resize(place + 1);
  read_model(gguf ? gguf->model : from.model);
}

void Arguments::take_options(const Launched& from) {
  InputTexts typed;
  for (const Given& g : given_)
    if (g.option->field.read != nullptr) typed[g.option->key()] = g.text;
  const auto takes = [&](std::string_view key) { return option_of_key(key) != nullptr; };
  for (const auto& [key, text] : inputs_of(from, takes, typed, model().arch)) {
    const Option* o = option_of_key(key);
    if (o == nullptr) continue;
    const bool is_off = o->value.empty() && text == "off";
    if (!is_off) give_unless_typed(o->flag, o->value.empty() ? "" : text);
  }
}

void Arguments::take_launch() {
  if ((command_.parts & part::launch) == 0) return;
  if (has("--emit")) give_unless_typed("--software", load_software(text("--emit")).word);
  if (!has("--from")) return;
  const std::string said = text("--from");
  const bool is_path = !json_ && is_launch_file(said);
  const Launched from =
      launched(is_path ? json::file_text(said, "a launch command or file") : said, is_path ? said : "");
  take_model(from);
  refuse_missing_words();
  give_unless_typed("--software", from.stack);
  take_options(from);
}

}  // namespace llmcalc
