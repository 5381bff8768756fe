#include "presets/meant_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "presets/formats/gguf_mix.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

using Text = std::string_view;
using WordList = std::vector<std::string>;

/// Words that imply another weight format without naming it, such as containers and programs.
constexpr std::array open_words{
    Text("gguf"), Text("ggml"),  Text("mlx"),  Text("bnb"),   Text("exl2"),     Text("exl3"), Text("hqq"),
    Text("aqlm"), Text("quip"),  Text("eetq"), Text("fp4"),   Text("fp6"),      Text("int2"), Text("int3"),
    Text("int5"), Text("int6"),  Text("2bit"), Text("3bit"),  Text("5bit"),     Text("6bit"), Text("w4a4"),
    Text("w4a8"), Text("w4a16"), Text("w8a8"), Text("w8a16"), Text("quantized")};

/// Synonyms of formats.
constexpr std::array<std::pair<Text, Text>, 5> other_words{
    {{"f32", "fp32"}, {"4bit", "int4"}, {"8bit", "int8"}, {"4-bit", "int4"}, {"8-bit", "int8"}}};

/// Format that a method and a bit width name together.
struct Pair {
  Text method, width, format;
};
constexpr std::array pairs{Pair{"gptq", "int4", "gptq"},  Pair{"gptq", "int8", "gptq-8bit"},
                           Pair{"awq", "int4", "awq"},    Pair{"bnb", "int4", "nf4"},
                           Pair{"bnb", "int8", "int8"},   Pair{"mxfp4", "int4", "mxfp4"},
                           Pair{"nvfp4", "int4", "nvfp4"}};

