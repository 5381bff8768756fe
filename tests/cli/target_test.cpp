/// Each change suggested by --target reaches the target, and slightly less does not.

#include <fmt/format.h>

#include "ask/answer/process_estimate.hpp"
#include "ask/request/options/options.hpp"
#include "ask/request/request.hpp"
#include "ask/request/settle.hpp"
#include "ask/request/software.hpp"
#include "ask/request/target.hpp"
#include "calc/infer.hpp"
#include "presets/load.hpp"
#include "report/infer/target_report.hpp"
#include "report/report.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;
using Catch::Contains;

namespace {

/// Seconds per decoded token in the report.
double token_seconds(const std::string& arguments) {
  return test::ask("infer " + arguments)["decode"]["time_per_token_s"];
}
double first_token_seconds(const std::string& arguments) {
  return test::ask("infer " + arguments)["end_to_end"]["ttft_s"];
}

/// A --target slightly above a plan's time per token.
std::string as_fast_as(const std::string& arguments) {
  return fmt::format(" --target '{} s'", 1.01 * token_seconds(arguments));
}

json::Value target(const std::string& arguments) { return test::ask("infer " + arguments)["target"]; }

Request request(const char* model, const char* hardware, const char* speed) {
  Request r;
  r.model = load_model(model);
  r.hardware = load_hardware(hardware);
  r.parts = part::inference | part::time | part::target;
  give(r, *find_option("--target"), speed);
  settle(r);
  return r;
}

/// Seconds of a decode step at mid-generation with the given memory bandwidth.
double seconds_at(Request r, double bandwidth) {
  r.hardware->cluster.device.bandwidth = BytesPerSecond(bandwidth);
  const Request asked = for_inference(r);
  const Plan& p = asked.plan;
  return infer(asked.model.arch, p, asked.layout, asked.hardware->cluster).middle.estimate.total().value;
}

double number(const Section& s, std::string_view key) {
  for (const Row& row : s.rows)
    if (row.key == key) return std::get<double>(row.value);
  FAIL("no " << key);
  return 0;
}

const std::string llama = "llama-3.1-70b --hardware mi300x ";

}  // namespace

TEST_CASE("the largest batch reaches the target, and one more sequence does not", "[target]") {
  const std::string small = "llama-3.1-8b --hardware h100 ";
  const json::Value t = target(small + "--target '20 ms'");
  const Count batch = t["batch"];
  CHECK(t["reached"] == true);
  CHECK(token_seconds(small + fmt::format("--batch {}", batch)) <= 0.02);
  CHECK(token_seconds(small + fmt::format("--batch {}", batch + 1)) > 0.02);
}

TEST_CASE("the suggested batch fits the device", "[target]") {
  const json::Value report = test::ask("infer llama-3.1-8b --hardware h100 --target '1 tokens/s'");
  CHECK(report["target"]["batch"] == report["limits"]["max_batch"]);
}

TEST_CASE("the suggested bandwidth reaches the target, and a thousandth less does not", "[target]") {
  for (const char* speed : {"50 tokens/s", "20 tokens/s"}) {
    const Request r = request("llama-3.1-70b", "h200", speed);
    const Section s = target_section(r);
    const double bandwidth = number(s, "memory_bytes_per_s");
    CHECK(number(s, "bandwidth_factor") == bandwidth / r.hardware->cluster.device.bandwidth.value);
    CHECK(seconds_at(r, bandwidth) <= r.target->time.value);
    CHECK(seconds_at(r, 0.999 * bandwidth) > r.target->time.value);
  }
}

TEST_CASE("no bandwidth is suggested if the other terms already exceed the target", "[target]") {
  const json::Value t = target(llama + "--target '1 us'");
  CHECK_FALSE(t.contains("bandwidth_factor"));
  CHECK_THAT(t["no_bandwidth"].get<std::string>(), Contains("regardless of memory bandwidth"));
  CHECK_THAT(t["no_batch"].get<std::string>(), Contains("batch 1 takes"));
  CHECK_THAT(t["no_tp"].get<std::string>(), Contains("--tp 8 takes") && Contains("the minimum"));
  CHECK_THAT(t["no_weight_precision"].get<std::string>(), Contains("the minimum"));
}

TEST_CASE("the suggested number of devices is the smallest that reaches the target", "[target]") {
  for (const Count n : {2, 4, 8}) CHECK(target(llama + as_fast_as(llama + fmt::format("--tp {}", n)))["tp"] == n);
}

TEST_CASE("the plan that reaches the target fits on the suggested devices", "[target]") {
  const json::Value one = test::ask("infer llama-3.1-405b --hardware h200 --target '1 tokens/s'");
  CHECK(one["inference_memory"]["fits"] == false);
  CHECK(one["target"]["reached"] == false);
  CHECK_THAT(one["target"]["no_batch"].get<std::string>(), Contains("does not fit"));
  const Count tp = one["target"]["tp"];
  const auto fits = [](Count n) {
    return test::ask(fmt::format("infer llama-3.1-405b --hardware h200 --tp {}", n))["inference_memory"]["fits"];
  };
  CHECK(fits(tp) == true);
  CHECK(fits(tp / 2) == false);
}

