// Parameters of the estimator are found again in steps that were made with them.

#include "evidence/training_fit.hpp"

#include <cmath>
#include <map>
#include <set>

#include "evidence/left_out.hpp"
#include "evidence/training_stack.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

/// A row of every family, and a few more of the largest.
std::vector<FitRow> some_rows() {
  const std::vector<FitRow> all = fit_rows(published_measurements(MeasurementKind::training).training, Devices());
  std::vector<FitRow> some;
  for (std::size_t i = 0; i < all.size(); i += 25) some.push_back(all[i]);
  return some;
}

double worst_error(const std::vector<FitRow>& rows, const TrainingParameters& p) {
  double worst = 0;
  for (const FitRow& r : rows)
    worst = std::max(worst, std::fabs(std::log(estimated_step(r.c, r.stack, p) / *r.c.step)));
  return worst;
}

constexpr std::size_t at(TrainingParameter p) { return static_cast<std::size_t>(p); }

}  // namespace

TEST_CASE("A fit finds the parameters that steps were made with", "[fit]") {
  std::vector<FitRow> rows = some_rows();
  TrainingParameters truth;
  truth.values()[at(TrainingParameter::matmul_ampere)] = 0.6;
  truth.values()[at(TrainingParameter::matmul_hopper)] = 0.8;
  truth.values()[at(TrainingParameter::elementwise_megatron)] = 2;
  for (FitRow& r : rows) r.c.step = estimated_step(r.c, r.stack, truth);
  REQUIRE(worst_error(rows, {}) > 0.1);
  const TrainingParameters found = fit(rows, {}, {.ridge = 1e-6, .most_steps = 8});
  CHECK(worst_error(rows, found) < 0.005);
  CHECK(found[TrainingParameter::matmul_ampere] == Approx(0.6).epsilon(0.05));
}

TEST_CASE("A parameter that no row depends on keeps its default, and a fixed one its value", "[fit]") {
  std::vector<FitRow> rows = some_rows();
  std::erase_if(rows, [](const FitRow& r) { return silicon_of(r.c.on.hardware) != Silicon::ampere; });
  REQUIRE(rows.size() > 5);
  TrainingParameters begin;
  begin.values()[at(TrainingParameter::launch)] = 0;  // below its bounds
  const TrainingParameters found = fit(rows, begin, {.fixed = {TrainingParameter::launch}, .most_steps = 2});
  CHECK(found[TrainingParameter::matmul_volta] == Approx(begin[TrainingParameter::matmul_volta]).epsilon(1e-9));
  CHECK(found[TrainingParameter::launch] == 0);
  CHECK(found[TrainingParameter::matmul_ampere] != begin[TrainingParameter::matmul_ampere]);
}

TEST_CASE("No family has more than 80 rows in a fit, and a family's weight grows less than its rows", "[fit]") {
  const std::vector<FitRow> rows = fit_rows(published_measurements(MeasurementKind::training).training, Devices());
  std::map<std::string, int> count;
  std::map<std::string, double> most;
  for (const FitRow& r : rows) {
    CHECK(r.weight > 0);
    ++count[r.family];
    most[r.family] = std::max(most[r.family], r.weight);
  }
  CHECK(count.size() >= 20);
  for (const auto& [family, n] : count) {
    INFO(family);
    CHECK(n <= 80);
    CHECK(most[family] <= std::pow(n, -0.35) * (1 + 1e-12));
  }
}

TEST_CASE("Terms of the estimator are left out by parameters of their own", "[fit]") {
  std::set<TrainingParameter> seen;
  for (const EstimatorTerm& t : estimator_terms()) {
    INFO(t.name);
    CHECK_FALSE(t.left_out.empty());
    for (const auto& [parameter, value] : t.left_out) CHECK(seen.insert(parameter).second);
  }
}

TEST_CASE("An interval holds 90 of 100 left-out errors, families of a class counting the same", "[fit]") {
  Accuracy a;
  const auto add = [&](const char* family, const char* kind, double error) {
    PredictedRow r;
    r.of.family = family;
    r.of.kind = kind;
    r.measured = 1;
    r.predicted.value = std::exp(error);
    a.rows.push_back(r);
  };
  for (int i = 0; i < 1000; ++i) add("large", "dense", 0.01);  // counts as much as the small ones
  for (int i = 0; i < 4; ++i) add("small", "dense", i % 2 == 0 ? 0.2 : -0.2);
  add("other", "dense", 0.5);
  add("one", "experts", -0.7);
  const auto all = intervals(a);
  CHECK(all[static_cast<std::size_t>(EstimateClass::dense)].factor == Approx(std::exp(0.5)));
  CHECK(all[static_cast<std::size_t>(EstimateClass::dense)].families == 3);
  CHECK(all[static_cast<std::size_t>(EstimateClass::experts)].factor == Approx(std::exp(0.7)));
  CHECK_FALSE(all[static_cast<std::size_t>(EstimateClass::experts)].known());
  CHECK(all[static_cast<std::size_t>(EstimateClass::assumed)].families == 0);
}
