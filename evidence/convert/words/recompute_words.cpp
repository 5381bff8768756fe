#include "evidence/convert/words/recompute_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <regex>

#include "evidence/names/words.hpp"
#include "text/leading_number.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

bool has_part(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// The two numbers captured by a pattern; empty if the text does not match.
std::optional<std::pair<Count, Count>> numbers_of(const std::string& text, const char* pattern) {
  std::smatch found;
  if (!std::regex_search(text, found, std::regex(pattern))) return std::nullopt;
  const auto number = [&](std::size_t i) { return i < found.size() && found[i].matched ? leading_whole(found[i]) : 0; };
  return std::pair<Count, Count>(number(1), number(2));
}

/// n if the text states that one in n layers is recomputed: "every other layer", "every 3rd layer", "1 in 4 layers".
/// 1 if every layer is recomputed or the text has no such phrase.
Count step_told(const std::string& text) {
  if (has_part(text, "alternate layer") || has_part(text, "layer alternate") || has_part(text, "second layer") ||
      has_part(text, "other layer") || has_part(text, "other block"))
    return 2;
  if (const auto n = numbers_of(text, "every ([0-9]{1,3})(?:nd|rd|th)? (?:transformer )?(?:layer|block)"))
    return n->first;
  if (const auto n =
          numbers_of(text, "(?:ac|checkpoint(?:ing|s)?|recompute|remat) (?:every|in every) ([0-9]{1,3})(?:$|[^0-9])"))
    return n->first;
  if (const auto n = numbers_of(text, "(?:one|1) (?:in|of every|of each) ([0-9]{1,3})(?: layers| blocks|$)"))
    return n->first;
  return 1;
}

/// Fraction of all layers that the text states: "16 of 32 layers", "half of the layers", "25%".
std::optional<double> share_told(const std::string& text) {
  if (const auto n = numbers_of(text, "([0-9]{1,4}) ?(?:of|out of|/) ?(?:the )?([0-9]{1,4})(?: layers| blocks)");
      n && n->second > 0)
    return std::min(1.0, static_cast<double>(n->first) / static_cast<double>(n->second));
  if (const auto n = numbers_of(text, "([0-9]{1,4}) (?:out )?of (?:the )?([0-9]{1,4})(?:$|[^0-9])"); n && n->second > 1)
    return std::min(1.0, static_cast<double>(n->first) / static_cast<double>(n->second));
  if (const auto n = numbers_of(text, "([0-9]{1,3}) ?(?:%|percent)"))
    return std::min(1.0, 0.01 * static_cast<double>(n->first));
  if (has_part(text, "half of") || has_part(text, "half the")) return 0.5;
  return std::nullopt;
}

/// Number of layers in the text: "block, 4 layers", "method block, num-layers 8", "layers 0-15", "10 layers". 0 if
/// there is no number.
Count number_told(const std::string& text) {
  if (const auto range = numbers_of(text, "layers ([0-9]{1,4}) ?(?:-|to) ?([0-9]{1,4})"))
    return std::max<Count>(0, range->second - range->first + 1);
  if (const auto behind = numbers_of(text, "(?:layers|uniform|block|num-layers)[ ,=:(]*([0-9]{1,4})"))
    return behind->first;
  const auto before = numbers_of(text, "([0-9]{1,4}) (?:transformer )?(?:layers|blocks)");
  return before ? before->first : 0;
}

/// Reads the number of layers. With Megatron-LM's "uniform" it is the number of layers per group; with "block", the
/// number of recomputed layers per chunk.
void read_number(const std::string& text, Recomputed& r) {
  const bool uniform = has_part(text, "uniform");
  r.in_chunk = has_part(text, "block") && !has_part(text, "blocks") && !uniform;
  (uniform ? r.group : r.first) = number_told(text);
  r.group = std::max<Count>(1, r.group);
}

void read_layers(const std::string& text, Recomputed& r) {
  r.layers = true;
  r.layer_step = std::max<Count>(1, step_told(text));
  if (r.layer_step > 1) return;
  if (const auto share = share_told(text))
    r.share = *share;
  else
    read_number(text, r);
  if (r.share <= 0) r = {};
}

/// Reads the recomputed parts of a layer. "selective" without parts means Megatron-LM's selective recomputation,
/// which covers the attention core.
void read_selection(const std::string& text, Recomputed& r) {
  const bool saved_outputs = has_part(text, "linear-layer outputs") || has_part(text, "minimal");
  r.core = has_part(text, "attention core") || has_part(text, "core_attn") || has_part(text, "core attention") ||
           saved_outputs;
  r.norms = has_part(text, "norm") || saved_outputs;
  r.activations = has_part(text, "moe_act") || has_part(text, "swiglu") || has_part(text, "gelu") || saved_outputs;
  r.mlp = has_part(text, "ffn") || has_part(text, "mlp") || Words(text).affirms_any({"moe layer", "experts"}) ||
          (has_part(text, "moe") && !has_part(text, "moe_act"));
  r.up = has_part(text, "mla_up");
  r.alternate_products = has_part(text, "per-op") || has_part(text, "second matmul") || Words(text).has("sac op");
  if (const Count step = step_told(text); step > 1) {
    r.layers = true;
    r.layer_step = step;
  }
  if (!r.any()) r.core = true;
}

/// Whether the text names parts of a layer and implies that some of them are recomputed.
bool names_parts(const Words& words) {
  return words.affirms_any({"selective", "saves", "sac", "minimal", "core attn", "attention core", "core attention",
                            "attention only", "mlp", "ffn", "layernorm", "norm", "swiglu", "moe act"});
}

/// Whether the text describes the recomputation of whole layers or of parts.
bool names_layers(const Words& words) {
  return words.affirms_any({"full",
                            "all",
                            "every",
                            "each",
                            "layer",
                            "layers",
                            "block",
                            "uniform",
                            "recompute",
                            "recomputation",
                            "recomputed",
                            "checkpointing",
                            "checkpoint",
                            "checkpoints",
                            "remat",
                            "rematerialization",
                            "rematerialisation",
                            "true",
                            "yes",
                            "on",
                            "ac",
                            "save nothing",
                            "nothing saveable",
                            "partial",
                            "half"});
}

bool denies_all(const Words& words, const std::string& text) {
  return words.says_no() || text.starts_with("none") || text.starts_with("no ") || text.starts_with("everything") ||
         words.denies("recompute") || words.denies("recomputation") || words.denies("checkpointing") ||
         words.denies("remat");
}

/// Records an assumption if the text implies that layers are recomputed but does not state their number.
void note_open(const Words& words, const std::string& said, Recomputed& r) {
  if (words.affirms("partial") && r.every_layer()) {
    r.share = 0.5;
    r.assumed = fmt::format("half of the layers are recomputed: the row states {}", in_quotes(said));
  } else if (has_part(lower(said), "save_") && !words.has("save nothing")) {
    r.assumed = fmt::format("every layer is recomputed: the row says {}", in_quotes(said));
  }
}

}  // namespace

Recomputed recomputed_called(const std::string& said) {
  const std::string text = lower(said.substr(0, 500));
  const Words words(text);
  Recomputed r;
  if (words.silent()) {
    r.assumed = "nothing is recomputed, which the row does not state";
  } else if (has_part(text, "not read") || has_part(text, "selective/full")) {
    r.layers = true;
    r.assumed = "every layer is recomputed: the row says \"" + said + "\"";
  } else if (denies_all(words, text)) {
    return r;
  } else if (names_parts(words) && !text.starts_with("full")) {
    read_selection(text, r);
    if (has_part(text, "microbatch level")) r.assumed = "the attention core is recomputed in every micro-batch";
  } else if (names_layers(words) || has_part(text, "%")) {
    read_layers(text, r);
    note_open(words, said, r);
  } else {
    r.assumed = "no recomputation: the row's value is not recognized (\"" + said + "\")";
  }
  return r;
}

}  // namespace llmcalc