TEST_CASE("the suggested weight format is the widest that reaches the target", "[target]") {
  for (const char* format : {"fp8", "int4-g128"}) {
    const std::string narrower = llama + "--weight-precision " + format;
    CHECK(target(llama + as_fast_as(narrower))["weight_precision"] == format);
  }
  const json::Value narrow = target(llama + "--weight-precision q3_k --target '1 us'");
  CHECK(narrow["no_weight_precision"] == "weights are already no wider than int4-g128");
}

TEST_CASE("a first-token target limits the prompt batch", "[target]") {
  const std::string small = "llama-3.1-8b --hardware h100 ";
  const json::Value t = target(small + "--target 'TTFT 0.5 s'");
  const Count batch = t["batch"];
  CHECK(t["ttft_s"] == 0.5);
  CHECK(first_token_seconds(small + fmt::format("--batch {}", batch)) <= 0.5);
  CHECK(first_token_seconds(small + fmt::format("--batch {}", batch + 1)) > 0.5);
}

TEST_CASE("without software the target is checked at the given rates", "[target]") {
  for (const char* rates : {"--efficiency 0.5 --memory-efficiency 0.5", "--efficiency 1", "--no-kv-cache"}) {
    INFO(rates);
    const std::string plan = "llama-3.1-8b --hardware a100 " + std::string(rates);
    const double now = token_seconds(plan);
    CHECK(target(plan + fmt::format(" --target '{} s'", 1.01 * now))["reached"] == true);
    CHECK(target(plan + fmt::format(" --target '{} s'", 0.99 * now))["reached"] == false);
  }
}

TEST_CASE("the verdict states whether the plan reaches the target, and the changes that do", "[target]") {
  const auto line = [](const std::string& target) {
    const json::Value report = test::ask("infer " + llama + target);
    for (const json::Value& v : report["verdict"]["text"])
      if (v.get<std::string>().starts_with("target: ")) return v.get<std::string>();
    return std::string("none");
  };
  CHECK_THAT(line(as_fast_as(llama + "--tp 4")),
             Contains(" ms is missed: ") && Contains("each of these reaches it: ") &&
                 Contains("times the memory bandwidth, --tp 4, --weight-precision int4-g128"));
  CHECK_THAT(line("--target '5 s'"), Contains("is reached: ") && !Contains("each of these reaches it"));
  CHECK_THAT(line("--target '1 us'"), Contains("no single change reaches it") && !Contains("within the error "
                                                                                           "interval"));
  CHECK_THAT(line(as_fast_as(llama)), Contains("is reached: ") && Contains("within the error interval"));
}

TEST_CASE("a target is read as tokens/s, time per token or first-token time", "[target]") {
  const auto read = [](const char* text) { return read_target(text, "--target"); };
  CHECK(read("50 tokens/s").time == Seconds(0.02));
  CHECK(read("50tok/s").time == Seconds(0.02));
  CHECK(read("20 ms").time == Seconds(0.02));
  CHECK(read("20 ms").kind == TargetKind::time);
  CHECK(read("TTFT 0.5 s").kind == TargetKind::first_token);
  CHECK(read("ttft 500 ms").time == Seconds(0.5));
  CHECK(read("45 % MFU").amount == 0.45);
  CHECK(read("0.45 mfu").amount == 0.45);
  CHECK(read("30 days").amount == 30);
  for (const char* text : {"50 tokens/s", "20 ms", "8.5 s", "TTFT 0.5 s", "45 % MFU", "30 days"})
    CHECK(target_text(read(text)) == text);
  CHECK(target_text(read("TTFT 500 ms")) == "TTFT 0.5 s");
}

TEST_CASE("an invalid target is rejected with a one-sentence error", "[target][errors]") {
  for (const char* text : {"", "0", "50", "fast", "0 tokens/s", "-5 tokens/s", "-20 ms", "0 ms", "TTFT", "TTFT 0 s",
                           "TTFT 5 tokens/s", "inf tokens/s", "1e-320 s", "130 % MFU", "0 days", "-3 % MFU", "MFU"}) {
    INFO(text);
    CHECK_THAT(test::sentence([&] { read_target(text, "--target"); }),
               Catch::StartsWith("--target: expected a speed above 0"));
  }
  const test::Ran r = test::llmcalc("infer " + llama + "--target 0");
  CHECK(r.code == 2);
  CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
}

TEST_CASE("the error for a --target of the wrong kind shows the correct usage", "[target][errors]") {
  const auto refused = [](const std::string& arguments) {
    const test::Ran r = test::llmcalc(arguments);
    CHECK(r.code == 2);
    CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
    return r.err;
  };
  CHECK_THAT(refused("memory llama-3.1-8b --hardware h100 --target '50 tokens/s'"),
             Contains("--target is not an option of 'llmcalc memory', only of"));
  CHECK_THAT(refused("train llama-3.1-8b --hardware h100 --target 'TTFT 1 s'"),
             Contains("applies to inference; for training use"));
  CHECK_THAT(refused("infer llama-3.1-8b --hardware h100 --target '45 % MFU'"),
             Contains("applies to training; for inference use"));
  CHECK_THAT(refused("train llama-3.1-8b --hardware h100 --target '30 days'"), Contains("requires --tokens D"));
}
