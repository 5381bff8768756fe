#include "evidence/names/format_words.hpp"

#include <regex>
#include <utility>

#include "text/leading_number.hpp"

namespace llmcalc {

namespace {

// The first entry whose words all occur in the text wins. GGUF mixes ("_M") store the output matrix in 6 bits. Q4_K_M
// has half of the value and down projections in Q6_K, which gives 4.85 bits per weight: see mix_of_k_quants().
constexpr FormatName format_names[] = {
    {"w4afp8", "int4-g128", ""},  // matmuls in fp8; only for experts: see use_parts()
    {"mxfp4", "mxfp4", ""},
    {"nvfp4", "nvfp4", ""},
    {"mxfp8", "mxfp8", ""},
    {"mxfp6", "mxfp6", ""},
    {"fp8 block", "fp8-block", nullptr},
    {"fp8 dynamic", "fp8-row", nullptr},
    {"fp8 row", "fp8-row", nullptr},
    {"fp8 weight-only", "fp8-row", nullptr},
    {"fp8 e5m2", "fp8", nullptr},  // calm stores every matrix in this format
    {"fp8", "fp8", ""},
    {"fp6", "mxfp6", ""},
    {"fp4", "nvfp4", ""},
    {"gf4", "int4", nullptr},
    {"iq1_s", "iq1_s", "q5_k"},
    {"iq1_m", "iq1_m", "q5_k"},
    {"iq2_xxs", "iq2_xxs", "q5_k"},
    {"iq2_xs", "iq2_xs", "q5_k"},
    {"iq2_s", "iq2_s", "q5_k"},
    {"iq3_xxs", "iq3_xxs", "q5_k"},
    {"iq3_s", "iq3_s", "q6_k"},
    {"iq2_m", "iq2_s", "q5_k"},
    {"iq3_m", "iq3_s", "q6_k"},
    {"tq1_0", "tq1_0", "q6_k"},
    {"tq2_0", "tq2_0", "q6_k"},
    {"iq4_xs", "iq4_xs", "q6_k"},
    {"iq4_nl", "iq4_nl", "q6_k"},
    {"q2_k", "q2_k", "q6_k"},
    {"q3_k", "q3_k", "q6_k"},
    {"q4_k", "q4_k", "q6_k"},
    {"q5_k", "q5_k", "q6_k"},
    {"q6_k", "q6_k", "q6_k"},
    {"q4_0", "q4_0", "q6_k"},
    {"q4_1", "q4_1", "q6_k"},
    {"q5_0", "q5_0", "q6_k"},
    {"q5_1", "q5_1", "q6_k"},
    {"q8_0", "q8_0", "q8_0"},
    {"awq g32", "awq-g32", nullptr},
    {"awq g64", "awq-g64", nullptr},
    {"awq", "awq", nullptr},
    {"gptq int8", "gptq-8bit", nullptr},
    {"gptq 8bit", "gptq-8bit", nullptr},
    {"gptq 8-bit", "gptq-8bit", nullptr},
    {"gptq int3", "gptq-3bit", nullptr},
    {"gptq 3bit", "gptq-3bit", nullptr},
    {"gptq 3-bit", "gptq-3bit", nullptr},
    {"gptq 2bit", "gptq-2bit", nullptr},
    {"gptq 2-bit", "gptq-2bit", nullptr},
    {"gptq gnone", "int4", ""},
    {"gptq act-order=yes", "gptq-act", nullptr},
    {"gptq g32", "gptq-g32", nullptr},
    {"gptq g64", "gptq-g64", nullptr},
    {"gptq", "gptq", nullptr},
    {"bitsandbytes 8bit", "int8-row", nullptr},
    {"bitsandbytes 8-bit", "int8-row", nullptr},
    {"bnb 8bit", "int8-row", nullptr},
    {"bnb 8-bit", "int8-row", nullptr},
    {"nf4 dq", "nf4-dq", nullptr},
    {"nf4", "nf4", nullptr},
    {"eetq", "int8-row", nullptr},
    {"smoothquant", "int8-row", nullptr},
    {"marlin", "int4-g128", nullptr},
    {"exl", "int4", "q6_k"},        // replaced according to the bits per weight: see formats_of()
    {"q4f16", "int4-g32", "q4_0"},  // MLC: 4 bits, and a 16-bit scale per 32 weights, also for the embedding tables
    {"q3f16", "q3_k", "q3_k"},
    {"q0f16", "fp16", nullptr},
    {"q0f32", "fp32", nullptr},
    {"int4 bpw", "q4_0", nullptr},  // MLX: replaced according to the bits per weight
    {"int5 bpw", "q5_0", nullptr},
    {"int6 bpw", "q6_k", nullptr},
    {"int8 bpw", "q8_0", nullptr},
    {"int4 g128", "int4-g128", nullptr},
    {"int4 g64", "int4-g64", nullptr},
    {"int4 g32", "int4-g32", nullptr},
    {"int4", "int4", ""},
    {"int3", "gptq-3bit", nullptr},
    {"w4", "int4", ""},
    {"int8 g128", "int8-g128", nullptr},
    {"int8", "int8-row", nullptr},
    {"w8", "int8-row", nullptr},
    {"bf16", "bf16", nullptr},
    {"fp16", "fp16", nullptr},
    {"f16", "fp16", nullptr},
    {"fp32", "fp32", nullptr},
};

bool has_all(const std::string& text, const std::string& words) {
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    if (!spells(text, words.substr(at, end - at))) return false;
    at = end + 1;
  }
  return true;
}

}  // namespace

bool spells(const std::string& text, std::string_view word) { return text.find(word) != std::string::npos; }

const FormatName* format_named(const std::string& text) {
  for (const FormatName& f : format_names)
    if (has_all(text, f.words)) return &f;
  return nullptr;
}

std::optional<double> number_before(const std::string& text, const char* unit) {
  std::smatch found;
  const std::regex pattern(std::string("([0-9]{1,9}(?:\\.[0-9]{1,9})?) ?") + unit);
  return std::regex_search(text, found, pattern) ? std::optional(leading_real(found[1])) : std::nullopt;
}

std::string with_usual_names(const std::string& said) {
  static const std::pair<std::regex, const char*> usual[] = {
      {std::regex("bfloat16"), "bf16"},
      {std::regex("\\bfloat16"), "fp16"},
      {std::regex("\\b(float|f)32"), "fp32"},
      {std::regex("\\bfloat8"), "fp8"},
      {std::regex("\\bhalf\\b"), "fp16"},
      {std::regex("\\b(uint|i|u)(4|8)\\b"), "int$2"},
      {std::regex("^ *(fp8[ _-]?)?e(4m3|5m2)(fn)?"), "fp8 e$2"},
      {std::regex("\\bq([2-6])[ -]k(?:[ -]([sml]))?\\b"), "q$1_k_$2"},
      {std::regex("\\bq([45])\\b"), "q$1_0"},
      {std::regex("\\bq8\\b"), "q8_0"},
      {std::regex("\\bq6\\b"), "q6_k"},
      {std::regex("\\bq([23])\\b"), "q$1_k"},
      {std::regex("(fp|int)8[ -]*(act|activation|input)[a-z]*"), ""}};
  std::string text = said;
  for (const auto& [pattern, name] : usual) text = std::regex_replace(text, pattern, name);
  static const std::regex four_bits("\\bw4a(4|8)(kv[0-9]+)?\\b"), eight("(fp|int)8");
  if (std::regex_search(text, four_bits)) text = std::regex_replace(text, eight, "");
  return text;
}

}  // namespace llmcalc
