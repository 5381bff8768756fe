#include "evidence/convert/training/training_formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>

#include "evidence/convert/training/training_row.hpp"
#include "evidence/convert/words/adapter_words.hpp"
#include "evidence/names/words.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

bool is_said(const std::string& text, std::string_view words) { return text.find(words) != std::string::npos; }

/// Runs of letters and digits, in lower case.
std::vector<std::string> format_words(const std::string& text) {
  std::vector<std::string> out{""};
  for (const char c : lower(text))
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out.back() += c;
    else if (!out.back().empty())
      out.emplace_back();
  if (out.back().empty()) out.pop_back();
  return out;
}

/// A spelling of a format, and the format's name.
struct FormatSpelling {
  std::string_view spelled, format;
};
constexpr FormatSpelling format_spellings[] = {
    {"bf16", "bf16"},  {"bfloat16", "bf16"}, {"fp16", "fp16"},   {"float16", "fp16"}, {"f16", "fp16"},
    {"fp32", "fp32"},  {"float32", "fp32"},  {"f32", "fp32"},    {"tf32", "tf32"},    {"fp8", "fp8"},
    {"float8", "fp8"}, {"f8", "fp8"},        {"mxfp8", "mxfp8"}, {"mxfp4", "mxfp4"},  {"nvfp4", "nvfp4"},
    {"e4m3", "fp8"},   {"e5m2", "fp8"},      {"fp4", "nvfp4"},
};

/// Part of a word that looks like a number format: kind and bits.
std::string format_in(const std::string& word) {
  static const std::regex look("^(?:(?:nv|mx)?(?:bf|bfloat|tf|fp|f|float|int|uint)[0-9]{1,3}|e4m3|e5m2)");
  std::smatch found;
  return std::regex_search(word, found, look) ? found[0].str() : "";
}

const FormatSpelling* spelled_format(const std::string& format) {
  const auto* found = std::find_if(std::begin(format_spellings), std::end(format_spellings),
                                   [&](const FormatSpelling& f) { return f.spelled == format; });
  return found == std::end(format_spellings) ? nullptr : found;
}

bool names_a_format(const std::string& text) {
  const std::vector<std::string> all = format_words(text);
  return std::any_of(all.begin(), all.end(), [](const std::string& w) { return !format_in(w).empty(); });
}

/// The text in lower case with canonical format names: "bfloat16" becomes "bf16".
std::string in_own_names(const std::string& text) {
  std::string out = lower(text);
  for (const auto& [said, format] :
       {std::pair{"bfloat16", "bf16"}, {"float16", "fp16"}, {"float32", "fp32"}, {"float8", "fp8"}})
    for (std::size_t at = out.find(said); at != std::string::npos; at = out.find(said))
      out.replace(at, std::string_view(said).size(), format);
  return out;
}

/// A format in a row's text, and its use.
struct NamedFormat {
  std::string format;
  bool stored = false;  ///< whether the format is for stored or sent tensors, not for matmuls: "fp32 master weights"
};

/// Whether a word after a format indicates that the format is for stored or sent tensors.
bool is_of_storage(const std::string& word) {
  constexpr std::array stored{"master", "main",      "param",     "params",        "parameter", "parameters",
                              "weight", "weights",   "gradient",  "gradients",     "grad",      "grads",
                              "accum",  "optimizer", "state",     "states",        "moment",    "moments",
                              "reduce", "reduction", "allgather", "communication", "comm",      "accumulation",
                              "all",    "residual",  "residuals", "copy",          "sharded",   "checkpoint"};
  return std::find(stored.begin(), stored.end(), word) != stored.end();
}

/// Whether a word after a format qualifies it.
bool goes_on(const std::string& word) { return word == "e4m3" || word == "e5m2" || word == "fsdp"; }

/// Adds the formats named in a clause.
void add_formats(const std::string& clause, const Words& whole, std::vector<NamedFormat>& out) {
  const std::vector<std::string> words = format_words(clause);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const FormatSpelling* f = spelled_format(format_in(words[i]));
    if (f == nullptr || whole.denies(words[i])) continue;
    std::size_t next = i + 1;
    while (next < words.size() && goes_on(words[next])) ++next;
    out.push_back({std::string(f->format), next < words.size() && is_of_storage(words[next])});
  }
}

/// Formats in the text, in order, except denied ones ("no fp8").
std::vector<NamedFormat> named_formats(const std::string& said) {
  const std::string text = in_own_names(said);
  const Words whole(text);
  std::vector<NamedFormat> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(",;+()/", at), text.size());
    add_formats(text.substr(at, end - at), whole, out);
    at = end + 1;
  }
  return out;
}

/// Formats from the narrowest to the widest. Matmuls run in the narrowest stated format that is not for storage.
constexpr std::array by_width{"nvfp4", "mxfp4", "mxfp8", "fp8", "bf16", "fp16", "tf32", "fp32"};

