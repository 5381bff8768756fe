#include "learn/text_steps.hpp"

#include <fmt/format.h>

#include <array>
#include <unordered_map>

#include "text/json_text.hpp"
#include "text/names.hpp"
#include "text/utf8.hpp"

namespace llmcalc::model {
namespace {

using Pieces = std::vector<std::string>;
using Ranges = std::vector<std::pair<std::size_t, std::size_t>>;

[[noreturn]] void refuse_step(const json::Object& o, const std::string& what) {
  throw InputError(
      fmt::format("{}: {} is not supported; use a GPT-2, Llama, Qwen or Gemma tokenizer", o.where(), what));
}

std::string step_type(const json::Object& o) { return o.text("type"); }

/// Maximum number of normalizers, and of pre-tokenizers, in a file, and maximum length in bytes of the string that a
/// step searches for. Known tokenizers are far below these limits, which prevent a file from turning a few kilobytes of
/// text into hours of work.
constexpr std::size_t most_steps = 64, longest_looked_for = 1000;

/// Returns the string that a step searches for.
std::string looked_for(const json::Object& pattern, const char* kind, const json::Object& o) {
  std::string text = json::raw_text(pattern, "String");
  if (text.empty()) refuse_step(o, fmt::format("a {} an empty text", kind));
  if (text.size() > longest_looked_for) refuse_step(o, fmt::format("a {} {} bytes", kind, text.size()));
  return text;
}

// ---- Normalizers

/// Maximum number of bytes that normalizers may produce. NFKC expands U+FDFA from 3 bytes to 33; writing spaces as
/// U+2581 makes it 39.
std::size_t most_normalized(std::size_t bytes) { return 16 * bytes + 4096; }

void refuse_beyond(std::size_t most, std::size_t bytes) {
  if (bytes > most)
    throw InputError(
        fmt::format("the tokenizer's normalizers expand a part of this text to more than {} bytes, unlike any known "
                    "tokenizer; use a different tokenizer",
                    most));
}

std::string replaced(const std::string& text, const std::string& from, const std::string& to, std::size_t most) {
  std::string out;
  std::size_t begin = 0;
  for (std::size_t at = 0; (at = text.find(from, begin)) != std::string::npos; begin = at + from.size()) {
    out.append(text, begin, at - begin).append(to);
    refuse_beyond(most, out.size());
  }
  return out.append(text, begin);
}

void add_normalizer(TextSteps& steps, const json::Object& o) {
  if (steps.normalizers.size() == most_steps) refuse_step(o, fmt::format("more than {} normalizers", most_steps));
  const std::string type = step_type(o);
  if (type == "Sequence")
    return each_object(o, "normalizers", [&](const json::Object& part) { add_normalizer(steps, part); });
  if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") {
    steps.normalizers.emplace_back([type](const std::string& text, std::size_t) { return normal_form(text, type); });
  } else if (type == "Prepend") {
    steps.normalizers.emplace_back([before = json::raw_text(o, "prepend")](const std::string& text, std::size_t) {
      return text.empty() ? text : before + text;
    });
  } else if (type == "Replace" && o.object("pattern").has("String")) {
    const std::string from = looked_for(o.object("pattern"), "replacement of", o);
    steps.normalizers.emplace_back(
        [from, to = json::raw_text(o, "content")](const std::string& text, std::size_t most) {
          return replaced(text, from, to, most);
        });
  } else {
    refuse_step(o, "the normalizer " + in_quotes(type));
  }
}

// ---- Pre-tokenizers

enum class Kept : std::uint8_t { isolated, removed, with_previous };

Kept kept(const json::Object& o) {
  const std::string behavior = o.text("behavior");
  if (behavior == "Isolated") return Kept::isolated;
  if (behavior == "Removed") return Kept::removed;
  if (behavior == "MergedWithPrevious") return Kept::with_previous;
  refuse_step(o, "the behavior " + in_quotes(behavior));
}

/// Splits the text at the matches or, if `invert` is set, at the parts between them.
Pieces cut(const std::string& text, const Ranges& matches, Kept how, bool invert) {
  Pieces all;
  bool after_match = false;
  const auto add = [&](std::size_t first, std::size_t end, bool is_match) {
    if (first == end) return;
    const std::string piece = text.substr(first, end - first);
    if (is_match && how == Kept::with_previous && !after_match && !all.empty())
      all.back() += piece;
    else if (!is_match || how != Kept::removed)
      all.push_back(piece);
    after_match = is_match;
  };
  std::size_t at = 0;
  for (const auto& [first, end] : matches) {
    add(at, first, invert);
    add(first, end, !invert);
    at = end;
  }
  add(at, text.size(), invert);
  return all;
}

Ranges places(const std::string& text, const std::string& of) {
  Ranges all;
  for (std::size_t at = 0; (at = text.find(of, at)) != std::string::npos; at += of.size())
    all.emplace_back(at, at + of.size());
  return all;
}

/// hf tokenizers, pre_tokenizers/byte_level.rs: GPT-2's pattern.
constexpr std::string_view gpt2_pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

Cutter cutter_of(const json::Object& o) {
  const json::Object pattern = o.object("pattern");
  const Kept how = kept(o);
  const bool invert = o.flag_or("invert", false);
  if (pattern.has("Regex"))
    return
        [p = Pattern(json::raw_text(pattern, "Regex"), o.where()), how, invert](
            const std::string& text, bool, MatchSteps& left) { return cut(text, p.matches(text, left), how, invert); };
  const std::string plain = looked_for(pattern, "split at", o);
  return [plain, how, invert](const std::string& text, bool, MatchSteps&) {
    return cut(text, places(text, plain), how, invert);
  };
}

void add_byte_level(TextSteps& steps, const json::Object& o) {
  steps.bytewise = true;
  if (o.flag_or("add_prefix_space", true))
    steps.cutters.emplace_back(
        [](const std::string& text, bool, MatchSteps&) { return Pieces{text.starts_with(' ') ? text : " " + text}; });
  if (o.flag_or("use_regex", true))
    steps.cutters.emplace_back([p = Pattern(gpt2_pattern, o.where())](const std::string& text, bool, MatchSteps& left) {
      return cut(text, p.matches(text, left), Kept::isolated, false);
    });
}

/// Splits off runs of digits or, if so configured, single digits (pre_tokenizers/digits.rs). A digit is any character
/// that Unicode classifies as a number.
Cutter digit_cutter(const json::Object& o) {
  return [p = Pattern(o.flag_or("individual_digits", false) ? R"(\p{N})" : R"(\p{N}+)", o.where())](
             const std::string& text, bool, MatchSteps& left) {
    return cut(text, p.matches(text, left), Kept::isolated, false);
  };
}

/// Replaces spaces with U+2581, prepends one if prepended() requires it, and splits before each one if the file has
/// "split" (pre_tokenizers/metaspace.rs).
Cutter metaspace_cutter(const json::Object& o) {
  const std::string mark = json::raw_text(o, "replacement");
  if (mark.empty() || character_length(mark, 0) != mark.size())
    refuse_step(o, "a replacement that is not one character");
  return
      [mark, where = prepended(o), cuts = o.flag_or("split", true)](const std::string& piece, bool first, MatchSteps&) {
        std::string text = replaced(piece, " ", mark, mark.size() * piece.size());
        const bool puts = where == Prepended::always || (where == Prepended::first && first);
        if (puts && !text.starts_with(mark)) text = mark + text;
        if (!cuts) return Pieces{text};
        Pieces all;
        std::size_t begin = 0;
        for (const auto& [at, end] : places(text, mark)) {
          if (at > begin) all.push_back(text.substr(begin, at - begin));
          begin = at;
        }
        if (begin < text.size()) all.push_back(text.substr(begin));
        return all;
      };
}

void add_cutter(TextSteps& steps, const json::Object& o) {
  const std::string type = step_type(o);
  if (steps.cutters.size() >= most_steps) refuse_step(o, fmt::format("more than {} pre-tokenizers", most_steps));
  if (steps.bytewise) refuse_step(o, "a pre-tokenizer after \"ByteLevel\"");
  if (type == "Sequence")
    return each_object(o, "pretokenizers", [&](const json::Object& part) { add_cutter(steps, part); });
  if (type == "ByteLevel") return add_byte_level(steps, o);
  if (type == "Digits") return steps.cutters.push_back(digit_cutter(o));
  if (type == "Metaspace") return steps.cutters.push_back(metaspace_cutter(o));
  if (type != "Split") refuse_step(o, "the pre-tokenizer " + in_quotes(type));
  steps.cutters.push_back(cutter_of(o));
}

/// The character for each byte (GPT-2, encoder.py, bytes_to_unicode): a printable byte represents itself; any other
/// byte is represented by a character from U+0100 on.
std::array<std::string, 256> byte_letters() {
  std::array<std::string, 256> letters;
  unsigned other = 0x100;
  for (unsigned b = 0; b < 256; ++b) {
    const bool printable = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
    const unsigned code = printable ? b : other++;
    if (code < 0x80)
      letters[b] = static_cast<char>(code);
    else
      letters[b] = {static_cast<char>(0xc0U | code >> 6U), static_cast<char>(0x80U | (code & 0x3fU))};
  }
  return letters;
}

}  // namespace

