#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "evidence/accuracy.hpp"
#include "evidence/fit/left_out.hpp"
#include "evidence/fit/once_measured.hpp"
#include "presets/estimators/inference_estimator.hpp"
#include "presets/estimators/training_estimator.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

/// A line of evidence/residuals: id, quantity, class, measured, predicted, and predicted by a fit without the row's
/// source.
struct Residual {
  std::string row;  ///< id and quantity
  double measured = 0, predicted = 0, left_out = 0;
};

Residual residual_of(const std::string& line) {
  std::vector<std::string> from_behind;
  std::string rest = line;
  for (int field = 0; field < 4; ++field) {
    const std::size_t comma = rest.rfind(',');
    from_behind.push_back(rest.substr(comma + 1));
    rest.resize(comma);
  }
  return {rest, std::stod(from_behind[2]), std::stod(from_behind[1]), std::stod(from_behind[0])};
}

std::vector<Residual> committed(const std::string& kind) {
  std::ifstream file(std::string(LLMCALC_SOURCE_DIR) + "/evidence/residuals/" + kind + ".csv");
  std::vector<Residual> all;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) all.push_back(residual_of(line));
  return all;
}

/// Predictions and measurements of the shipped rows.
std::map<std::string, PredictedRow> predicted(MeasurementKind rows, AccuracyKind kind) {
  std::map<std::string, PredictedRow> all;
  for (const PredictedRow& r : accuracy(published_measurements(rows), kind).rows)
    all.emplace(r.id + "," + r.quantity, r);
  return all;
}

/// Rounds to five digits.
bool rounds_to(double x, double shown) { return std::fabs(x - shown) <= 1e-4 * std::fabs(x); }

/// The shipped rows used in a fit, with one of their committed predictions.
Accuracy committed_as(double Residual::*prediction, const std::string& name, MeasurementKind rows, AccuracyKind kind) {
  std::map<std::string, double> values;
  for (const Residual& r : committed(name)) values[r.row] = r.*prediction;
  Accuracy a = accuracy(published_measurements(rows), kind);
  std::erase_if(a.rows, [&](const PredictedRow& r) { return !values.contains(r.id + "," + r.quantity); });
  for (PredictedRow& r : a.rows) r.predicted.value = values.at(r.id + "," + r.quantity);
  return a;
}

/// Shipped intervals follow from exact parameters, residuals from the shipped ones, which have four digits.
template <typename Class>
void check_shipped(const IntervalsByClass& found, const std::array<EstimateInterval, choices<Class>.size()>& shipped) {
  const auto intervals = in_order<Class>(found);
  for (const auto& c : choices<Class>) {
    INFO(c.name);
    const auto i = static_cast<std::size_t>(c.value);
    CHECK(shipped[i].families == intervals[i].families);
    CHECK(shipped[i].factor == Approx(intervals[i].factor).epsilon(1e-2));
  }
}

}  // namespace

TEST_CASE("the shipped intervals follow from the committed residuals of held-out sources", "[accuracy]") {
  const auto training_as = [](double Residual::*prediction) {
    return committed_as(prediction, "training", MeasurementKind::training, AccuracyKind::training);
  };
  const auto inference_as = [](double Residual::*prediction) {
    return committed_as(prediction, "inference", MeasurementKind::inference, AccuracyKind::inference);
  };
  const Accuracy training = training_as(&Residual::left_out), inference = inference_as(&Residual::left_out);
  check_shipped<EstimateClass>(intervals(training), training_estimator().intervals);
  check_shipped<EstimateClass>(intervals_after_a_step(training), training_estimator().intervals_once_measured);
  const IntervalsByClass usual = intervals(inference, inference_as(&Residual::predicted));
  check_shipped<InferenceClass>(usual, inference_estimator().intervals);
  check_shipped<InferenceClass>(intervals_after_a_run(inference, usual), inference_estimator().intervals_after_a_run);
  check_shipped<InferenceClass>(intervals_of_new(inference), inference_estimator().intervals_new);
}

TEST_CASE("the committed residuals follow from the shipped parameters", "[accuracy]") {
  const auto [name, rows, kind] = GENERATE(table<const char*, MeasurementKind, AccuracyKind>(
      {{"training", MeasurementKind::training, AccuracyKind::training},
       {"inference", MeasurementKind::inference, AccuracyKind::inference}}));
  const std::vector<Residual> residuals = committed(name);
  const std::map<std::string, PredictedRow> all = predicted(rows, kind);
  CHECK(residuals.size() > 500);
  for (const Residual& r : residuals) {
    INFO(r.row);
    REQUIRE(all.contains(r.row));
    CHECK(rounds_to(all.at(r.row).measured, r.measured));
    CHECK(rounds_to(all.at(r.row).predicted.value, r.predicted));
  }
}
