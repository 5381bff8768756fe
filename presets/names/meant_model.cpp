#include "presets/names/meant_model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "presets/formats/gguf_mix.hpp"
#include "presets/names/name_table.hpp"
#include "presets/names/typed_name.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

using Text = std::string_view;
using WordList = std::vector<std::string>;

/// Words that imply another weight format without naming it, such as names of containers and programs.
constexpr std::array open_words{
    Text("gguf"), Text("ggml"),  Text("mlx"),  Text("bnb"),   Text("exl2"),     Text("exl3"), Text("hqq"),
    Text("aqlm"), Text("quip"),  Text("eetq"), Text("fp4"),   Text("fp6"),      Text("int2"), Text("int3"),
    Text("int5"), Text("int6"),  Text("2bit"), Text("3bit"),  Text("5bit"),     Text("6bit"), Text("w4a4"),
    Text("w4a8"), Text("w4a16"), Text("w8a8"), Text("w8a16"), Text("quantized")};

/// Synonyms of formats.
constexpr std::array<std::pair<Text, Text>, 5> other_words{
    {{"f32", "fp32"}, {"4bit", "int4"}, {"8bit", "int8"}, {"4-bit", "int4"}, {"8-bit", "int8"}}};

/// A format that a method and a bit width name together.
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

/// Format named by the `n` words starting at index i; empty if they name none.
std::string format_in(const WordList& words, std::size_t i, std::size_t n) {
  const std::string mix = joined(words, i, n, '_'), row = joined(words, i, n, '-');
  if (is_gguf_mix(mix) && mix.find_first_of("0123456789") != std::string::npos && !dtype(row)) return "gguf:" + mix;
  for (const auto& [word, format] : other_words)
    if (row == word) return std::string(format);
  return dtype(row) ? row : "";
}

/// The words of a name, divided into formats, words that only imply a format, and all others.
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

/// Merges a method and a width into one format and, if a mix is named, removes the container's name.
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

/// A model with a preset's shape, whose weights are stored in other formats that its name does not state.
struct OtherModel {
  Text preset, word, stored;
};
constexpr std::array other_models{
    OtherModel{"kimi-k2", "thinking",
               "its experts in int4 with groups of 32 and other weights in bf16; pass --weight-precision "
               "bf16,experts=int4-g32 with 'kimi-k2', or use 'kimi-k2.5', which has these formats and a vision "
               "encoder"}};

/// Throws InputError if the name belongs to a model in other_models. Source: hub moonshotai/Kimi-K2-Thinking,
/// config.json, whose "quantization_config" packs the experts.
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

// ---- The table

/// The row's preset with the format `given` or, if that is empty, the row's format. Throws InputError if no preset
/// has the model's shape.
MeantModel from_row(Text name, const NamedModel& row, const std::string& given) {
  if (row.preset.empty())
    throw InputError(fmt::format("{}: {}{}", in_quotes(name), row.why,
                                 row.why.starts_with("closed") ? "" : "; pass its config.json or a model file"));
  MeantModel m{find_builtin(builtin_models(), row.preset)};
  m.format = !given.empty()            ? given
             : is_gguf_mix(row.format) ? "gguf:" + std::string(row.format)
                                       : std::string(row.format);
  m.origin = row.why;
  m.source = row.source.empty() ? "recalled" : row.source;
  return m;
}

/// The row for the name with its owner; if the table has no such row, the row for the name without an owner.
std::optional<NamedModel> row_of(const TypedName& t, const std::string& tag) {
  const std::string tail = t.name + (tag.empty() ? "" : ":" + tag);
  if (!t.owner.empty())
    if (std::optional<NamedModel> row = named_model(t.owner + "/" + tail)) return row;
  return named_model(tail);
}

/// The tag without words that name a format or do not affect the shape, such as "70b" for "70b-instruct-q4_K_M".
std::string size_in_tag(const SplitName& tag) {
  WordList sizes = tag.others;
  for (const Text idle : {"instruct", "chat", "text", "base", "it"}) take(sizes, idle);
  return joined(sizes, 0, sizes.size(), '-');
}

/// Throws InputError for the name of a family with several sizes. A name in Ollama's spelling ("llama3") is accepted
/// and refers to the default size.
void refuse_several_sizes(Text name, const TypedName& t) {
  if (!t.owner.empty() || !t.tag.empty() || spelling(name) == lower(name)) return;
  const std::vector<Text> sizes = tagged_presets(t.name);
  if (sizes.size() < 2) return;
  throw InputError(fmt::format("{} has several sizes; specify one of {}", in_quotes(name), fmt::join(sizes, ", ")));
}

