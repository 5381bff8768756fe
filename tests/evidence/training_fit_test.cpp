// Fits recover the parameters that generated the steps.

#include "evidence/fit/training_fit.hpp"

#include <cmath>
#include <map>
#include <set>

#include "evidence/fit/inference_fit.hpp"
#include "evidence/fit/left_out.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

FitSet all_rows() { return training_fit_set(published_measurements(MeasurementKind::training).training); }

/// Every 25th row of a set.
FitSet some_rows() {
  FitSet set = all_rows();
  for (std::size_t i = 0; i < set.weights.size(); ++i)
    if (i % 25 != 0) set.weights[i] = 0;
  return set;
}

/// The same rows, with the predictions of `truth` as measurements.
FitSet made_with(FitSet set, const TrainingParameters& truth) {
  set.error = [error = set.error, truth](std::size_t i, std::span<const double> values) {
    return error(i, values) - error(i, truth.values());
  };
  return set;
}

double worst_error(const FitSet& set, std::span<const double> values) {
  double worst = 0;
  for (std::size_t i = 0; i < set.weights.size(); ++i)
    if (set.weights[i] > 0) worst = std::max(worst, std::fabs(set.error(i, values)));
  return worst;
}

constexpr std::size_t at(TrainingParameter p) { return static_cast<std::size_t>(p); }

/// Number of independent sources whose rows depend on a parameter.
std::size_t sources_of(const FitSet& set, std::vector<double> begin, std::size_t parameter) {
  std::vector<double> moved = begin;
  const ParameterCard& card = set.cards[parameter];
  moved[parameter] = begin[parameter] == card.low ? card.high : card.low;
  std::set<std::string> sources;
  for (std::size_t i = 0; i < set.weights.size(); ++i) {
    const bool same = set.same ? set.same(i, begin, moved) : set.error(i, begin) == set.error(i, moved);
    if (set.weights[i] > 0 && !same) sources.insert(kin(set.families[i]));
  }
  return sources.size();
}

}  // namespace

TEST_CASE("a fit recovers the parameters that generated the steps", "[fit]") {
  TrainingParameters truth;
  truth.values()[at(TrainingParameter::matmul_ampere)] = 0.6;
  truth.values()[at(TrainingParameter::matmul_hopper)] = 0.8;
  truth.values()[at(TrainingParameter::elementwise_megatron)] = 2;
  const FitSet rows = made_with(some_rows(), truth);
  const TrainingParameters begin;
  REQUIRE(worst_error(rows, begin.values()) > 0.1);
  const std::vector<double> found = fit(rows, begin.values(), {.ridge = 1e-6, .most_steps = 8});
  CHECK(worst_error(rows, found) < 0.005);
  CHECK(found[at(TrainingParameter::matmul_ampere)] == Approx(0.6).epsilon(0.05));
}

TEST_CASE("a fit keeps the default of an unused parameter and the value of a fixed one", "[fit]") {
  FitSet rows = some_rows();
  const std::vector<double> begin = [] {
    TrainingParameters p;
    p.values()[at(TrainingParameter::launch)] = 0;  // below its bounds
    return std::vector<double>(p.values().begin(), p.values().end());
  }();
  std::vector<double> moved = begin;
  moved[at(TrainingParameter::matmul_ampere)] += 0.01;
  for (std::size_t i = 0; i < rows.weights.size(); ++i)  // only rows of the A100
    if (rows.weights[i] > 0 && rows.error(i, begin) == rows.error(i, moved)) rows.weights[i] = 0;
  const std::vector<double> found = fit(rows, begin, {.fixed = {at(TrainingParameter::launch)}, .most_steps = 2});
  CHECK(found[at(TrainingParameter::matmul_volta)] == Approx(begin[at(TrainingParameter::matmul_volta)]).epsilon(1e-9));
  CHECK(found[at(TrainingParameter::launch)] == 0);
  CHECK(found[at(TrainingParameter::matmul_ampere)] != begin[at(TrainingParameter::matmul_ampere)]);
}

TEST_CASE("rows excluded from a fit do not affect it", "[fit]") {
  const FitSet rows = some_rows();
  FitSet fewer = rows;
  FitOptions options{.most_steps = 2};
  for (std::size_t i = 0; i < rows.weights.size(); ++i) {
    const bool left_out = rows.families[i].starts_with("vTrain");
    options.without.push_back(left_out);
    if (left_out) fewer.weights[i] = 0;
  }
  const TrainingParameters begin;
  CHECK(fit(rows, begin.values(), options) == fit(fewer, begin.values(), {.most_steps = 2}));
}

TEST_CASE("a fit uses at most 80 rows per family, whose weight grows more slowly than its rows", "[fit]") {
  const auto check = [](const FitSet& set, std::size_t families) {
    std::map<std::string, int> count;
    std::map<std::string, double> most;
    for (std::size_t i = 0; i < set.weights.size(); ++i) {
      if (set.weights[i] <= 0) continue;
      ++count[set.families[i]];
      most[set.families[i]] = std::max(most[set.families[i]], set.weights[i]);
    }
    CHECK(count.size() >= families);
    for (const auto& [family, n] : count) {
      INFO(family);
      CHECK(n <= 80);
      // Means of recorded runs weigh ten times as much as single figures.
      const double heaviest = family.starts_with("LLMServingSim bench") ? 10 : 1;
      CHECK(most[family] <= heaviest * std::pow(n, -0.35) * (1 + 1e-12));
    }
  };
  check(all_rows(), 20);
  const MeasurementFile inference = published_measurements(MeasurementKind::inference);
  check(inference_fit_set(inference.inference, inference.serving), 25);
}

