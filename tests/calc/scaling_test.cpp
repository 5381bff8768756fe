#include "calc/scaling.hpp"

#include <cmath>

#include "tests/catch.hpp"

using namespace llmcalc::scaling;

namespace {

constexpr double chinchilla_budget = 5.76e23;  // training FLOPs of Gopher and Chinchilla, Hoffmann et al. 2022

/// Parameters that minimize the loss under 6 N D = C, by golden-section search over ln N.
double searched_params(const LossFit& f, double compute) {
  const double golden = (std::sqrt(5.0) - 1) / 2;
  const auto at = [&](double x) { return loss(f, std::exp(x), compute / 6 / std::exp(x)); };
  double low = std::log(1e6), high = std::log(1e14);
  while (high - low > 1e-9) {
    const double a = high - golden * (high - low), b = low + golden * (high - low);
    (at(a) < at(b) ? high : low) = at(a) < at(b) ? b : a;
  }
  return std::exp((low + high) / 2);
}

}  // namespace

TEST_CASE("the closed-form optimum matches a numerical search", "[scaling]") {
  const LossFit f = GENERATE(chinchilla3, chinchilla3_tex, besiroglu);
  const double compute = GENERATE(1e19, chinchilla_budget, 1e26);
  CHECK(optimum_for_compute(f, compute).params == Approx(searched_params(f, compute)).epsilon(1e-5));
}

TEST_CASE("at Chinchilla's budget, the fits differ by as much as the constants in their papers imply", "[scaling]") {
  const auto at = [](const Fit& f) { return optimum_for_compute(f, chinchilla_budget); };
  CHECK(at(chinchilla3).params == Approx(32.2e9).epsilon(1e-3));
  CHECK(at(chinchilla3).tokens_per_parameter() == Approx(93).epsilon(0.005));
  CHECK(at(chinchilla3_tex).params == Approx(40.3e9).epsilon(1e-3));
  CHECK(at(chinchilla3_tex).tokens_per_parameter() == Approx(59).epsilon(0.005));
  CHECK(at(besiroglu).params == Approx(72.2e9).epsilon(1e-3));
  CHECK(at(besiroglu).tokens_per_parameter() == Approx(18.4).epsilon(1e-3));
  CHECK(at(rule_of_thumb()).params == Approx(69.3e9).epsilon(1e-3));
  CHECK(at(rule_of_thumb()).tokens == Approx(1.386e12).epsilon(1e-3));
}

TEST_CASE("the printed exponents 0.46 and 0.54 follow only from the unrounded constants", "[scaling]") {
  const auto share = [](const LossFit& f) { return f.tokens_exponent / (f.params_exponent + f.tokens_exponent); };
  CHECK(share(chinchilla3_tex) == Approx(0.4565).epsilon(1e-3));
  CHECK(share(chinchilla3) == Approx(0.452).epsilon(1e-3));
}

TEST_CASE("Chinchilla's first two approaches give the tokens of the paper's tables for each size", "[scaling]") {
  struct Row {
    double params, first, second;  ///< tokens: Table 3 and Table A3 of arXiv:2203.15556
  };
  // Sizes in the tables have at most two digits, and the row of 67 billion has Gopher's budget, so that row is off by
  // up to 7 %.
  const Row row = GENERATE(Row{400e6, 8.0e9, 7.7e9}, Row{1e9, 20.2e9, 20.0e9}, Row{10e9, 205.1e9, 219.5e9},
                           Row{67e9, 1.5e12, 1.7e12}, Row{175e9, 3.7e12, 4.3e12}, Row{280e9, 5.9e12, 7.1e12},
                           Row{520e9, 11.0e12, 13.4e12}, Row{1e12, 21.2e12, 26.5e12}, Row{10e12, 216.2e12, 292.0e12});
  const double within = row.params == 67e9 ? 0.08 : 0.01;
  CHECK(optimum_for_params(chinchilla1, row.params).tokens == Approx(row.first).epsilon(within));
  CHECK(optimum_for_params(chinchilla2, row.params).tokens == Approx(row.second).epsilon(within));
}

TEST_CASE("the exponents of Chinchilla's first two approaches round to the printed ones", "[scaling]") {
  CHECK(chinchilla1.params_exponent == Approx(0.50).margin(0.005));
  CHECK(chinchilla1.params_exponent == Approx(4 / (4 + std::log10(216.2e12 / 20.2e9))).margin(5e-6));
  CHECK(chinchilla2.params_exponent == Approx(0.49).margin(0.005));
  CHECK(chinchilla2.params_exponent == Approx(4 / (4 + std::log10(292.0e12 / 20.0e9))).margin(5e-6));
}

TEST_CASE("the optimum is the same whether its budget, parameters or tokens are given", "[scaling]") {
  for (const Fit& f : fits()) {
    const Optimum o = optimum_for_compute(f, 3e22);
    CHECK(optimum_for_params(f, o.params).compute == Approx(3e22));
    CHECK(optimum_for_tokens(f, o.tokens).compute == Approx(3e22));
    CHECK(optimum_for_tokens(f, o.tokens).params == Approx(o.params));
  }
}

TEST_CASE("whichever quantity is given, the optimum satisfies 6 N D = C", "[scaling]") {
  for (const Fit& f : fits())
    for (const Optimum& o : {optimum_for_compute(f, 1e24), optimum_for_params(f, 1e12), optimum_for_tokens(f, 3e11)})
      CHECK(training_flops(o.params, o.tokens) == Approx(o.compute).epsilon(1e-14));
}

TEST_CASE("20 tokens per parameter give N = sqrt(C / 120), and other ratios scale accordingly", "[scaling]") {
  CHECK(optimum_for_compute(rule_of_thumb(), 1.2e22).params == Approx(1e10));
  CHECK(optimum_for_compute(rule_of_thumb(), 1.2e22).tokens == Approx(2e11));
  CHECK(optimum_for_params(rule_of_thumb(200), 1e9).tokens == Approx(2e11));
}

TEST_CASE("a scaling-law fit is found by its name and cites its source", "[scaling]") {
  for (const Fit& f : fits()) {
    REQUIRE(fit(name(f)).has_value());
    CHECK(source(*fit(name(f))) == source(f));
    CHECK_FALSE(source(f).empty());
  }
  CHECK_FALSE(fit("chinchilla").has_value());
}

TEST_CASE("Kaplan's laws give the loss as a function of each single resource", "[scaling]") {
  CHECK(kaplan_loss_of_params(8.8e13) == 1);
  CHECK(kaplan_loss_of_tokens(5.4e13) == 1);
  CHECK(kaplan_loss_of_compute(3.1e8) == 1);
  // ten times the parameters cut the loss by 10^0.076
  CHECK(kaplan_loss_of_params(1e9) / kaplan_loss_of_params(1e10) == Approx(std::pow(10, 0.076)));
  // with abundant data the joint fit depends only on N: (6.4e13/N)^0.076
  CHECK(kaplan_loss(1e9, 1e30) == Approx(std::pow(6.4e4, 0.076)));
  CHECK(kaplan_critical_batch(1) == 2e8);
}

TEST_CASE("Kaplan's optimum is 1.3e9 parameters at one PF-day and spends the rest on tokens", "[scaling]") {
  const Optimum o = optimum_for_compute(kaplan, pf_day);
  CHECK(o.params == Approx(1.3e9));
  CHECK(o.tokens == Approx(pf_day / 7.8e9));
  CHECK(optimum_for_compute(kaplan, 100 * pf_day).params == Approx(1.3e9 * std::pow(100, 0.73)));
}
