#include "evidence/names/format_name.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <regex>

#include "evidence/names/format_words.hpp"
#include "evidence/names/words.hpp"
#include "presets/formats/gguf_mix.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

/// Pattern for a KV cache format in text about weights: "int8 KV", "KV cache in fp8", and the end of "W4A8KV4".
const std::regex& cache_in_addition() {
  static const std::regex pattern(
      "((?:bf|fp|int)[0-9]{1,2})[ _-]*kv(?:[ _-]*cache)?|"
      "\\bkv(?:[ _-]*cache)?(?:[ :=_-]|in)*((?:bf|fp|int)[0-9]{1,2})|(kv[48])\\b");
  return pattern;
}

/// KV cache format in text about weights. Empty if there is no such format.
std::string cache_in(const std::string& weights) {
  std::smatch found;
  if (!std::regex_search(weights, found, cache_in_addition())) return "";
  return found[1].matched ? found[1] : found[2].matched ? found[2] : found[3];
}

/// The format among `names` that is nearest in bits per weight.
template <std::size_t n>
DType format_with_bits(double bits, const std::array<const char*, n>& names) {
  DType best = *dtype(names[0]);
  for (const char* name : names)
    if (const DType t = *dtype(name); std::fabs(bits_per_weight(t) - bits) < std::fabs(bits_per_weight(best) - bits))
      best = t;
  return best;
}

/// Storage-only formats for files with any number of bits per weight. They also apply to the embedding tables.
constexpr std::array stored_bits{"q4_0", "q2_k", "q3_k", "int4", "q4_1", "q5_0", "q5_1", "q6_k", "q8_0"};
/// Formats for text that states only the number of bits: a whole number, or 1.58 for ternary weights.
constexpr std::array told_bits{"int4", "tq1_0", "iq2_xxs", "iq3_xxs", "q5_0", "q6_k", "int8-row"};

constexpr Component block_parts[] = {Component::attention, Component::mlp, Component::experts,
                                     Component::shared_experts};

void use_blocks(FormatsSaid& f, DType t) {
  for (const Component c : block_parts) f.weights[c] = t;
}
void use_tables(FormatsSaid& f, DType t) {
  for (const Component c : {Component::embedding, Component::lm_head}) f.weights[c] = t;
}

/// Sets the formats of llama.cpp's Q4_K_M, which stores half of the down projections in Q6_K. The MLP's mean of 4.84
/// bits is close to Q4_1's 5.
void mix_of_k_quants(FormatsSaid& f, const std::string& text) {
  if (!spells(text, "q4_k_m")) return;
  f.name = "q4_k_m";
  f.assumed.push_back("MLPs in Q4_K_M count as q4_1, which has 5 bits a weight: their mix of Q4_K and Q6_K has 4.84");
  for (const Component c : {Component::mlp, Component::experts, Component::shared_experts})
    f.weights[c] = *dtype("q4_1");
}

/// Format from stated bits per weight ("4bit", "1.58-bit"). The supported format may only approximate the stated
/// number, which includes scales and zeros.
std::optional<FormatName> format_by_bits(FormatsSaid& f, const std::string& text) {
  const std::optional<double> bits = number_before(text, "-?bits?\\b");
  if (!bits || *bits < 1 || *bits > 8) return std::nullopt;
  const DType t = format_with_bits(*bits, told_bits);
  f.name = fmt::format("{:g}-bit", *bits);
  f.assumed.push_back(fmt::format("weights of {:g} bits count as {}, which has {:.3g}: the row says {}", *bits,
                                  t.name(), bits_per_weight(t), in_quotes(text)));
  return FormatName{"", t.name().data(), ""};
}

/// Supported format nearest to the stated bits per weight. EXL2 and MLX files may have any number of bits per weight.
DType format_of_stated_bits(FormatsSaid& f, const std::string& text) {
  const DType t = format_with_bits(*f.bits_per_weight, stored_bits);
  f.name = text.substr(0, text.find(" ("));
  f.assumed.push_back(fmt::format("weights of {:g} bits count as {}, which has {:.3g}: the row says {}",
                                  *f.bits_per_weight, t.name(), bits_per_weight(t), in_quotes(text)));
  return t;
}