std::optional<MeantModel> from_table(Text name, const TypedName& t) {
  refuse_several_sizes(name, t);
  if (const std::optional<NamedModel> row = named_model(name)) return from_row(name, *row, "");
  if (const std::optional<NamedModel> row = row_of(t, t.tag)) return from_row(name, *row, "");
  if (t.tag.empty()) return std::nullopt;
  const SplitName tag = split(t.tag);
  const std::string format = tag.formats.empty() ? "" : tag.formats.front();
  if (const std::optional<NamedModel> row = row_of(t, size_in_tag(tag))) return from_row(name, *row, format);
  return std::nullopt;
}

// ---- The words of a name

/// Whether a word is a release date: "2507", "0324", "20240806".
bool is_release_date(Text word) {
  return (word.size() == 4 || word.size() == 8) && word.find_first_not_of("0123456789") == Text::npos;
}

/// Whether a word is a number of parameters: "8b", "a3b", "0.6b", "270m".
bool is_size(Text word) {
  if (word.starts_with('a')) word.remove_prefix(1);
  if (!word.ends_with('b') && !word.ends_with('m')) return false;
  word.remove_suffix(1);
  return !word.empty() && word.find_first_not_of("0123456789.") == Text::npos;
}

/// The preset named by the words or, if there is no such preset, by the words without marks of a release. Dates are
/// dropped only if a size remains, since sizes of a family may differ between releases.
const Builtin* preset_of(WordList words) {
  const auto find = [](const WordList& w) { return find_meant(builtin_models(), joined(w, 0, w.size(), '-')); };
  if (const Builtin* preset = find(words)) return preset;
  constexpr std::array<Text, 6> marks{"dynamic", "preview", "imatrix", "i1", "ud", "unsloth"};
  const bool has_size = std::any_of(words.begin(), words.end(), is_size);
  std::erase_if(words, [&](const std::string& w) {
    return (has_size && is_release_date(w)) || std::find(marks.begin(), marks.end(), w) != marks.end();
  });
  return words.empty() ? nullptr : find(words);
}

/// Assumes the usual format if the name's only word about formats is "gguf", because such repositories contain files
/// in several formats. Returns whether it did.
bool assume_usual_gguf(SplitName& s) {
  if (!s.formats.empty() || s.open != WordList{"gguf"}) return false;
  s.open.clear();
  s.formats.emplace_back("gguf:q4_k_m");
  return true;
}

MeantModel from_words(Text name, const TypedName& t) {
  SplitName s = split(t.name + (t.tag.empty() ? "" : "-" + t.tag));
  join_pairs(s);
  const Builtin* preset = preset_of(s.others);
  if (preset == nullptr) return {};
  refuse_other_model(name, s.others, *preset);
  const bool is_assumed = assume_usual_gguf(s);
  check_formats(name, s, *preset);
  MeantModel m{preset, s.formats.empty() ? "" : s.formats.front()};
  if (is_assumed) m.origin = "a repository of GGUF files in several formats; q4_k_m is assumed";
  return m;
}

bool is_local_path(Text text) { return text.starts_with('.') || text.starts_with('/') || text.starts_with('~'); }

}  // namespace

MeantModel model_of_words(Text name) { return from_words(name, typed_name(name)); }

MeantModel meant_model(Text name) {
  if (const Builtin* preset = find_builtin(builtin_models(), name)) return {preset};
  if (name.empty() || is_local_path(name)) return {};
  const TypedName typed = typed_name(name);
  if (std::optional<MeantModel> m = from_table(name, typed)) return *m;
  return from_words(name, typed);
}

void take_named_format(ModelCard& card, Text name, const MeantModel& m) {
  const bool changes = !m.format.empty() && !is_stored_as(card, m.format);
  if (!m.origin.empty()) {
    card.origin = fmt::format("{}: {}", name, m.origin);
    card.caveats.push_back(
        fmt::format("{} is {}{}", in_quotes(name), m.origin, m.source.empty() ? "" : " (" + m.source + ")"));
  }
  if (!changes) return;
  card.weights = formats_called(card, m.format);
  card.products = std::nullopt;
  card.product_parts = NarrowParts::all();
  card.caveats.push_back(
      fmt::format("the name {} implies weights in {}, unless --weight-precision is set", in_quotes(name), m.format));
}

}  // namespace llmcalc