std::string bytes_of_letters(const std::string& letters) {
  static const std::unordered_map<std::string, char> bytes = [] {
    std::unordered_map<std::string, char> all;
    const std::array<std::string, 256> of_byte = byte_letters();
    for (std::size_t b = 0; b < 256; ++b) all.emplace(of_byte[b], static_cast<char>(static_cast<unsigned char>(b)));
    return all;
  }();
  std::string out;
  for (std::size_t at = 0; at < letters.size();) {
    const std::size_t n = character_length(letters, at);
    const auto byte = bytes.find(letters.substr(at, n));
    if (n == 0 || byte == bytes.end()) return letters;
    out += byte->second;
    at += n;
  }
  return out;
}

std::string TextSteps::normalized(std::string text) const {
  const std::size_t most = most_normalized(text.size());
  for (const Normalizer& n : normalizers) {
    text = n(text, most);
    refuse_beyond(most, text.size());
  }
  return text;
}

Prepended prepended(const json::Object& o) {
  const std::string scheme = o.text_or("prepend_scheme", o.flag_or("add_prefix_space", true) ? "always" : "never");
  if (scheme == "always") return Prepended::always;
  if (scheme == "first") return Prepended::first;
  if (scheme == "never") return Prepended::never;
  refuse_step(o, "the scheme " + in_quotes(scheme));
}

void each_object(const json::Object& o, std::string_view key, const std::function<void(const json::Object&)>& f) {
  const json::Value* list = o.find(key);
  if (list == nullptr || !list->is_array())
    throw InputError(fmt::format("{}, {}: expected a list", o.where(), in_quotes(key)));
  for (const json::Value& v : *list) f(json::Object(v, fmt::format("{}, {}", o.where(), in_quotes(key))));
}

std::vector<std::string> TextSteps::pieces(const std::string& text, bool first, MatchSteps& left) const {
  if (text.empty()) return {};
  Pieces all{text};
  for (const Cutter& c : cutters) {
    Pieces smaller;
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::string& part : c(all[i], first && i == 0, left)) smaller.push_back(std::move(part));
    all = std::move(smaller);
  }
  return all;
}

TextSteps text_steps(const json::Object& file) {
  TextSteps steps;
  if (file.has("normalizer")) add_normalizer(steps, file.object("normalizer"));
  if (file.has("pre_tokenizer")) add_cutter(steps, file.object("pre_tokenizer"));
  return steps;
}

}  // namespace llmcalc::model