/// Format of a library whose formats have scales. Each group of 64 weights adds 0.5 bits per weight: a 32-bit maximum
/// in bitsandbytes, or a 16-bit scale and a 16-bit bias in MLX and HQQ. In MLX, this includes the embedding tables.
std::optional<FormatName> format_of_library(FormatsSaid& f, const std::string& text) {
  const Words words(text);
  if (words.affirms_any({"bitsandbytes", "bnb"})) return FormatName{"", "nf4", nullptr};
  const std::optional<double> bits = number_before(text, "-?bits?\\b");
  if (!bits || *bits < 2 || *bits > 8 || !words.affirms_any({"mlx", "hqq"})) return std::nullopt;
  f.bits_per_weight = *bits + 0.5;
  return FormatName{"", format_of_stated_bits(f, text).name().data(), words.affirms("hqq") ? "" : nullptr};
}

/// Assumes 16-bit weights for a row that does not state their format.
void assume_weights(FormatsSaid& f) {
  f.weights = f.working;
  f.weighty = true;
  f.assumed.push_back(fmt::format("weights in {}: the row does not state their format", f.working.name()));
}

/// Whether the text states that weights are unquantized, that is, in 16 bits.
bool says_half(const std::string& text) {
  const Words words(text);
  return words.says_no() ||
         words.affirms_any(
             {"unquantized", "no quantization", "not quantized", "16 bit", "16bit", "full precision", "original"}) ||
         words.has_any({"no quantization", "not quantized", "without quantization"});
}

/// Clauses about experts and clauses about all other weights: "nvfp4 (MoE) + fp8".
struct PartsSaid {
  std::string experts, others;
};

bool is_of_experts(const std::string& clause) { return spells(clause, "moe") || spells(clause, "expert"); }

/// If the text does not distinguish experts, `experts` is the whole text.
PartsSaid parts_said(const std::string& text) {
  PartsSaid p;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of("+,;", at), text.size());
    const std::string clause = text.substr(at, end - at);
    (is_of_experts(clause) ? p.experts : p.others) += clause + " ";
    at = end + 1;
  }
  return format_named(p.experts) == nullptr ? PartsSaid{text, ""} : p;
}

/// Sets the format of attention and dense MLPs if the text states a separate format for experts. The default is 16
/// bits.
void use_parts(FormatsSaid& f, const PartsSaid& p) {
  const bool eight_bits = spells(p.experts, "w4afp8");  // SGLang's format for DeepSeek models
  const bool told_apart = !p.others.empty() || spells(p.experts, "mxfp4");
  f.experts_alone = (is_of_experts(p.experts) && told_apart) || eight_bits;
  if (!f.experts_alone) return;
  const FormatName* named = format_named(eight_bits ? "fp8 block" : p.others);
  if (named == nullptr && !Words(p.others).silent() && !says_half(p.others)) {
    f.weighty = true;
    f.assumed.push_back(
        fmt::format("attention weights in {}: unknown format {}", f.working.name(), in_quotes(p.others)));
  }
  const DType t = named == nullptr ? f.working : *dtype(named->format);
  f.weights[Component::attention] = f.weights[Component::mlp] = bits_per_weight(t) == 16 ? f.working : t;
}

/// llama-quantize mix in the text. Q3_K means Q3_K_M. mix_of_k_quants() handles Q4_K_M. Empty if there is no mix.
std::string mix_named(const std::string& text) {
  static const std::regex mix("\\b(?:iq[1-4]_(?:xxs|xs|s|m|nl)|q[2356]_k(?:_[sml])?|q4_k_s|tq[12]_0)\\b");
  std::smatch found;
  if (!std::regex_search(text, found, mix)) return "";
  const std::string name = found[0];
  const std::string whole = name == "q3_k" || name == "q5_k" ? name + "_m" : name;
  return is_gguf_mix(whole) ? whole : "";
}