WordList words_of(Text name) {
  WordList out(1);
  for (const char c : lower(name)) {
    if (c == '-' || c == '_' || c == ' ')
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

std::string joined(const WordList& words, std::size_t from, std::size_t n, char by) {
  std::string out;
  for (std::size_t i = from; i < from + n; ++i) out += (i == from ? "" : std::string(1, by)) + words[i];
  return out;
}

/// Format that the `n` words from index i name; empty if they name no format.
std::string format_in(const WordList& words, std::size_t i, std::size_t n) {
  const std::string mix = joined(words, i, n, '_'), row = joined(words, i, n, '-');
  if (is_gguf_mix(mix) && mix.find_first_of("0123456789") != std::string::npos && !dtype(row)) return "gguf:" + mix;
  for (const auto& [word, format] : other_words)
    if (row == word) return std::string(format);
  return dtype(row) ? row : "";
}

/// Words of a name: formats, words that only imply a format, and others.
struct SplitName {
  WordList formats{}, open{}, others{};
};

SplitName split(Text name) {
  const WordList words = words_of(name);
  SplitName s;
  for (std::size_t i = 0; i < words.size();) {
    std::size_t n = std::min<std::size_t>(3, words.size() - i);
    while (n > 0 && format_in(words, i, n).empty()) --n;
    if (n > 0)
      s.formats.push_back(format_in(words, i, n));
    else if (std::find(open_words.begin(), open_words.end(), words[i]) != open_words.end())
      s.open.push_back(words[i]);
    else
      s.others.push_back(words[i]);
    i += std::max<std::size_t>(n, 1);
  }
  return s;
}

/// Removes `word` from the list. Returns whether it was present.
bool take(WordList& list, Text word) {
  const auto at = std::find(list.begin(), list.end(), word);
  if (at == list.end()) return false;
  list.erase(at);
  return true;
}

bool has(const WordList& list, Text word) { return std::find(list.begin(), list.end(), word) != list.end(); }

/// Merges a method and a width into one format, and drops a container's name next to a mix.
void join_pairs(SplitName& s) {
  for (const Pair& p : pairs)
    if (has(s.formats, p.width) && (take(s.formats, p.method) || take(s.open, p.method))) {
      take(s.formats, p.width);
      s.formats.emplace_back(p.format);
    }
  if (!s.formats.empty()) take(s.open, "gguf");
  std::sort(s.formats.begin(), s.formats.end());
  s.formats.erase(std::unique(s.formats.begin(), s.formats.end()), s.formats.end());
}

/// A model with a preset's shape but other stored formats, which its name does not state.
struct OtherModel {
  Text preset, word, stored;
};
constexpr std::array other_models{
    OtherModel{"kimi-k2", "thinking",
               "its experts in int4 with groups of 32 and other weights in bf16; pass --weight-precision "
               "bf16,experts=int4-g32 with 'kimi-k2', or use 'kimi-k2.5', which has these formats and a vision "
               "encoder"}};

/// Throws InputError if the name is that of such a model. Source: hub moonshotai/Kimi-K2-Thinking, config.json, whose
/// "quantization_config" packs the experts.
void refuse_other_model(Text name, const WordList& words, const Builtin& preset) {
  for (const OtherModel& other : other_models)
    if (preset.name == other.preset && has(words, other.word))
      throw InputError(fmt::format("{} has the architecture of preset '{}', but its checkpoint stores {}",
                                   in_quotes(name), preset.name, other.stored));
}

void check_formats(Text name, const SplitName& s, const Builtin& preset) {
  if (!s.open.empty())
    throw InputError(fmt::format(
        "{} in the model name {} implies another weight format without naming it; pass '{}' with --weight-precision "
        "('llmcalc list dtypes' shows all formats)",
        in_quotes(s.open.front()), in_quotes(name), preset.name));
  if (s.formats.size() > 1)
    throw InputError(fmt::format("the model name {} contains two weight formats, {} and {}; specify only one",
                                 in_quotes(name), s.formats[0], s.formats[1]));
}

/// Whether the preset's quantized weights are in this format or a variant of it: "fp8-block" is a variant of "fp8".
bool is_stored_as(const ModelCard& card, const std::string& format) {
  if (!card.weights) return false;
  bool any = false, all = true;
  for (std::size_t i = 0; i < component_count; ++i) {
    const DType t = (*card.weights)[static_cast<Component>(i)];
    if (t.plain() && whole_bits(t.format()) >= 16) continue;
    any = true;
    all = all && t.name().starts_with(format);
  }
  return any && all;
}

constexpr Text gguf_prefix = "gguf:";

WeightFormats formats_called(const ModelCard& card, const std::string& format) {
  if (format.starts_with(gguf_prefix)) return gguf_mix(card.arch, format.substr(gguf_prefix.size()), card.family);
  return *dtype(format);
}

}  // namespace

MeantModel meant_model(Text name) {
  const std::span<const Builtin> presets = builtin_models();
  if (const Builtin* preset = find_builtin(presets, name)) return {preset};
  const std::size_t slash = name.find('/');
  const bool owned = slash != Text::npos && slash > 0 && !name.starts_with('.');
  const Text own = owned ? name.substr(slash + 1) : name;
  if (own.find('/') != Text::npos) return {find_meant(presets, name)};  // a path
  SplitName s = split(own);
  join_pairs(s);
  const bool says = !s.formats.empty() || !s.open.empty();
  const Builtin* preset = find_meant(presets, says ? joined(s.others, 0, s.others.size(), '-') : name);
  if (preset == nullptr) return {};
  refuse_other_model(name, s.others, *preset);
  check_formats(name, s, *preset);
  return {preset, s.formats.empty() ? "" : s.formats.front()};
}

void take_named_format(ModelCard& card, Text name, const std::string& format) {
  if (is_stored_as(card, format)) return;
  card.weights = formats_called(card, format);
  card.products = std::nullopt;
  card.product_parts = NarrowParts::all();
  card.caveats.push_back(
      fmt::format("the name {} implies weights in {}, unless --weight-precision is set", in_quotes(name), format));
}

}  // namespace llmcalc
