#pragma once
/// Scaling laws: how the loss falls with parameters and tokens, and how to split a compute budget between them.
///
/// Every fit has a name, because the fits disagree. At the budget of Gopher and Chinchilla (5.76e23 FLOP), the
/// constants printed in the Chinchilla paper give 32 B parameters with 93 tokens per parameter; the unrounded
/// exponents, 40 B with 59; the refit of Besiroglu et al., 72 B with 18; and the rule of thumb, 69 B with 20.
///
/// N: parameters (Kaplan: without embedding, positions and head; the others: all). D: training tokens. C: training
/// FLOPs. All arguments are positive. C = 6 N D in every fit. Losses are in nats per token on the data and tokenizer of
/// the paper, so only differences and optima carry over to other datasets.

#include <array>
#include <optional>
#include <string_view>
#include <variant>

namespace llmcalc::scaling {

/// C = 6 N D (Kaplan et al. 2020; Goon (3.4)).
constexpr double training_flops(double params, double tokens) { return 6 * params * tokens; }

/// L(N, D) = irreducible + params_scale / N^params_exponent + tokens_scale / D^tokens_exponent
struct LossFit {
  std::string_view name, source, note;
  double irreducible = 0;                           ///< E in the papers
  double params_scale = 0, tokens_scale = 0;        ///< A and B in the papers
  double params_exponent = 0, tokens_exponent = 0;  ///< alpha and beta in the papers
};

/// N = params (C / compute)^params_exponent, D = C / 6N: a law for the split of a budget, without a loss.
struct SplitFit {
  std::string_view name, source, note;
  double compute = 0, params = 0;  ///< compute and parameters of a point on the law
  double params_exponent = 0;
  constexpr double tokens() const { return compute / (6 * params); }
  constexpr double tokens_exponent() const { return 1 - params_exponent; }
};

using Fit = std::variant<LossFit, SplitFit>;

std::string_view name(const Fit& fit);
std::string_view source(const Fit& fit);
std::string_view note(const Fit& fit);

/// 1e15 FLOP/s for a day: Kaplan's unit of compute.
inline constexpr double pf_day = 8.64e19;

inline constexpr LossFit chinchilla3{
    "chinchilla-3",
    "Hoffmann et al. 2022 (arXiv:2203.15556), approach 3, constants as printed",
    "the exponents 0.46 and 0.54 printed with them follow from the unrounded constants",
    1.69,
    406.4,
    410.7,
    0.34,
    0.28};
inline constexpr LossFit chinchilla3_tex{"chinchilla-3-tex",
                                         "Hoffmann et al. 2022, approach 3, exponents from the paper's TeX source",
                                         "yields the printed N ~ C^0.46, D ~ C^0.54",
                                         1.69,
                                         406.4,
                                         410.7,
                                         0.3392,
                                         0.2849};
inline constexpr LossFit besiroglu{"besiroglu",
                                   "Besiroglu et al. 2024 (arXiv:2404.10102), refit of Chinchilla's approach 3",
                                   "agrees with approaches 1 and 2",
                                   1.8172,
                                   482.01,
                                   2085.43,
                                   0.3478,
                                   0.3658};
/// Table 3 and Table A3 give parameters and tokens of approaches 1 and 2 at nine sizes. Each law passes through the
/// rows for 1 billion and 10 trillion parameters: a = 4/(4 + log10(D(10^13)/D(10^9))).
inline constexpr SplitFit chinchilla1{"chinchilla-1",
                                      "Hoffmann et al. 2022 (arXiv:2203.15556), approach 1, through Table 3: 20.2e9 "
                                      "tokens for 1e9 parameters, 216.2e12 for 1e13",
                                      "the paper rounds the exponents to 0.50 and 0.50",
                                      6 * 1e9 * 20.2e9,
                                      1e9,
                                      0.49816};
inline constexpr SplitFit chinchilla2{"chinchilla-2",
                                      "Hoffmann et al. 2022 (arXiv:2203.15556), approach 2, through Table A3: 20.0e9 "
                                      "tokens for 1e9 parameters, 292.0e12 for 1e13",
                                      "the paper rounds the exponents to 0.49 and 0.51",
                                      6 * 1e9 * 20.0e9,
                                      1e9,
                                      0.48993};
inline constexpr SplitFit kaplan{"kaplan",
                                 "Kaplan et al. 2020 (arXiv:2001.08361), N = 1.3e9 C^0.73, C in PF-days, D = C / 6N",
                                 "parameters exclude embedding, positions and head; compute at the critical batch size",
                                 pf_day,
                                 1.3e9,
                                 0.73};

/// The rule of thumb from Chinchilla: D = tokens_per_parameter x N.
constexpr SplitFit rule_of_thumb(double tokens_per_parameter = 20) {
  return {"rule-20", "rule of thumb: a fixed number of tokens per parameter (20 for Chinchilla, 70e9 and 1.4e12)",
          "",        6 * tokens_per_parameter,
          1,         0.5};
}

/// All fits, the default first.
inline constexpr std::size_t fit_count = 7;
std::array<Fit, fit_count> fits();
/// The fit with this name, if any.
std::optional<Fit> fit(std::string_view name);

/// A compute-optimal point. `loss` is absent if the fit does not predict losses.
struct Optimum {
  double compute = 0, params = 0, tokens = 0;
  std::optional<double> loss;
  double tokens_per_parameter() const { return tokens / params; }
};

/// Loss of a model of N parameters after D tokens.
double loss(const LossFit& fit, double params, double tokens);

/// The optimum for a budget: the minimum of the loss subject to 6 N D = C, in closed form, or the point on a
/// SplitFit.
///   N = g (C/6)^(beta/(alpha+beta)),  D = (C/6)^(alpha/(alpha+beta)) / g,  g = (alpha A / beta B)^(1/(alpha+beta)).
Optimum optimum_for_compute(const Fit& fit, double compute);
/// The optimum with N parameters: the budget for which N is optimal, and its tokens.
Optimum optimum_for_params(const Fit& fit, double params);
/// The optimum with D tokens: the budget for which D is optimal, and its parameters.
Optimum optimum_for_tokens(const Fit& fit, double tokens);

/// Loss according to Kaplan et al. 2020 if one resource is limited and the others are not. N excludes the embedding.
double kaplan_loss_of_params(double params);    ///< (8.8e13 / N)^0.076
double kaplan_loss_of_tokens(double tokens);    ///< (5.4e13 / D)^0.095
double kaplan_loss_of_compute(double pf_days);  ///< (3.1e8 / C)^0.050, C in PF-days, at the critical batch
/// Loss according to Kaplan et al. 2020 if parameters and tokens are limited: [(6.4e13 / N)^(0.076/0.103) + 1.8e13 /
/// D]^0.103
double kaplan_loss(double params, double tokens);
/// Critical batch size in tokens, which balances training time against compute: 2e8 / L^(1/0.21)
double kaplan_critical_batch(double loss);

}  // namespace llmcalc::scaling