/// Records an assumption for Unsloth's dynamic files, which choose a type per tensor by their own criterion.
void weigh_dynamic_mix(FormatsSaid& f, const std::string& text, DType taken) {
  static const std::regex dynamic("\\bud-|_k_xl\\b");
  if (!std::regex_search(text, dynamic)) return;
  f.weighty = true;
  f.assumed.push_back(
      fmt::format("all matrices in {}: the tensors of {} in other formats are unknown", taken.name(), in_quotes(text)));
}

/// Records an assumption for a clause that names two formats but does not state which weights have which format.
void weigh_mixture(FormatsSaid& f, const std::string& text, DType taken) {
  static const std::regex two("(?:nvfp4|mxfp4|fp4|int4) ?/ ?(?:mx)?(?:fp8|int8|bf16|fp16)");
  if (!std::regex_search(text, two) && !Words(text).affirms("mixed")) return;
  f.weighty = true;
  f.assumed.push_back(fmt::format("all weights in {}: the row states {}, but not the weights in the other format",
                                  taken.name(), in_quotes(text)));
}

void use_weights(FormatsSaid& f, const std::string& whole) {
  const PartsSaid parts = parts_said(whole);
  const std::string& text = parts.experts;
  f.weights = f.working;
  const FormatName* listed = format_named(text);
  std::optional<FormatName> named = listed != nullptr ? std::optional(*listed) : format_of_library(f, text);
  if (!named) named = format_by_bits(f, text);
  if (!named && says_half(text)) return;
  if (!named) {
    f.skip = fmt::format("unknown number format of the weights {}", in_quotes(text));
    return;
  }
  if (spells(text, "fp4") && !spells(text, "mxfp4") && !spells(text, "nvfp4"))
    f.assumed.push_back("weights in nvfp4: the row states fp4");
  DType t = *dtype(named->format);
  if (f.bits_per_weight && (spells(text, "exl") || spells(text, "int"))) t = format_of_stated_bits(f, text);
  const bool whole_model = named->head == nullptr && t.format().covers_embedding;
  if (whole_model) f.weights = t;
  use_blocks(f, t);
  if (named->head != nullptr && named->head[0] != '\0') use_tables(f, *dtype(named->head));
  f.weights[Component::norm] = f.weights[Component::router] = f.weights[Component::position] = f.working;
  mix_of_k_quants(f, text);
  weigh_mixture(f, text, t);
  weigh_dynamic_mix(f, text, t);
  f.mix = mix_named(text);
  use_parts(f, parts);
}

bool is_silent(const std::string& text) {
  return leaves_format_open(text) || Words(text).says_no() || spells(text, "not stated");
}

/// Activation format in text about weights: "W4A8", "w8a8 (fp8)". Empty if there is no such format.
std::string activations_in(const std::string& weights) {
  static const std::regex eight("\\bw[48]a(8|fp8)(kv[0-9]+)?\\b"), four("\\bw4a4(kv[0-9]+)?\\b");
  const bool is_float = spells(weights, "fp8") || spells(weights, "float");
  if (std::regex_search(weights, eight)) return is_float ? "fp8" : "int8";
  return std::regex_search(weights, four) ? "nvfp4" : "";
}

/// Words for activation formats, and the matmul format that each implies. The first entry found in the text wins.
constexpr std::array product_words{
    std::pair{"nvfp4", "nvfp4"}, std::pair{"mxfp4", "mxfp4"}, std::pair{"fp4", "nvfp4"},
    std::pair{"mxfp8", "fp8"},   std::pair{"fp8", "fp8"},     std::pair{"e4m3", "fp8"},
    std::pair{"int8", "int8"},   std::pair{"a8", "int8"},     std::pair{"8-bit", "int8"}};

