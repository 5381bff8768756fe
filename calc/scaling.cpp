#include "calc/scaling.hpp"

#include "calc/elementary.hpp"

namespace llmcalc::scaling {
namespace {

/// The factor g in the closed form N = g (C/6)^a, D = (C/6)^b / g.
double balance(const LossFit& f) {
  const double ratio = f.params_exponent * f.params_scale / (f.tokens_exponent * f.tokens_scale);
  return elementary::pow(ratio, 1 / (f.params_exponent + f.tokens_exponent));
}
/// The exponent a of the budget in the optimal number of parameters.
double params_share(const LossFit& f) { return f.tokens_exponent / (f.params_exponent + f.tokens_exponent); }

Optimum at_compute(const LossFit& f, double compute) {
  const double pairs = compute / 6;
  const double params = balance(f) * elementary::pow(pairs, params_share(f));
  const double tokens = pairs / params;
  return {compute, params, tokens, loss(f, params, tokens)};
}
Optimum at_compute(const SplitFit& f, double compute) {
  const double params = f.params * elementary::pow(compute / f.compute, f.params_exponent);
  return {compute, params, compute / (6 * params), {}};
}

double compute_of_params(const LossFit& f, double params) {
  return 6 * elementary::pow(params / balance(f), 1 / params_share(f));
}
double compute_of_params(const SplitFit& f, double params) {
  return f.compute * elementary::pow(params / f.params, 1 / f.params_exponent);
}

double compute_of_tokens(const LossFit& f, double tokens) {
  return 6 * elementary::pow(tokens * balance(f), 1 / (1 - params_share(f)));
}
double compute_of_tokens(const SplitFit& f, double tokens) {
  return f.compute * elementary::pow(tokens / f.tokens(), 1 / f.tokens_exponent());
}

}  // namespace

std::string_view name(const Fit& fit) {
  return std::visit([](const auto& f) { return f.name; }, fit);
}
std::string_view source(const Fit& fit) {
  return std::visit([](const auto& f) { return f.source; }, fit);
}
std::string_view note(const Fit& fit) {
  return std::visit([](const auto& f) { return f.note; }, fit);
}

std::array<Fit, fit_count> fits() {
  return {besiroglu, chinchilla1, chinchilla2, chinchilla3, chinchilla3_tex, rule_of_thumb(), kaplan};
}

std::optional<Fit> fit(std::string_view wanted) {
  for (const Fit& f : fits())
    if (name(f) == wanted) return f;
  return std::nullopt;
}

double loss(const LossFit& f, double params, double tokens) {
  return f.irreducible + f.params_scale / elementary::pow(params, f.params_exponent) +
         f.tokens_scale / elementary::pow(tokens, f.tokens_exponent);
}

Optimum optimum_for_compute(const Fit& fit, double compute) {
  return std::visit([&](const auto& f) { return at_compute(f, compute); }, fit);
}
Optimum optimum_for_params(const Fit& fit, double params) {
  return std::visit([&](const auto& f) { return at_compute(f, compute_of_params(f, params)); }, fit);
}
Optimum optimum_for_tokens(const Fit& fit, double tokens) {
  return std::visit([&](const auto& f) { return at_compute(f, compute_of_tokens(f, tokens)); }, fit);
}

double kaplan_loss_of_params(double params) { return elementary::pow(8.8e13 / params, 0.076); }
double kaplan_loss_of_tokens(double tokens) { return elementary::pow(5.4e13 / tokens, 0.095); }
double kaplan_loss_of_compute(double pf_days) { return elementary::pow(3.1e8 / pf_days, 0.050); }
double kaplan_loss(double params, double tokens) {
  return elementary::pow(elementary::pow(6.4e13 / params, 0.076 / 0.103) + 1.8e13 / tokens, 0.103);
}
double kaplan_critical_batch(double loss) { return 2e8 / elementary::pow(loss, 1 / 0.21); }

}  // namespace llmcalc::scaling
