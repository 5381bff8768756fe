#include "evidence/convert/words/flops_convention.hpp"

#include <algorithm>
#include <regex>

#include "calc/parameters.hpp"
#include "evidence/names/words.hpp"
#include "text/leading_number.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

/// A phrase that determines the formula; the more specific phrases come first.
struct Telling {
  const char* part;
  FlopsFormula formula;
};
constexpr Telling tellings[] = {
    {"96b", FlopsFormula::hardware_96},
    {"96-formula", FlopsFormula::hardware_96},
    {"72b", FlopsFormula::model_72},
    {"72-formula", FlopsFormula::model_72},
    {"counted at half", FlopsFormula::half_attention},
    {"causal half", FlopsFormula::half_attention},
    {"12lh^2(1+kv/a", FlopsFormula::by_matrix},
    {"n*4*2", FlopsFormula::eight_n},
    {"n*3*2", FlopsFormula::plain_six_n},
    {"no attention term", FlopsFormula::plain_six_n},
    {"hardware (as reported)", FlopsFormula::hardware_96},
    {"megatron calculator", FlopsFormula::by_matrix},
};

/// Whether the text counts this many FLOPs per parameter and token: "6N", "6ND", "6*s*N", "6 N BS".
bool counts_per_parameter(const std::string& text, char times) {
  static const std::string behind = "(?:s|bs|d|t)?(?:n|p(?:d|bs|t|$|[^a-z]))";
  const std::string plain = run_together(text);
  return std::regex_search(plain, std::regex(std::string("(?:^|[^0-9])") + times + behind));
}

/// The variant of the 6 N formula. It includes attention matmuls if the text has a term for them or names PaLM or
/// nanoGPT.
FlopsFormula six_n_formula(const std::string& text) {
  const Words words(text);
  const std::string plain = run_together(text);
  const bool left_out = words.denies("attention") || words.has_any({"attention left out", "attention excluded",
                                                                    "excluding attention", "ignoring attention"});
  const bool term = plain.find("12l") != std::string::npos || plain.find("6l") != std::string::npos ||
                    words.affirms_any({"attention", "palm", "nanogpt"});
  if (left_out || !term) return FlopsFormula::plain_six_n;
  const bool half = plain.find("6lhs") != std::string::npos || words.affirms("causal");
  return half ? FlopsFormula::half_attention : FlopsFormula::six_n;
}

/// Formula with a stated number of FLOPs per parameter. Empty if no such number is stated.
std::optional<FlopsFormula> formula_by_parameters(const std::string& text) {
  if (counts_per_parameter(text, '6')) return six_n_formula(text);
  if (counts_per_parameter(text, '8')) return FlopsFormula::eight_n;
  const Words words(text);
  if (words.affirms_any({"palm", "nanogpt"})) return FlopsFormula::six_n;
  if (words.affirms_any({"chinchilla", "kaplan"})) return FlopsFormula::plain_six_n;
  return words.affirms("causal") ? std::optional(FlopsFormula::half_attention) : std::nullopt;
}

/// The number before "TF" if the text has exactly one. Two numbers would refer to two devices.
std::optional<double> only_peak(const std::string& text) {
  static const std::regex pattern("([0-9]{1,9}(?:\\.[0-9]{1,9})?) ?tf");
  std::sregex_iterator found(text.begin(), text.end(), pattern);
  if (found == std::sregex_iterator() || std::next(found) != std::sregex_iterator()) return std::nullopt;
  return leading_real((*found)[1]);
}

/// N in "N=1.3B".
std::optional<double> stated_params(const std::string& text) {
  static const std::regex pattern("n ?= ?([0-9]{1,9}(?:\\.[0-9]{1,9})?) ?([bm])\\b");
  std::smatch found;
  if (!std::regex_search(text, found, pattern)) return std::nullopt;
  return leading_real(found[1]) * (found[2] == "b" ? 1e9 : 1e6);
}

/// Sizes used in the formulas, as doubles.
struct FormulaSizes {
  double h, layers, vocab, s, width, all, matrices;
};

FormulaSizes formula_sizes(const Arch& a, Count seq) {
  const Parameters p = parameters(a);
  const auto d = [](Count n) { return static_cast<double>(n); };
  return {d(a.hidden), d(a.layers), d(a.vocabulary), d(seq), d(a.attention_width()), d(p.active), d(p.matmul_active)};
}

/// Forward and backward attention FLOPs per token over all query-key pairs: 12 per layer, element of the attention
/// width, and key. Windows count as full attention.
double attention_per_token(const FormulaSizes& z) { return 12 * z.layers * z.width * z.s; }

double per_token(FlopsFormula formula, const FormulaSizes& z, double n) {
  const double h = z.h, block = z.layers * h * h;
  switch (formula) {
    case FlopsFormula::hardware_96:
      return 96 * block * (1 + z.s / (6 * h) + z.vocab / (16 * z.layers * h));
    case FlopsFormula::model_72:
      return 72 * block * (1 + z.s / (6 * h) + z.vocab / (12 * z.layers * h));
    case FlopsFormula::six_n:
      return 6 * n + attention_per_token(z);
    case FlopsFormula::half_attention:
      return 6 * z.matrices + attention_per_token(z) / 2;
    case FlopsFormula::eight_n:
      return 8 * n;
    case FlopsFormula::plain_six_n:
      return 6 * n;
    case FlopsFormula::by_matrix:
    case FlopsFormula::unknown:
      break;  // every matrix counts twice forward and four times backward: 12 h^2 (1 + kv/a) is 6 x (q, k, v and out)
  }
  return 6 * z.matrices + attention_per_token(z);
}

}  // namespace

FlopsConvention flops_convention(const std::string& said) {
  const std::string text = lower(said.substr(0, 1000));
  FlopsConvention c;
  c.params = stated_params(text);
  c.peak_tflops = only_peak(text);
  c.non_embedding = Words(text).has_any({"non embedding", "without embedding", "without embeddings",
                                         "excluding embedding", "excluding embeddings", "no embedding"});
  const auto* told = std::find_if(std::begin(tellings), std::end(tellings),
                                  [&](const Telling& t) { return text.find(t.part) != std::string::npos; });
  if (told != std::end(tellings)) c.formula = told->formula;
  const bool by_table = c.formula != FlopsFormula::unknown && c.formula != FlopsFormula::by_matrix;
  if (const auto formula = formula_by_parameters(text); formula && !by_table) c.formula = *formula;
  return c;
}

double convention_flops(const FlopsConvention& convention, const Arch& arch, Count seq, double sequences,
                        std::optional<Count> reported) {
  const FormulaSizes z = formula_sizes(arch, seq);
  double n = convention.params.value_or(reported ? static_cast<double>(*reported) : z.all);
  if (convention.non_embedding && !convention.params) {
    const Parameters p = parameters(arch);  // N counts only active parameters
    n = static_cast<double>(p.non_embedding - p.total + p.active);
  }
  return sequences * z.s * per_token(convention.formula, z, n);
}

}  // namespace llmcalc
