#include "evidence/beyond_decoding.hpp"

#include <fmt/format.h>

#include <regex>

#include "evidence/words.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

/// All that a row tells in words, a clause each, where a share of 0 % is none.
std::string told_by(const InferenceRow& row) {
  static const std::regex none("(^|[^0-9.])0(?:\\.0{1,3})? ?%");
  return std::regex_replace(lower(fmt::format("{}; {}; {}", row.engine, row.notes, row.other_keys)), none, "$1no");
}

bool is_speculative(const Words& told) {
  return told.affirms_any({"speculative",
                           "speculation",
                           "spec decode",
                           "spec decoding",
                           "spec dec",
                           "specdec",
                           "mtp",
                           "nextn",
                           "next n",
                           "multi token prediction",
                           "draft model",
                           "draft tokens",
                           "drafter",
                           "draft heads",
                           "eagle",
                           "medusa",
                           "lookahead",
                           "prompt lookup",
                           "lookup decoding",
                           "n gram lookup",
                           "ngram lookup",
                           "n gram decoding",
                           "n gram drafts",
                           "ngram decoding",
                           "ngram drafts",
                           "suffix decoding",
                           "assisted generation",
                           "assisted decoding",
                           "acceptance length",
                           "acceptance rate",
                           "accept length",
                           "accepted length"});
}

/// "4P4D" counts instances of prefill and of decode.
bool is_disaggregated(const Words& told, const std::string& text) {
  static const std::regex instances("\\b[0-9]{1,3}p[0-9]{1,3}d\\b");
  return told.affirms_any({"disaggregated", "disaggregation", "disaggregate", "disagg", "pd separation",
                           "prefill decode separation", "separate prefill"}) ||
         std::regex_search(text, instances);
}

bool lies_on_host(const Words& told) {
  if (told.affirms_any({"cpu offload", "cpu offloading", "offload gb", "host offload", "ram offload", "disk offload",
                        "nvme offload", "ssd offload", "partial offload", "weight offloading", "expert offloading",
                        "kv offloading", "kv cache offload", "kv cache offloading", "experts on cpu",
                        "experts on the cpu", "cpu moe", "layers on cpu", "layers on the cpu"}))
    return true;
  for (const char* verb : {"offload", "offloaded", "offloading"})
    for (const char* place : {"cpu", "host", "ram", "system memory", "disk", "ssd", "nvme"})
      for (const char* joint : {"to", "to the", "on", "on the"})
        if (told.affirms(fmt::format("{} {} {}", verb, joint, place))) return true;
  return false;
}

/// A row that states the cached tokens is predicted with them.
bool hits_cache(const InferenceRow& row, const Words& told, const std::string& text) {
  static const std::regex share("[0-9] ?% (?:of [a-z ]{1,40})?(?:shared|cached|hits?)\\b");
  return !row.batch.cached_context &&
         (told.affirms_any({"prefix hit", "prefix hits", "cache hit", "cache hits", "hit rate", "cached prompt",
                            "cached prompts", "prompt cached", "prompts cached", "prompts are cached",
                            "prompts were cached", "shared prefix", "common prefix"}) ||
          std::regex_search(text, share));
}

}  // namespace

std::string beyond_decoding(const InferenceRow& row) {
  const std::string text = told_by(row);
  const Words told(text);
  if (told.affirms_any({"lora adapter", "lora adapters", "with lora"})) return "low-rank adapters are applied";
  if (is_speculative(told)) return "decoding is speculative";
  if (is_disaggregated(told, text)) return "prefill and decode ran on devices of their own";
  if (lies_on_host(told)) return "weights or caches lay on the host";
  if (hits_cache(row, told, text))
    return "the cache held prompts already, and the row does not state \"cached_context\"";
  return "";
}

}  // namespace llmcalc
