#include "evidence/flops_convention.hpp"

#include <regex>

#include "calc/parameters.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

/// The formula that a part of the text tells, the more telling first.
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
    {"8n", FlopsFormula::eight_n},
    {"n*3*2", FlopsFormula::plain_six_n},
    {"no attention term", FlopsFormula::plain_six_n},
    {"6n", FlopsFormula::six_n},
    {"6*s*n", FlopsFormula::six_n},
    {"hardware (as reported)", FlopsFormula::hardware_96},
    {"megatron calculator", FlopsFormula::by_matrix},
};

/// The only number before "TF"; nothing where there are two, of two devices.
std::optional<double> only_peak(const std::string& text) {
  static const std::regex pattern("([0-9]{1,9}(?:\\.[0-9]{1,9})?) ?tf");
  std::sregex_iterator found(text.begin(), text.end(), pattern);
  if (found == std::sregex_iterator() || std::next(found) != std::sregex_iterator()) return std::nullopt;
  return std::stod((*found)[1]);
}

/// "N=1.3B"
std::optional<double> stated_params(const std::string& text) {
  static const std::regex pattern("n ?= ?([0-9]{1,9}(?:\\.[0-9]{1,9})?) ?([bm])\\b");
  std::smatch found;
  if (!std::regex_search(text, found, pattern)) return std::nullopt;
  return std::stod(found[1]) * (found[2] == "b" ? 1e9 : 1e6);
}

/// The sizes in the formulas, as doubles.
struct FormulaSizes {
  double h, layers, vocab, s, width, all, matrices;
};

FormulaSizes formula_sizes(const Arch& a, Count seq) {
  const Parameters p = parameters(a);
  const auto d = [](Count n) { return static_cast<double>(n); };
  return {d(a.hidden), d(a.layers), d(a.vocabulary), d(seq), d(a.attention_width()), d(p.active), d(p.matmul_active)};
}

/// Forward and backward, all query-key pairs: 12 per layer, width and token pair. Windows count as the whole.
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
      break;  // every matrix twice forward and four times backward: 12 h^2 (1 + kv/a) is 6 x (q, k, v and out)
  }
  return 6 * z.matrices + attention_per_token(z);
}

}  // namespace

FlopsConvention flops_convention(const std::string& said) {
  const std::string text = lower(said.substr(0, 1000));
  FlopsConvention c;
  c.params = stated_params(text);
  c.peak_tflops = only_peak(text);
  for (const Telling& t : tellings)
    if (text.find(t.part) != std::string::npos) {
      c.formula = t.formula;
      break;
    }
  return c;
}

double convention_flops(const FlopsConvention& convention, const Arch& arch, Count seq, double sequences,
                        std::optional<Count> reported) {
  const FormulaSizes z = formula_sizes(arch, seq);
  const double n = convention.params.value_or(reported ? static_cast<double>(*reported) : z.all);
  return sequences * z.s * per_token(convention.formula, z, n);
}

}  // namespace llmcalc
