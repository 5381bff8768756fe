// Every estimate reports its parts, and its interval or the reason why it has none.

#include <fmt/format.h>

#include <string>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

double real(const json::Value& v) { return v.get<double>(); }
Approx about(double x) { return Approx(x).epsilon(1e-9); }

double sum_of(const json::Value& parts) {
  double all = 0;
  for (const auto& [name, seconds] : parts.items()) all += real(seconds);
  return all;
}

bool notes_say(const json::Value& report, const std::string& words) {
  return report.contains("notes") && report["notes"].dump().find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("the parts of prompt and token time add up to the total", "[estimate][cli]") {
  for (const char* plan :
       {"llama-3.1-8b --hardware h100", "llama-3.1-70b --hardware h100 --tp 8 --batch 32",
        "mixtral-8x7b --hardware h200 --tp 2 --weight-precision fp8", "llama-3.1-8b --hardware rtx-4090",
        "llama-3.1-8b --hardware a100 --software transformers", "deepseek-v3 --hardware h200 --tp 8 --batch 64",
        "llama-3.1-8b --hardware m2-ultra --prompt 100 --generate 10", "llama-3.1-8b --hardware h100 --no-kv-cache"}) {
    CAPTURE(plan);
    const json::Value r = test::ask(std::string("infer ") + plan);
    CHECK(sum_of(r["prefill"]["breakdown_s"]) == about(real(r["prefill"]["time_s"])));
    CHECK(sum_of(r["decode"]["breakdown_s"]) == about(real(r["decode"]["time_per_token_s"])));
  }
  CHECK_FALSE(test::ask("infer llama-3.1-8b --hardware h100 --software none")["decode"].contains("breakdown_s"));
}

TEST_CASE("infer breaks down the time of a token and of a prompt in one line", "[estimate][cli]") {
  const std::string out = test::llmcalc("infer llama-3.1-70b --hardware h100 --tp 8 --full").out;
  const std::size_t at = out.find("spent on");
  REQUIRE(at != std::string::npos);
  CHECK_THAT(out.substr(at, 80), Catch::Contains("decode: weight matmuls "));
  const json::Value d = test::ask("infer llama-3.1-70b --hardware h100 --tp 8")["decode"];
  CHECK_THAT(out, Catch::Contains(fmt::format("weight matmuls {:.1f} %",
                                              100 * real(d["breakdown_s"]["matmul"]) / real(d["time_per_token_s"]))));
}

TEST_CASE("a collective's time_s is an estimate without an interval", "[estimate][cli]") {
  const json::Value r = test::ask("collective all-reduce --bytes 1GiB --ranks 8 --hardware h100");
  for (const json::Value& row : r["algorithms"]) CHECK(real(row["time_s"]) > real(row["bound_time_s"]));
  CHECK(notes_say(r, "the estimate has no interval"));
  const json::Value stated = test::ask("collective all-reduce --bytes 1GiB --ranks 8 --bandwidth 100GB/s");
  for (const json::Value& row : stated["algorithms"]) CHECK(row["time_s"] == row["bound_time_s"]);
  CHECK_FALSE(notes_say(stated, "interval"));
}

TEST_CASE("a plan's estimate equals that of its printed command", "[estimate][cli][long]") {
  const json::Value plan = test::ask("plan train llama-3.1-8b --hardware mi350x --gpus 8");
  std::string train = plan["plans"][0]["command"];
  const json::Value typed = test::ask(train.substr(std::string("llmcalc ").size()));
  CHECK(plan["estimate"] == typed["estimate"]);
  CHECK(plan["estimate"]["class"] == "assumed input");
  CHECK(notes_say(plan, "devices of the same kind as mi350x"));
  const json::Value served =
      test::ask("plan serve llama-3.1-8b --hardware h100 --rate 2 --slo-ttft 500ms --slo-tpot 30ms");
  CHECK(served["inference_estimate"]["software"] == "vllm");
  CHECK(served["inference_estimate"].contains("tpot_families"));
  const std::string text =
      test::llmcalc("plan serve llama-3.1-8b --hardware h100 --rate 2 --slo-ttft 500ms --slo-tpot 30ms").out;
  CHECK_THAT(text, Catch::Contains("first token") && Catch::Contains(" ms) on average"));
}

TEST_CASE("a note states if an interval is widened because of the device", "[estimate][cli][long]") {
  for (const char* question :
       {"infer llama-3.1-8b --hardware arc-pro-b60", "infer llama-3.1-8b --hardware tpu-v4 --tp 4",
        "fit --hardware arc-pro-b60", "train llama-3.1-8b --hardware mi350x --gpus 8 --fsdp"}) {
    CAPTURE(question);
    CHECK(notes_say(test::ask(question), "covers errors on new devices"));
  }
  for (const char* question :
       {"infer llama-3.1-8b --hardware h100", "train llama-3.1-8b --hardware h100 --gpus 8 --fsdp"})
    CHECK_FALSE(notes_say(test::ask(question), "on new devices"));
}

TEST_CASE("a note names the figures that have no interval", "[estimate][cli]") {
  CHECK(notes_say(test::ask("accuracy inference " + test::measurements("inference")),
                  "no interval is available for figures of class memory"));
  CHECK_FALSE(notes_say(test::ask("accuracy training " + test::measurements("dense")), "no interval"));
}

TEST_CASE("intervals never extend below the roofline bound", "[estimate][cli]") {
  const auto rounded = [](const json::Value& bound) { return real(bound) * (1 - 1e-12); };
  for (const char* words :
       {"train mixtral-8x7b --hardware rtx-3060 --tp 2 --micro-batch 16 --seq 1024",
        "train llama-3.1-8b --hardware h100", "train deepseek-v3 --hardware h100 --gpus 256 --ep 32"}) {
    CAPTURE(words);
    const json::Value step = test::ask(words)["step"];
    CHECK(real(step["time_low_s"]) >= rounded(step["bound_time_s"]));
    CHECK(step["mfu_high"].get<double>() <=
          step["mfu"].get<double>() * step["time_s"].get<double>() / step["bound_time_s"].get<double>() * (1 + 1e-12));
  }
  for (const char* words : {"infer llama-3.1-8b --hardware h100", "infer llama-3.1-70b --hardware h100 --tp 8"}) {
    CAPTURE(words);
    const json::Value v = test::ask(words);
    CHECK(real(v["prefill"]["time_low_s"]) >= rounded(v["prefill"]["bound_time_s"]));
    CHECK(real(v["decode"]["time_per_token_low_s"]) >= rounded(v["decode"]["bound_time_per_token_s"]));
    CHECK(real(v["end_to_end"]["total_low_s"]) >= rounded(v["end_to_end"]["bound_total_s"]));
  }
}