/// Narrowest format in `named` with this `stored` flag and at least `least_bits` bits; empty if no format qualifies.
std::string narrowest(const std::vector<NamedFormat>& named, bool stored, double least_bits) {
  for (const char* format : by_width)
    for (const NamedFormat& n : named)
      if (n.stored == stored && n.format == format && bits_per_weight(*dtype(format)) >= least_bits) return format;
  return "";
}

/// Formats of matmuls and of all other operations, from the formats in a row's text. Empty if the text names no
/// formats.
struct ProductFormats {
  std::string products, others;
};
ProductFormats product_formats(const std::vector<NamedFormat>& named) {
  ProductFormats f{narrowest(named, false, 0), narrowest(named, false, 16)};
  if (f.others.empty()) f.others = narrowest(named, true, 16);
  if (f.products.empty()) f.products = f.others.empty() ? narrowest(named, true, 0) : f.others;
  return f;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  const std::vector<std::string> near = nearest(word, known, 1);
  return near.empty() ? "" : fmt::format(", did you mean \"{}\"?", near[0]);
}

/// Whether a format is used only for frozen weights under adapters; no matmuls run in these formats.
bool is_of_frozen(const std::string& format) { return format == "int4" || format == "int8" || format == "fp4"; }

/// Message about an unknown format in the text; empty if all are known. `of_frozen`: formats of frozen weights are
/// accepted.
std::string unknown_precision(const std::string& said, bool of_frozen) {
  std::vector<std::string> known;
  for (const FormatSpelling& f : format_spellings)
    if (f.spelled != "fp4") known.emplace_back(f.spelled);
  for (const std::string& word : format_words(said))
    if (const std::string format = format_in(word);
        !format.empty() && spelled_format(format) == nullptr && !(of_frozen && is_of_frozen(format)))
      return fmt::format("unknown training precision {}{}", in_quotes(format), did_you_mean(format, known));
  return "";
}

/// Whether a word in text about an optimizer is a qualifier rather than the optimizer's name.
bool is_beside_optimizer(const std::string& word) {
  constexpr std::array beside{"fused", "distributed", "sharded", "optimizer", "apex", "default",
                              "not",   "stated",      "8bit",    "8",         "bit"};
  return std::find(beside.begin(), beside.end(), word) != beside.end();
}
/// An optimizer without a plan option, and a supported one with the same number of states and, except for per-layer
/// norms, the same work.
struct LikeOptimizer {
  std::string_view name;
  Optimizer like;
};
constexpr std::array like_optimizers{LikeOptimizer{"lamb", Optimizer::adam}, LikeOptimizer{"sophia", Optimizer::adam},
                                     LikeOptimizer{"lars", Optimizer::momentum},
                                     LikeOptimizer{"adagrad", Optimizer::momentum},
                                     LikeOptimizer{"rmsprop", Optimizer::momentum}};

/// Finds an optimizer by the end of a word: "FusedLAMB" is LAMB. Null if the word names no such optimizer.
const LikeOptimizer* like_optimizer(const std::string& word) {
  const auto* found = std::find_if(like_optimizers.begin(), like_optimizers.end(),
                                   [&](const LikeOptimizer& l) { return word.ends_with(l.name); });
  return found == like_optimizers.end() ? nullptr : found;
}

bool is_optimizer(const std::string& word) {
  return is_said(word, "adam") || parse<Optimizer>(word).has_value() || like_optimizer(word) != nullptr;
}

std::string unknown_optimizer(const std::string& said) {
  const std::vector<std::string> all = format_words(said);
  const auto first = std::find_if_not(all.begin(), all.end(), is_beside_optimizer);
  if (first == all.end() || std::any_of(all.begin(), all.end(), is_optimizer)) return "";
  std::vector<std::string> known;
  for (const auto& [which, name] : choices<Optimizer>) known.emplace_back(name);
  return fmt::format("unknown optimizer {}{}", in_quotes(said), did_you_mean(*first, known));
}

/// Whether the text calls fp16 "half", as PyTorch does.
bool is_half(const std::string& text) { return Words(text).affirms("half"); }

void note_unstated_format(const TrainingRow& row, const Plan& plan, Assumptions& assumed) {
  if (names_a_format(row.precision) || is_half(row.precision)) return;
  assumed.weigh(row.precision.empty()
                    ? fmt::format("matmuls in {}: the row does not state the precision", plan.precision.name())
                    : fmt::format("matmuls in {}: the precision {} names no number format", plan.precision.name(),
                                  in_quotes(row.precision)));
}

