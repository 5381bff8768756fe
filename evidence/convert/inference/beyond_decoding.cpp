#include "evidence/convert/inference/beyond_decoding.hpp"

#include <fmt/format.h>

#include <regex>

#include "evidence/convert/inference/inference_row.hpp"
#include "evidence/convert/row_arch.hpp"
#include "evidence/names/words.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

/// A row's engine, notes and other keys in lower case, joined by semicolons, with "0 %" replaced by "no".
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

/// Whether prefill and decode run on separate instances. "4P4D" states the number of instances of each kind.
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

/// Whether prompts hit the cache in a row that does not state its cached tokens. For rows that do, the prediction
/// includes these tokens.
bool hits_cache(const InferenceRow& row, const Words& told, const std::string& text) {
  static const std::regex share("[0-9] ?% (?:of [a-z ]{1,40})?(?:shared|cached|hits?)\\b");
  return !row.batch.cached_context &&
         (told.affirms_any({"prefix hit", "prefix hits", "cache hit", "cache hits", "hit rate", "cached prompt",
                            "cached prompts", "prompt cached", "prompts cached", "prompts are cached",
                            "prompts were cached", "shared prefix", "common prefix"}) ||
          std::regex_search(text, share));
}

constexpr std::string_view speculative = "decoding was speculative",
                           on_host = "weights or caches were offloaded to the host",
                           adapters = "low-rank adapters were applied",
                           disaggregated = "prefill and decode ran on separate devices";

std::string told_beyond(const Words& told, const std::string& text) {
  if (is_speculative(told)) return std::string(speculative);
  if (is_disaggregated(told, text)) return std::string(disaggregated);
  return lies_on_host(told) ? std::string(on_host) : "";
}

/// An engine option that enables work beyond plain decoding. `why`: a clause that describes this work; `usual`: the
/// value that disables it.
struct OptionBeyond {
  std::string_view key, why, usual = "false";
};
constexpr OptionBeyond options_beyond[] = {
    {"speculative_config", speculative},
    {"speculative_model", speculative},
    {"num_speculative_tokens", speculative},
    {"speculative_algorithm", speculative},
    {"cpu_offload_gb", on_host},
    {"kv_offloading_size", on_host},
    {"enable_lora", adapters},
    {"lora_modules", adapters},
    {"kv_transfer_config", "keys and values are transferred from or to another engine"},
    {"preemption_mode", "preempted requests are swapped to host memory", "recompute"},
    {"scheduling_policy", "requests have priorities, which a recorded run does not contain", "fcfs"},
};

/// Whether an option is off: missing, null, false, 0 or the usual value.
bool is_off(const std::string& said, std::string_view usual) {
  return said.empty() || Words(said).says_no() || same_name(said, usual) ||
         said.find_first_not_of("0.") == std::string::npos;
}

/// Drafts per pass, and their acceptance, of rows that state only that MTP modules draft: two, as between one and three
/// in recipes; DeepSeek-V3 (arXiv:2412.19437, 5.4.3) accepts 85 to 90 % of first drafts.
constexpr Count usual_drafts = 2;
constexpr double usual_acceptance = 0.8;

}  // namespace

void use_drafts(const InferenceRow& row, InferenceCase& c) {
  if (row.speculative != "mtp") return;
  c.plan.mtp = 1;
  c.arch.mtp = modules_like_last_layer(c.arch, c.plan.mtp);
  c.drafts = usual_drafts;
  c.acceptance = usual_acceptance;
  c.input_assumed = true;
  c.assumed.push_back(
      fmt::format("{} drafts per pass by an MTP module, each accepted with probability {}: the row states neither",
                  c.drafts, c.acceptance));
}

std::string beyond_decoding(const InferenceRow& row) {
  const std::string text = told_by(row);
  const Words told(text);
  if (told.affirms_any({"lora adapter", "lora adapters", "with lora"})) return std::string(adapters);
  if (const std::string why = told_beyond(told, text); !why.empty()) return why;
  if (hits_cache(row, told, text)) return "prompts were already cached, but the row does not state \"cached_context\"";
  return "";
}

std::string beyond_decoding(const RowObject& engine) {
  std::string why;
  for (const OptionBeyond& o : options_beyond)
    if (!is_off(engine.said(o.key), o.usual) && why.empty()) why = fmt::format("{} ({})", o.why, in_quotes(o.key));
  const std::string text = lower(engine.finish());
  return why.empty() ? told_beyond(Words(text), text) : why;
}

}  // namespace llmcalc
