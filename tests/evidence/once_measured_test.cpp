// Intervals narrowed by a measurement on the same machine.

#include "evidence/fit/once_measured.hpp"

#include <cmath>

#include "presets/estimators/inference_estimator.hpp"
#include "presets/estimators/training_estimator.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

/// A row whose prediction has the log error `error`.
PredictedRow off_by(double error, const std::string& family, const std::string& gpu = "h100") {
  PredictedRow r;
  r.of.family = family;
  r.of.kind = "dense";
  r.of.gpu = gpu;
  r.measured = 2;
  r.predicted.value = 2 * std::exp(error);
  return r;
}

PredictedRow of_replay(double error, const std::string& family, const std::string& quantity) {
  PredictedRow r = off_by(error, family);
  r.quantity = quantity;
  return r;
}

}  // namespace

TEST_CASE("a measured step rescales other plans by the square root of its error", "[fit]") {
  CHECK(rescale(1) == 1);
  CHECK(rescale(1.21) == Approx(1.1));
  CHECK(rescale(0.25) == 0.5);
}

TEST_CASE("each measured step of a source rescales the source's other steps on the same machine", "[fit]") {
  Accuracy a;
  a.rows = {off_by(0.1, "a"),         off_by(0.3, "a"),
            off_by(0.9, "a", "a100"),                           // 0.25, 0.05; the last is the only one on its machine
            off_by(-0.2, "b"),        off_by(-0.2, "b"),        // 0.1, 0.1
            off_by(0, "c"),           off_by(0.4, "c"),         // 0.4, 0.2
            off_by(2, "d"),           off_by(3, "d", "a100")};  // no two on one machine
  const IntervalsByClass found = intervals_after_a_step(a);
  CHECK(found.at("dense").families == 3);
  CHECK(found.at("dense").factor ==
        Approx(std::exp(0.25 + 0.01)));  // five of six, which is closer to 90 % than all six
  for (PredictedRow& r : a.rows) r.of.precision = r.of.gpu + std::to_string(&r - a.rows.data());
  CHECK(intervals_after_a_step(a).empty());
}

TEST_CASE("replays from operator tables narrow only the intervals of their own error classes", "[fit]") {
  Accuracy replays;
  replays.rows = {
      of_replay(0.02, "LLMServingSim one", "tpot_mean_ms"), of_replay(-0.04, "LLMServingSim another", "tpot_p90_ms"),
      of_replay(0.5, "LLMServingSim one", "latency_mean_ms"), of_replay(0.1, "LLMServingSim one", "ttft_mean_ms")};
  const IntervalsByClass without{{"decode under load", {1.3, 5}}, {"decode", {1.8, 15}}};
  const IntervalsByClass found = intervals_with_tables(replays, without);
  REQUIRE(found.size() == 1);  // there is no class "first token" in `without`
  CHECK(found.at("decode under load").families == 6);
  const double square = (std::log(1.3) * std::log(1.3) + 0.05 * 0.05) / 2;  // related families count as one source
  CHECK(found.at("decode under load").factor == Approx(std::exp(std::sqrt(square))));
}

TEST_CASE("a measured step narrows an interval if three sources support it, and never widens one", "[fit]") {
  TrainingEstimator e;
  e.intervals = in_order<EstimateClass>({{"dense", {1.3, 5}}, {"assumed input", {1.4, 5}}, {"experts", {1.6, 5}}});
  e.intervals_once_measured =
      in_order<EstimateClass>({{"dense", {1.2, 5}}, {"assumed input", {1.2, 2}}, {"experts", {1.7, 5}}});
  CHECK(e.interval_once_measured(EstimateClass::dense).factor == 1.2);
  CHECK(e.interval_once_measured(EstimateClass::assumed).factor == 1.4);
  CHECK(e.interval_once_measured(EstimateClass::experts).factor == 1.6);
}

namespace {

PredictedRow of_run(double error, const std::string& id, const std::string& kind, const std::string& family = "a") {
  PredictedRow r = off_by(error, family);
  r.id = id;
  r.quantity = kind == "prefill" ? "prefill_tok_s" : "tpot_ms";
  r.of.kind = kind;
  if (kind == "prefill") r.predicted.value = 2 * std::exp(-error);  // a rate
  return r;
}

}  // namespace

TEST_CASE("a measured run scales the times of a source's other runs by the square root of its error", "[fit]") {
  CHECK(paced_by(1.44) == Approx(1.2));
  Accuracy a;
  a.rows = {of_run(0.4, "one", "decode"), of_run(0.4, "two", "decode"),      // 0.2 each, instead of 0.4
            of_run(0.2, "one", "prefill"), of_run(-0.2, "two", "prefill")};  // 0.3 each, instead of 0.2
  const IntervalsByClass found = intervals_after_a_run(a, {{"decode", {2, 9}}, {"prefill", {3, 9}}});
  REQUIRE(found.size() == 1);  // scaling would widen the interval of prompts
  CHECK(found.at("decode").families == 1);
  // The pairs' widths end 0.01 above their errors: 0.41 without scaling, and 0.21 with it.
  CHECK(found.at("decode").factor == Approx(std::pow(2, 0.21 / 0.41)));
}

TEST_CASE("a run's whole time scales only if it has no time per token", "[fit]") {
  Accuracy a;
  a.rows = {of_run(0.4, "one", "decode"), of_run(-0.4, "one", "whole batch"), of_run(0.4, "two", "whole batch")};
  const IntervalsByClass found = intervals_after_a_run(a, {{"decode", {2, 9}}, {"whole batch", {2, 9}}});
  // Run two scales one's decode (0.4 - 0.2) and whole batch (-0.4 - 0.2); one scales two's (0.4 - 0.2).
  CHECK(found.contains("decode"));
  CHECK_FALSE(found.contains("whole batch"));  // 0.6 and 0.2, instead of 0.4 and 0.4
}
