// 'llmcalc plan serve': which hardware and layout serve a load within limits.

#include <filesystem>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

const std::string load = "plan serve llama-3.1-8b --rate 20 --slo-ttft 500ms --slo-tpot 33ms --hardware ";

std::string refusal(const std::string& words) {
  const test::Ran r = test::llmcalc(words);
  CHECK(r.code == 2);
  return r.err;
}

}  // namespace

TEST_CASE("what a plan of a server says to type gives the plan's numbers", "[plan][serve][cli]") {
  const json::Value plans = test::ask(load + "h100 --top 3")["plans"];
  REQUIRE(plans.size() == 3);
  for (const json::Value& plan : plans) {
    const std::string command = plan["command"];
    CAPTURE(command);
    const json::Value served = test::ask(command.substr(command.find(' ') + 1));
    for (const char* key : {"ttft_s", "tpot_s", "latency_s", "throughput_out_tok_s", "slo_met", "usd_per_1m_output"})
      CHECK(served["serving"][key] == plan["serving"][key]);
    CHECK(served["layout"] == plan["layout"]);
    CHECK(plan["serving"]["slo_met"] >= 0.95);
    CHECK_FALSE(plan["reasons"].empty());
  }
}

TEST_CASE("a plan's command names the files of model, hardware and software", "[plan][serve][cli]") {
  const std::string folder = test::scratch() + "/a user's files";
  std::filesystem::create_directory(folder);
  for (const char* name : {"llama-3.1-8b", "h100", "vllm"})
    test::write_file(folder + "/" + name + ".json", test::llmcalc("show " + std::string(name)).out);
  const auto file = [&](const char* name) { return " \"" + folder + "/" + name + ".json\""; };
  const json::Value plan = test::ask("plan serve" + file("llama-3.1-8b") + " --hardware" + file("h100") +
                                     " --software" + file("vllm") + " --rate 2 --slo-ttft 1s")["plans"][0];
  const std::string command = plan["command"];
  CAPTURE(command);
  const json::Value served = test::ask(command.substr(command.find(' ') + 1));
  CHECK(served["serving"]["ttft_s"] == plan["serving"]["ttft_s"]);
}

TEST_CASE("one engine fewer than a plan has does not keep the limits", "[plan][serve][cli]") {
  const json::Value plan = test::ask(load + "h100 --tp 1 --top 1")["plans"][0];
  const Count engines = plan["engines"];
  REQUIRE(engines > 1);
  const json::Value fewer = test::ask(
      "serve llama-3.1-8b --hardware h100 --rate 20 --slo-ttft 500ms --slo-tpot 33ms "
      "--router least-loaded --replicas " +
      std::to_string(engines - 1));
  CHECK(fewer["serving"]["slo_met"] < 0.95);
}

TEST_CASE("plans of several hardware come cheapest first", "[plan][serve][cli]") {
  const json::Value all = test::ask(load + "h100,l40s,mi300x");
  double last = 0;
  for (const json::Value& plan : all["plans"]) {
    if (!plan.contains("usd_per_h")) continue;
    CHECK(plan["usd_per_h"] >= last);
    last = plan["usd_per_h"];
  }
  CHECK(last > 0);
  const json::Value& searched = all["searched"];
  CHECK(searched["candidates"] == 5 + 12 + 5);  // 1, 2, 4, 8, 16 ranks, and over PCI Express 7 pipelines
  CHECK_FALSE(searched["not_searched"].empty());
}

TEST_CASE("a front has no point that another beats in speed and throughput", "[plan][serve][cli]") {
  const json::Value front = test::ask(load + "h100")["front"];
  REQUIRE(front.size() > 3);
  for (std::size_t i = 1; i < front.size(); ++i) {
    CHECK(front[i]["tokens_per_s_per_user"] > front[i - 1]["tokens_per_s_per_user"]);
    CHECK(front[i]["tokens_per_s_per_gpu"] <= front[i - 1]["tokens_per_s_per_gpu"]);
  }
}

TEST_CASE("other layouts of the best plan's hardware say why they lost", "[plan][serve][cli]") {
  const json::Value r = test::ask("plan serve llama-3.1-70b --hardware h100 --rate 2 --slo-ttft 1s --slo-tpot 50ms");
  REQUIRE(r["neighbours"].size() + 1 == r["searched"]["candidates"]);
  for (const json::Value& n : r["neighbours"]) {
    CHECK(n["layout"] != r["plans"][0]["layout"]);
    CHECK_FALSE(n["reasons"][0].get<std::string>().empty());
  }
}

TEST_CASE("answers of one token have no time per token", "[plan][serve][cli]") {
  const test::Ran r = test::llmcalc("plan serve llama-3.1-8b --hardware h100 --rate 5 --generate 1 --slo-ttft 1s");
  CHECK(r.code == 0);
  CHECK(r.out.find("0 us") == std::string::npos);
}

TEST_CASE("limits that nothing keeps are answered with the best that can be had", "[plan][serve][cli]") {
  const test::Ran r = test::llmcalc("plan serve llama-3.1-70b --hardware h100 --rate 1 --slo-tpot 1ms");
  CHECK(r.code == 0);
  CHECK(r.out.find("none keeps the limits") != std::string::npos);
  CHECK(r.out.find("nearest  16 x H100 SXM 80GB: alone, a request") != std::string::npos);
  CHECK(r.out.find("tokens by communication") != std::string::npos);
}

TEST_CASE("a plan of a server that lacks something says what", "[plan][serve][cli]") {
  CHECK(refusal("plan serve llama-3.1-8b --hardware h100 --rate 2") ==
        "llmcalc: 'llmcalc plan serve' needs limits: --slo-ttft TIME, --slo-tpot TIME or both\n");
  CHECK(refusal("plan serve llama-3.1-8b --hardware h100 --slo-ttft 1s").find("a server needs traffic") !=
        std::string::npos);
  CHECK(refusal(load + "h100 --objective cost") == "llmcalc: --objective is for 'llmcalc plan train'; leave it out\n");
  CHECK(refusal(load + "h100 --gpus 8").find("--gpus") != std::string::npos);
  CHECK(refusal("plan train gpt2 --hardware h100 --gpus 8 --rate 4").find("--rate") != std::string::npos);
}