void use_like_optimizer(const std::string& said, Plan& plan, Assumptions& assumed) {
  for (const std::string& word : format_words(said))
    if (const LikeOptimizer* l = like_optimizer(word)) {
      plan.optimizer = l->like;
      assumed.note(
          fmt::format("optimizer states of {}, equal in number to the states of {}", name(l->like), in_quotes(said)));
    }
}

/// Sets the format of the moments if the optimizer's description states it ("bf16 moments"). A "precision-aware"
/// optimizer (Megatron-Core) has low-precision moments.
void use_moments(const std::string& said, Plan& plan, Assumptions& assumed) {
  const Words words(said);
  const bool aware = words.affirms("precision aware");
  if (!aware && !words.affirms_any({"moments", "states"})) return;
  const std::string format = narrowest(named_formats(said), true, 0);
  if (!format.empty()) plan.state_precision = *dtype(format);
  if (aware && format.empty())
    assumed.weigh("moments in fp32: the row does not state the formats of the precision-aware optimizer");
}

/// Whether the run used one of NVIDIA's performance scripts, which reduce gradients in 16 bits and gather weights in
/// fp8 (NeMo and Megatron-Bridge, scripts/performance: grad_reduce_in_fp32 = False, fp8_param_gather = True;
/// Megatron-LM, examples/llama: --grad-reduce-in-bf16, --fp8-param-gather).
bool is_performance_script(const TrainingRow& row, const Stack& stack) {
  const std::string family = lower(row.family);
  return stack.name == "nemo" || is_said(family, "megatron-bridge") || is_said(family, "megatron-lm llama example");
}

}  // namespace

std::string unknown_formats(const TrainingRow& row) {
  const std::string precision = unknown_precision(row.precision, trains_adapters(row));
  return precision.empty() ? unknown_optimizer(row.optimizer) : precision;
}

void use_formats(const TrainingRow& row, const HardwareCard& hardware, Plan& plan, Assumptions& assumed) {
  const Device& device = hardware.cluster.device;
  std::vector<NamedFormat> all = named_formats(row.precision);
  if (trains_adapters(row))
    std::erase_if(all, [](const NamedFormat& n) { return n.format == "nvfp4"; });  // it is the format of frozen weights
  const ProductFormats named = product_formats(all);
  const bool half = is_half(row.precision) || named.others == "fp16";
  const bool has_bf16 = device.peak(dtypes::bf16).value > 0, has_fp16 = device.peak(dtypes::fp16).value > 0;
  plan.working = (half && has_fp16) || !has_bf16 ? dtypes::fp16 : dtypes::bf16;
  if (half && !has_fp16) assumed.note(fmt::format("matmuls in bf16: {} does not support fp16", hardware.title));
  if (!named.others.empty() && !half && (has_bf16 || named.others != "bf16")) plan.working = *dtype(named.others);
  const bool same = named.products.empty() || named.products == named.others;
  plan.precision = same ? plan.working : *dtype(named.products);
  plan.weight_precision = working_format(plan);
  plan.kv_precision = working_format(plan);
  note_unstated_format(row, plan, assumed);
}

void use_states(const TrainingRow& row, const Stack& stack, Plan& plan, Assumptions& assumed) {
  const std::string text = in_own_names(row.precision), notes = lower(row.notes);
  const bool pure = is_said(text, "optimizer states") || is_said(text, "pure bf16") || is_said(text, "adamw states");
  if (pure) {
    plan.master = false;
    plan.state_precision = dtypes::bf16;
  }
  const bool said_wide = is_said(text, "fp32 gradient") || is_said(text, "accumulated in fp32");
  const bool said_narrow = is_said(text, "accumulated in fp16") || is_said(notes, "bf16 gradient reduction");
  const bool megatron_half = stack.name.starts_with("megatron") && is_said(text, "fp16");
  const bool narrow = pure || said_narrow || megatron_half, script = is_performance_script(row, stack);
  if (!said_wide && (narrow || script)) plan.gradient_bytes = 2;
  if (!said_wide && script && !narrow)
    assumed.note("gradients reduced in 16 bits, as the performance scripts of the stack set");
  if (script && plan.precision == *dtype("fp8") && !trains_adapters(row)) plan.weight_precision = plan.precision;
  const std::string optimizer = lower(row.optimizer) + (is_said(notes, "8-bit adam") ? "8bit" : "");
  for (const auto& [word, which] : {std::pair{"8bit", Optimizer::adam8bit},
                                    {"8-bit", Optimizer::adam8bit},
                                    {"adafactor", Optimizer::adafactor},
                                    {"lion", Optimizer::lion},
                                    {"momentum", Optimizer::momentum},
                                    {"sgd", Optimizer::sgd},
                                    {"muon", Optimizer::muon}})
    if (is_said(optimizer, word)) plan.optimizer = which;
  use_like_optimizer(row.optimizer, plan, assumed);
  use_moments(row.optimizer, plan, assumed);
}

}  // namespace llmcalc
