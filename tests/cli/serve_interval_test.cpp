// 'llmcalc serve': intervals of its times.

#include <cmath>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

json::Value served(const std::string& words) { return test::ask("serve " + words + " --rate 0.2 --num-requests 60"); }

double number(const json::Value& times, const char* key) { return times[key].get<double>(); }

/// The factor by which an interval extends above and below its mean.
double factor_of(const json::Value& times) {
  const double above = number(times, "mean_high") / number(times, "mean");
  CHECK(number(times, "mean") / number(times, "mean_low") == Approx(above).epsilon(1e-12));
  return above;
}

/// The factor by which the interval of the prefill extends above it.
double prefill_width(const json::Value& r) {
  return number(r["prefill"], "time_high_s") / number(r["prefill"], "time_s");
}

}  // namespace

TEST_CASE("a server's times have the intervals of their error classes", "[serve][estimate][cli]") {
  const json::Value r = served("llama-3.1-8b --hardware h100");
  const double each = factor_of(r["serving"]["tpot_s"]), first = factor_of(r["serving"]["ttft_s"]);
  CHECK(each > 1);
  CHECK(first > each);  // combined from four sources with different queueing
  CHECK(r["inference_estimate"]["tpot_class"] == "decode under load");
  CHECK(r["inference_estimate"]["ttft_class"] == "first token");
  CHECK(r["inference_estimate"]["tpot_families"] >= 3);
}

TEST_CASE("a lone request's first-token time is infer's prompt pass plus the overhead per request", "[serve][cli]") {
  const std::string of = "llama-3.1-8b --hardware h100 --prompt 1000 --generate 100 ";
  const json::Value alone = test::ask("serve " + of + "--users 1 --num-requests 20"), pass = test::ask("infer " + of);
  const double besides = alone["serving"]["request_s"];
  CHECK(besides > 0);
  CHECK(number(alone["serving"]["ttft_s"], "mean") ==
        Approx(pass["end_to_end"]["ttft_s"].get<double>() + besides).epsilon(1e-3));
}

TEST_CASE("at a stated efficiency, times have no interval", "[serve][estimate][cli]") {
  const json::Value r = served("llama-3.1-8b --hardware h100 --efficiency 0.5");
  CHECK_FALSE(r["serving"]["tpot_s"].contains("mean_low"));
  CHECK_FALSE(r["serving"]["ttft_s"].contains("mean_high"));
  CHECK_FALSE(r["serving"].contains("capacity_req_s_low"));
}

TEST_CASE("a device without rows in the fit has a wider interval and a note", "[estimate][cli]") {
  const std::string infer = "infer llama-3.1-8b --weight-precision int8 --hardware ";
  const json::Value known = test::ask(infer + "l40s"), unknown = test::ask(infer + "l4");
  CHECK(prefill_width(unknown) > prefill_width(known));
  CHECK(unknown["notes"].dump().find("no published inference run used l4") != std::string::npos);
  CHECK(known["notes"].dump().find("no published inference run") == std::string::npos);
}

TEST_CASE("an engine without rows in the fit has a wider interval and a note", "[estimate][cli]") {
  const std::string infer = "infer llama-3.1-8b --hardware h100 --software ";
  const json::Value known = test::ask(infer + "vllm"), unknown = test::ask(infer + "lmdeploy");
  CHECK(prefill_width(unknown) > prefill_width(known));
  CHECK(unknown["notes"].dump().find("no published inference run used") != std::string::npos);
}

TEST_CASE("without attention replicas, experts on separate ranks exchange no tokens", "[serve][cli]") {
  const std::string server = "qwen3-30b-a3b --hardware h100 --tp 4 --sp";
  const auto each = [&](const char* layout) { return number(served(server + layout)["serving"]["tpot_s"], "mean"); };
  CHECK(each(" --ep 4 --etp 1") == Approx(each("")).epsilon(1e-9));
}
