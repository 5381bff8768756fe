// A measured throughput of training says how far the estimate is from it, for other plans on the same machine.

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using Catch::Contains;

namespace {

const std::string plan = "train llama-3.1-8b --hardware h100 --gpus 8 --fsdp ";

/// All notes of a report, a line each.
std::string notes(const json::Value& report) {
  std::string all;
  if (!report.contains("notes")) return all;
  for (const json::Value& n : report["notes"]) all += n.get<std::string>() + "\n";
  return all;
}

}  // namespace

TEST_CASE("the factor is the estimated throughput over the measured one", "[measured]") {
  for (const char* command : {"train", "report"}) {
    const json::Value r =
        test::ask(std::string(command) + " llama-3.1-8b --hardware h100 --dp 8 --measured-tokens-per-s 45000");
    CHECK(r["estimate"]["measured_scale"].get<double>() == r["step"]["tokens_per_s"].get<double>() / 45000);
    CHECK_THAT(notes(r), Contains("other plans on this machine: multiply their estimated times by "));
  }
}

TEST_CASE("there is no factor without a measurement, or without software behind the estimate", "[measured]") {
  CHECK_FALSE(test::ask(plan)["estimate"].contains("measured_scale"));
  const json::Value given = test::ask(plan + "--efficiency 0.5 --measured-tokens-per-s 45000");
  CHECK_FALSE(given.contains("estimate"));
  CHECK_THAT(notes(given), !Contains("multiply their estimated times"));
}

TEST_CASE("a measurement far off its estimate is doubted", "[measured]") {
  CHECK_THAT(notes(test::ask(plan + "--measured-tokens-per-s 5000")), Contains("check that the plan is the measured"));
  CHECK_THAT(notes(test::ask(plan + "--measured-tokens-per-s 45000")), !Contains("check that the plan"));
}

TEST_CASE("compare re-scales the other plan by the measured one", "[measured][compare]") {
  const std::string of = "compare --of '" + plan + "--measured-tokens-per-s 45000' --vs ";
  const json::Value r = test::ask(of + "'--recompute full'");
  const json::Value &a = r["sides"][0], &b = r["sides"][1];
  const double scale = a["estimate"]["measured_scale"];
  CHECK_FALSE(b["estimate"].contains("measured_scale"));
  CHECK_FALSE(b["inputs"].contains("measured_tokens_per_s"));
  const json::Value& last = r["differences"].back();
  CHECK(last["quantity"] == "step.rescaled_time_s");
  CHECK(last["a"].get<double>() == scale * a["step"]["time_s"].get<double>());
  CHECK(last["b"].get<double>() == scale * b["step"]["time_s"].get<double>());
  CHECK_THAT(notes(r), Contains("the interval of class dense, re-scaled by a measured step"));
}

TEST_CASE("a measured step says nothing about other hardware or software", "[measured][compare]") {
  const std::string of = "compare --of '" + plan + "--measured-tokens-per-s 45000' --vs ";
  for (const char* other : {"'--hardware h200'", "'--software torchtitan'"})
    CHECK_THAT(test::ask(of + other).dump(), !Contains("rescaled_time_s"));
}
