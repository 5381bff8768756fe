// A measured training throughput gives the estimate's error and rescales other plans on the same machine.

#include <cmath>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using Catch::Contains;

namespace {

const std::string plan = "train llama-3.1-8b --hardware h100 --gpus 8 --fsdp ";

/// All notes of a report, one per line.
std::string notes(const json::Value& report) {
  std::string all;
  if (!report.contains("notes")) return all;
  for (const json::Value& n : report["notes"]) all += n.get<std::string>() + "\n";
  return all;
}

}  // namespace

TEST_CASE("the measured scale is the estimated throughput divided by the measured one", "[measured]") {
  for (const char* command : {"train", "report"}) {
    const json::Value r =
        test::ask(std::string(command) + " llama-3.1-8b --hardware h100 --dp 8 --measured-tokens-per-s 45000");
    CHECK(r["estimate"]["measured_scale"].get<double>() == r["step"]["tokens_per_s"].get<double>() / 45000);
    CHECK_THAT(notes(r), Contains("for other plans on this machine, multiply the estimated times by "));
  }
}

TEST_CASE("a report without a measurement or without a software estimate has no measured scale", "[measured]") {
  CHECK_FALSE(test::ask(plan)["estimate"].contains("measured_scale"));
  const json::Value given = test::ask(plan + "--efficiency 0.5 --measured-tokens-per-s 45000");
  CHECK_FALSE(given.contains("estimate"));
  CHECK_THAT(notes(given), !Contains("multiply the estimated times"));
}

TEST_CASE("a measurement far from its estimate gets a warning", "[measured]") {
  CHECK_THAT(notes(test::ask(plan + "--measured-tokens-per-s 5000")), Contains("check that the plan matches the "
                                                                               "measured"));
  CHECK_THAT(notes(test::ask(plan + "--measured-tokens-per-s 45000")), !Contains("check that the plan"));
}

TEST_CASE("compare rescales the second plan's time by the square root of the first's measured scale",
          "[measured][compare]") {
  const std::string of = "compare --of '" + plan + "--measured-tokens-per-s 45000' --vs ";
  const json::Value r = test::ask(of + "'--recompute full'");
  const json::Value &a = r["sides"][0], &b = r["sides"][1];
  const double scale = a["estimate"]["measured_scale"];
  CHECK_FALSE(b["estimate"].contains("measured_scale"));
  CHECK_FALSE(b["inputs"].contains("measured_tokens_per_s"));
  const json::Value& last = r["differences"].back();
  CHECK(last["quantity"] == "step.rescaled_time_s");
  CHECK(last["a"].get<double>() == scale * a["step"]["time_s"].get<double>());  // the measured time
  CHECK(last["b"].get<double>() == std::sqrt(scale) * b["step"]["time_s"].get<double>());
  CHECK_THAT(notes(r), Contains("in 9 of 10 cases"));
}

TEST_CASE("a measured step does not rescale plans on other hardware or software", "[measured][compare]") {
  const std::string of = "compare --of '" + plan + "--measured-tokens-per-s 45000' --vs ";
  for (const char* other : {"'--hardware h200'", "'--software torchtitan'"})
    CHECK_THAT(test::ask(of + other).dump(), !Contains("rescaled_time_s"));
}

TEST_CASE("a measurement rescales all searched plans by one factor and keeps their order", "[measured][plan]") {
  const std::string plan = "plan train gpt2 --hardware h100 --gpus 8 --global-batch 64 --top 5 ";
  const json::Value as_estimated = test::ask(plan),
                    measured = test::ask(plan + "--measured-tokens-per-s 400000 --measured-plan '--tp 2'");
  const json::Value train =
      test::ask("train gpt2 --hardware h100 --gpus 8 --global-batch 64 --tp 2 --measured-tokens-per-s 400000");
  const double scale = train["estimate"]["measured_scale"];
  CHECK(measured["estimate"]["measured_scale"].get<double>() == Approx(scale).epsilon(1e-12));
  REQUIRE(measured["plans"].size() == as_estimated["plans"].size());
  const double factor = std::sqrt(scale);  // half of a run's error is specific to the run
  for (std::size_t i = 0; i < measured["plans"].size(); ++i) {
    const json::Value &a = as_estimated["plans"][i], &b = measured["plans"][i];
    CHECK(a["command"] == b["command"]);
    CHECK(b["step"]["time_s"].get<double>() == Approx(factor * a["step"]["time_s"].get<double>()).epsilon(1e-12));
    const auto width = [](const json::Value& step) {
      return step["time_high_s"].get<double>() / step["time_s"].get<double>();
    };
    CHECK(width(b["step"]) < width(a["step"]));
  }
  for (std::size_t i = 0; i < measured["neighbours"].size(); ++i)
    CHECK(measured["neighbours"][i]["step"]["time_s"].get<double>() ==
          Approx(factor * as_estimated["neighbours"][i]["step"]["time_s"].get<double>()).epsilon(1e-12));
}

TEST_CASE("the error for an invalid measured plan shows the correct usage", "[measured][plan][errors]") {
  const auto refused = [](const std::string& more) {
    const test::Ran r = test::llmcalc("plan train gpt2 --hardware h100 --global-batch 64 " + more);
    CHECK(r.code == 2);
    CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
    return r.err;
  };
  CHECK_THAT(refused("--gpus 8 --measured-plan '--tp 2'"), Catch::Contains("specify both"));
  CHECK_THAT(refused("--gpus 8 --measured-tokens-per-s 1e5 --measured-plan '--tp 5'"),
             Catch::Contains("--measured-plan '--tp 8 ...' specifies the measured plan"));
  CHECK_THAT(refused("--max-gpus 8 --measured-tokens-per-s 1e5"), Catch::Contains("needs --measured-plan"));
  CHECK_THAT(refused("--gpus 8 --measured-tokens-per-s 1e9"), Catch::Contains("of the peak of"));
  CHECK_THAT(refused("--gpus 8 --measured-tokens-per-s 1e5 --efficiency 0.5"), Catch::Contains("of a software "
                                                                                               "profile"));
}
