#include "evidence/convert/attention_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <regex>

#include "evidence/names/words.hpp"
#include "text/leading_number.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

bool mentions_word(const std::string& text, std::string_view word) { return text.find(word) != std::string::npos; }

/// Numbers matched by the two groups of a pattern; 0 for a group without a match.
struct TwoNumbers {
  Count first = 0, second = 0;
};
TwoNumbers numbers_in(const std::string& text, const char* pattern) {
  std::smatch found;
  if (!std::regex_search(text, found, std::regex(pattern))) return {};
  const auto number = [&](std::size_t i) { return i < found.size() && found[i].matched ? leading_whole(found[i]) : 0; };
  return {number(1), number(2)};
}

/// Number of local layers in a repeating group of `of` layers.
struct LocalShare {
  Count local = 0, of = 0;
};

/// Share of local layers, derived from text about the layers with full attention: "every 6th layer global", "1 of 4
/// layers is full".
LocalShare share_by_global(const std::string& text) {
  const TwoNumbers every =
      numbers_in(text, "every ([0-9]{1,3})(?:st|nd|rd|th)? (?:layers?|blocks?)[a-z ]*(?:global|full|dense)");
  if (every.first > 1) return {every.first - 1, every.first};
  const TwoNumbers global =
      numbers_in(text,
                 "([0-9]{1,3}) (?:global |full )?(?:layers? )?(?:of|in|per|every) (?:every )?([0-9]{1,3})(?: layers?)?"
                 "(?: is| are)?(?: global| full)");
  if (global.first > 0 && global.second > global.first) return {global.second - global.first, global.second};
  const TwoNumbers behind = numbers_in(text, "(?:global|full)[a-z ]* every ([0-9]{1,3})");
  if (behind.first > 1) return {behind.first - 1, behind.first};
  const TwoNumbers per = numbers_in(text, "([0-9]{1,3}) (?:global|full)(?: layers?)? (?:of|in|per|every) ([0-9]{1,3})");
  return per.first > 0 && per.second > per.first ? LocalShare{per.second - per.first, per.second} : LocalShare{};
}

LocalShare local_share(const std::string& text) {
  if (const TwoNumbers n = numbers_in(text, "([0-9]{1,3}) *(?:local|sliding)? *: *([0-9]{1,3})");
      n.first > 0 && n.second > 0)
    return {n.first, n.first + n.second};
  if (const LocalShare share = share_by_global(text); share.of > 0) return share;
  if (const TwoNumbers n = numbers_in(text, "([0-9]{1,3}) of (?:every )?([0-9]{1,3}) layers");
      n.first > 0 && n.second > 0)
    return {n.first, n.second};
  if (const TwoNumbers n = numbers_in(text, "^ *([0-9]{1,2}) *$"); n.first > 0)
    return n.first == 1 ? LocalShare{1, 1} : LocalShare{n.first - 1, n.first};
  if (mentions_word(text, "alternat") || mentions_word(text, "every other") || mentions_word(text, "every second") ||
      mentions_word(text, "half"))
    return {1, 2};
  const bool all = mentions_word(text, "all layers") || mentions_word(text, "every layer") || text == "all";
  return all ? LocalShare{1, 1} : LocalShare{};
}

Count reach_in(const std::string& text, Count window) {
  const TwoNumbers behind =
      numbers_in(text, "(?:window|windows|chunked attention|chunk|swa|local attention|local)[ (of:=]*([0-9]{2,7})\\b");
  if (behind.first > 0) return behind.first;
  const TwoNumbers before =
      numbers_in(text, "([0-9]{3,7})[ -](?:token |tokens )?(?:sliding |attention )?(?:window|chunk)");
  return before.first > 0 ? before.first : window;
}

LocalAttention of_layers(const LocalShare& share, Count reach, bool chunked, Count layers) {
  LocalAttention local;
  if (share.of == 0 || reach == 0) return local;
  for (Count i = 0; i < layers; ++i)
    if (i % share.of < share.local) local.layers.insert(i);
  local.reach = {reach, chunked};
  return local;
}

/// Whether every word either means attention over all tokens or does not affect a layer's work.
bool is_whole(const Words& words) {
  constexpr std::array<std::string_view, 31> known{
      "full", "causal",  "global",   "gqa",   "mha",       "mqa",    "mla",    "multi", "head",    "grouped", "query",
      "self", "softmax", "standard", "dense", "attention", "latent", "scaled", "dot",   "product", "nope",    "rope",
      "all",  "layers",  "every",    "with",  "bias",      "qk",     "norm",   "and",   "attn"};
  return std::all_of(words.all().begin(), words.all().end(), [&](const std::string& word) {
    const bool number = word.find_first_not_of("0123456789") == std::string::npos;
    return number || std::find(known.begin(), known.end(), word) != known.end();
  });
}

bool names_recurrence(const Words& words) {
  return words.affirms_any({"mamba", "ssm", "state space", "linear attention", "lightning", "deltanet", "delta net",
                            "retnet", "retention", "rwkv", "hybrid", "gla", "hyena", "recurrent", "kda", "gdn"});
}

bool names_window(const std::string& text) {
  return mentions_word(text, "window") || mentions_word(text, "swa") || mentions_word(text, "sliding") ||
         mentions_word(text, "local") || mentions_word(text, "chunk");
}

/// Sentence for the assumption that a row's window applies to every layer, with the reason.
std::string every_layer_sees(Count reach, const std::string& said, std::string_view key) {
  const std::string why = said.empty() ? "the row does not state which layers have it"
                                       : fmt::format("{} is {}", in_quotes(key), in_quotes(said));
  return fmt::format("a window of {} tokens in every layer: {}", reach, why);
}

}  // namespace

LocalAttention local_attention(std::string_view said, Count window, Count layers) {
  const std::string text = lower(said.substr(0, 500));
  return of_layers(local_share(text), reach_in(text, window), mentions_word(text, "chunk"), layers);
}

AttentionLayers attention_layers(const std::string& said, std::string_view key, Count window, Count layers) {
  const std::string text = lower(said.substr(0, 500));
  const Words words(text);
  AttentionLayers a;
  a.sinks = words.affirms_any({"sink", "sinks"});
  a.recurrent = names_recurrence(words);
  a.local = local_attention(said, window, layers);
  if (a.recurrent || !a.local.layers.empty()) return a;
  const bool no_window = words.says_no() || words.denies("window") || words.denies("sliding");
  const Count reach = reach_in(text, window);
  if (no_window || (is_whole(words) && window == 0)) return a;
  if (reach > 0 && (words.silent() || names_window(text) || window > 0)) {
    a.local = of_layers({1, 1}, reach, mentions_word(text, "chunk"), layers);
    a.assumed = every_layer_sees(reach, said, key);
  } else if (!words.silent()) {
    a.assumed = fmt::format("attention over all tokens in every layer: {} is {}, which is not recognized",
                            in_quotes(key), in_quotes(said));
  }
  return a;
}

}  // namespace llmcalc
