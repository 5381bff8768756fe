#include "ask/request/weight_precision.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ask/request/options/option_values.hpp"
#include "presets/formats/gguf_mix.hpp"
#include "presets/formats/held_formats.hpp"
#include "presets/formats/weight_formats.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

constexpr std::string_view gguf_prefix = "gguf:", block_prefix = "ggml:";

/// Reads a number format, optionally with the prefix that distinguishes it from a mix of the same name: "ggml:q2_k".
DType read_block(std::string_view text, std::string_view where) {
  return read_stored(text.starts_with(block_prefix) ? text.substr(block_prefix.size()) : text, where);
}

std::string mix_note(std::string_view mix, const ModelCard& model) {
  const std::string_view older = older_fused_type(model.arch, mix, model.family);
  if (older.empty()) return "";
  return fmt::format(
      "{} follows llama.cpp as of 2026; files created until 2025 store the queries, keys and values of attention, "
      "fused in this family, in {}",
      mix, older);
}

WeightFormats formats_for_all(WeightsGiven& given, std::string_view text, std::string_view where,
                              const ModelCard& model) {
  const bool said = text.starts_with(gguf_prefix);
  const std::string_view name = said ? text.substr(gguf_prefix.size()) : text;
  if (is_gguf_mix(name) && (said || !dtype(name))) {
    given.note = mix_note(name, model);
    return gguf_mix(model.arch, name, model.family);
  }
  if (!said) return read_block(text, where);
  std::string known;
  for (const std::string_view mix : gguf_mixes()) known += (known.empty() ? "" : "|") + std::string(mix);
  refuse_value(where, fmt::format("gguf: followed by one of {}", one_of(known)), text);
}

/// Throws InputError if a component is named twice or has no weights in the model.
void check_part(const WeightsGiven& given, Component c, std::string_view where, const Arch& arch) {
  const std::string_view name = component_name(c);
  for (const auto& [component, format] : given.parts)
    if (component == c) throw InputError(fmt::format("{}: {} is specified twice; specify it once", where, name));
  if (component_numbers(arch)[c] > Bytes()) return;
  const bool tied = c == Component::lm_head && arch.tied_head;
  throw InputError(fmt::format("{}: the model has no weights in {}{}; omit it", where, name,
                               tied ? ", because its head is tied to the embedding" : ""));
}

void add_part(WeightsGiven& given, std::string_view text, std::string_view where, const Arch& arch) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const auto c = component_called(name);
  if (!c) refuse_value(where, fmt::format("{} before '='", one_of(component_names())), name);
  check_part(given, *c, where, arch);
  given.parts.emplace_back(*c, read_block(text.substr(equals + 1), where));
}

}  // namespace

WeightsGiven read_weight_precision(std::string_view text, std::string_view where, const ModelCard& model) {
  WeightsGiven given{.text = lower(text), .all = {}, .parts = {}};
  std::string_view rest = given.text;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view one = rest.substr(0, comma);
    const bool for_all = one.find('=') == std::string_view::npos;
    if (for_all && given.all)
      refuse_value(where, "one format for all components and COMPONENT=FORMAT for others", text);
    if (for_all)
      given.all = formats_for_all(given, one, where, model);
    else
      add_part(given, one, where, model.arch);
    if (comma == std::string_view::npos) return given;
    rest.remove_prefix(comma + 1);
  }
}

WeightsGiven as_file(const WeightsGiven& given, std::string_view where, const ModelCard& model) {
  const auto block = given.all && given.parts.empty() ? dtype(given.text) : std::nullopt;
  const bool names_block = block && bits_per_weight(*block) < 16 && is_gguf_mix(given.text);
  return names_block ? read_weight_precision(std::string(gguf_prefix) + given.text, where, model) : given;
}

WeightFormats settled(const WeightsGiven& given, const WeightFormats& otherwise, const Arch& arch) {
  WeightFormats w = given.all.value_or(otherwise);
  const auto set = [&](Component c, DType t) {
    w[c] = t;
    for (const Owner owner : {Owner::model, Owner::modules}) w.hold(c, {}, owner);
  };
  for (const auto& [component, format] : given.parts) {
    set(component, format);
    if (component == Component::embedding) set(Component::position, format);
    if (component == Component::embedding && arch.tied_head) set(Component::lm_head, format);
  }
  return w;
}

}  // namespace llmcalc