std::optional<DType> narrow_products(const std::string& text) {
  for (const auto& [word, format] : product_words)
    if (spells(text, word)) return dtype(format);
  return std::nullopt;
}

/// Sets the matmul format. Engines run matmuls in low precision if the device supports it, and otherwise in 16 bits, as
/// for weight-only formats.
void use_products(FormatsSaid& f, const std::string& said, const std::string& weights) {
  std::string text = with_usual_names(lower(said));
  if (is_silent(text)) text = activations_in(weights);
  f.precision = f.working;
  if (spells(text, "moe")) {
    f.precision = dtypes::fp8;
    f.assumed.push_back("attention's products count as 8-bit ones, as the experts' are: a plan has one format");
  } else if (const auto narrow = narrow_products(text)) {
    f.precision = *narrow;
  } else if (text.empty()) {
    f.assumed.push_back(
        fmt::format("matmuls in {}: the row does not state the format of activations", f.working.name()));
  } else if (spells(text, "tf32") || spells(text, "fp32")) {
    f.precision = f.working = *dtype(spells(text, "tf32") ? "tf32" : "fp32");
  } else if (!spells(text, "16")) {
    f.weighty = true;
    f.assumed.push_back(
        fmt::format("matmuls in {}: unknown format of activations {}", f.working.name(), in_quotes(said)));
  }
}

/// Words for cache formats, and the format that each denotes.
constexpr std::array cache_words{std::pair{"fp8", "fp8"},    std::pair{"e4m3", "fp8"},  std::pair{"e5m2", "fp8"},
                                 std::pair{"8-bit", "int8"}, std::pair{"kv8", "int8"},  std::pair{"kv4", "int4"},
                                 std::pair{"4-bit", "int4"}, std::pair{"int8", "int8"}, std::pair{"int4", "int4"},
                                 std::pair{"fp4", "nvfp4"},  std::pair{"q8_0", "q8_0"}, std::pair{"q4_0", "q4_0"},
                                 std::pair{"fp32", "fp32"}};

void use_cache(FormatsSaid& f, const std::string& told, const std::string& weights) {
  const std::string said = is_silent(with_usual_names(lower(told))) ? cache_in(weights) : told;
  const std::string text = with_usual_names(lower(said));
  f.cache = f.working;
  bool known = spells(text, "16");
  for (const auto& [word, format] : cache_words)
    if (spells(text, word)) {
      f.cache = *dtype(format);
      known = true;
    }
  if (is_silent(text))
    f.assumed.push_back(fmt::format("keys and values in {}: the row does not state their format", f.working.name()));
  if (is_silent(text) || known) return;
  f.weighty = true;
  f.assumed.push_back(fmt::format("keys and values in {}: unknown format {}", f.working.name(), in_quotes(said)));
}

}  // namespace

bool leaves_format_open(const std::string& weights) {
  const Words words(weights);
  return words.silent() || (words.all().size() == 1 && (words.has("auto") || words.has("default")));
}

FormatsSaid formats_of(const std::string& weights, const std::string& cache, const std::string& activations,
                       DType usual_half) {
  FormatsSaid f;
  const std::string text = with_usual_names(std::regex_replace(lower(weights.substr(0, 200)), cache_in_addition(), ""));
  const std::string half = with_usual_names(lower(activations + " " + cache));
  f.working = usual_half;
  if (spells(half, "fp16") && !spells(half, "bf16")) f.working = dtypes::fp16;
  if (spells(half, "bf16") && usual_half == dtypes::bf16) f.working = dtypes::bf16;
  f.bits_per_weight = number_before(text, "bpw");
  if (const auto gib = number_before(text, "gib")) f.weight_bytes = *gib * 0x1p30;
  leaves_format_open(text) ? assume_weights(f) : use_weights(f, text);
  use_products(f, activations, lower(weights));
  use_cache(f, cache, lower(weights));
  return f;
}

}  // namespace llmcalc