TEST_CASE("each term of an estimator has separate parameters", "[fit]") {
  for (const AccuracyKind kind : {AccuracyKind::training, AccuracyKind::inference}) {
    std::set<std::size_t> seen;
    CHECK(estimator_terms(kind).size() > 5);
    for (const EstimatorTerm& t : estimator_terms(kind)) {
      INFO(t.name);
      CHECK_FALSE(t.left_out.empty());
      for (const auto& [parameter, value] : t.left_out) CHECK(seen.insert(parameter).second);
    }
  }
}

TEST_CASE("a fit may skip a row only if a parameter leaves its error unchanged", "[fit]") {
  const MeasurementFile file = published_measurements(MeasurementKind::inference);
  const FitSet set = inference_fit_set({file.inference.begin(), file.inference.begin() + 40}, {});
  const auto& shipped = inference_estimator().parameters.values();
  std::size_t skipped = 0;
  for (std::size_t k = 0; k < inference_parameter_count; ++k) {
    std::vector<double> values(shipped.begin(), shipped.end());
    values[k] = (values[k] + set.cards[k].high) / 2;
    for (std::size_t i = 0; i < set.keys.size(); i += 7) {
      if (!set.same(i, shipped, values)) continue;
      INFO(set.keys[i] << " " << set.cards[k].name);
      CHECK(set.error(i, shipped) == set.error(i, values));
      ++skipped;
    }
  }
  CHECK(skipped > 100);
}

TEST_CASE("intervals of known and of new devices and engines are separate", "[fit]") {
  Accuracy a;
  a.kind = AccuracyKind::inference;
  const auto add = [&](const char* family, const char* gpu, const char* engine, double error) {
    PredictedRow r;
    r.of = {.family = family, .gpu = gpu, .profile = engine, .kind = "decode"};
    r.measured = 1;
    r.predicted.value = std::exp(error);
    a.rows.push_back(r);
  };
  for (const char* family : {"a", "b", "c"}) add(family, "h100", "vllm", 0.1);
  add("d", "h100", "one engine", 0.4);
  add("e", "one device", "vllm", 0.3);
  CHECK(intervals(a).at("decode").families == 3);
  CHECK(intervals(a).at("decode").factor == Approx(std::exp(0.1 + 0.01)));
  CHECK(intervals_of_new(a).at("decode").families == 2);
  CHECK(intervals_of_new(a).at("decode").factor == Approx(std::exp(0.4 + 0.01)));
}

TEST_CASE("an interval of inference is no narrower than one of the errors in the fit", "[fit]") {
  const auto with_errors = [](AccuracyKind kind, double error) {
    Accuracy a;
    a.kind = kind;
    for (const char* family : {"a", "b", "c"}) {
      PredictedRow r;
      r.of = {.family = family, .gpu = "h100", .profile = "vllm", .kind = "decode"};
      r.measured = 1;
      r.predicted.value = std::exp(error);
      a.rows.push_back(r);
    }
    return a;
  };
  const auto factor = [&](AccuracyKind kind, double left_out, double in_fit) {
    return intervals(with_errors(kind, left_out), with_errors(kind, in_fit)).at("decode").factor;
  };
  CHECK(factor(AccuracyKind::inference, 0.1, 0.3) == Approx(std::exp(0.3 + 0.01)));
  CHECK(factor(AccuracyKind::inference, 0.3, 0.1) == Approx(std::exp(0.3 + 0.01)));
  CHECK(factor(AccuracyKind::training, 0.1, 0.3) == Approx(std::exp(0.1 + 0.01)));
}

TEST_CASE("an interval covers about 90 % of the errors on held-out families, weighted equally", "[fit]") {
  Accuracy a;
  const auto add = [&](const char* family, const char* kind, double error) {
    PredictedRow r;
    r.of.family = family;
    r.of.kind = kind;
    r.measured = 1;
    r.predicted.value = std::exp(error);
    a.rows.push_back(r);
  };
  for (int i = 0; i < 1000; ++i) add("large", "dense", 0.01);  // counts the same as each small family
  for (int i = 0; i < 4; ++i) add("small", "dense", i % 2 == 0 ? 0.2 : -0.2);
  add("other", "dense", 0.5);
  add("one", "experts", -0.7);
  TrainingEstimator e;
  e.intervals = in_order<EstimateClass>(intervals(a));
  CHECK(e.interval(EstimateClass::dense).factor == Approx(std::exp(0.5 + 0.01)));
  CHECK(e.interval(EstimateClass::dense).families == 3);
  CHECK(e.interval(EstimateClass::experts).factor == Approx(std::exp(0.7 + 0.01)));
  CHECK_FALSE(e.interval(EstimateClass::experts).known());
  CHECK(e.interval(EstimateClass::assumed).families == 0);
}

TEST_CASE("a parameter that rests on one source is marked", "[fit]") {
  for (const auto& [kind, rows] : {std::pair{AccuracyKind::training, MeasurementKind::training},
                                   std::pair{AccuracyKind::inference, MeasurementKind::inference}}) {
    const FitSet set = fit_set(published_measurements(rows), kind);
    std::vector<double> begin;
    for (const ParameterCard& card : set.cards) begin.push_back(card.standard);
    for (std::size_t p = 0; p < begin.size(); ++p) {
      INFO(set.cards[p].name);
      const bool marked = set.cards[p].meaning.find("(one source)") != std::string_view::npos;
      CHECK((sources_of(set, begin, p) == 1) == marked);
    }
  }
}
