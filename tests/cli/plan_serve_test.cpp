// 'llmcalc plan serve': hardware and layouts that serve a load within latency limits.

#include <algorithm>
#include <filesystem>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using Catch::Contains;

namespace {

const std::string load = "plan serve llama-3.1-8b --rate 20 --slo-ttft 500ms --slo-tpot 33ms --hardware ";

/// The result of a plan's printed command.
json::Value run_of(const json::Value& plan) {
  const std::string command = plan["command"];
  return test::ask(command.substr(command.find(' ') + 1));
}

/// Fraction of requests within the limits on `engines` engines with the plan's router.
double saved(const std::string& question, Count engines) {
  const std::string router = engines > 1 ? " --router least-loaded --replicas " + std::to_string(engines) : "";
  return test::ask("serve " + question + router)["serving"]["slo_met"];
}

std::string refusal(const std::string& words) {
  const test::Ran r = test::llmcalc(words);
  CHECK(r.code == 2);
  return r.err;
}

}  // namespace

TEST_CASE("the command printed for a serving plan reproduces the plan's numbers", "[plan][serve][cli]") {
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

TEST_CASE("a serving plan uses the software of its printed command, even if layouts differ in software",
          "[plan][serve][cli][long]") {
  // One RTX 4090 is served by llama.cpp, several by vLLM.
  const json::Value plans =
      test::ask("plan serve llama-3.1-8b --hardware rtx-4090 --rate 10 --prompt 500 --slo-tpot 40ms")["plans"];
  bool several = false;
  for (const json::Value& plan : plans) {
    const json::Value served = run_of(plan);
    CAPTURE(plan["command"].get<std::string>());
    for (const char* key : {"ttft_s", "tpot_s", "itl_s", "latency_s", "slo_met"})
      CHECK(served["serving"][key] == plan["serving"][key]);
    several = several || plan["layout"]["tp"] > 1;
  }
  CHECK(several);
  const std::string large = "mixtral-8x7b --hardware rtx-4090 --tp 8 --users 100 --prompt 200 --generate 800";
  const std::string limits = " --slo-ttft 1.5 --slo-tpot 0.02";
  REQUIRE(saved(large + limits, 7) >= 0.95);
  const json::Value one = test::ask(
      "plan serve mixtral-8x7b --hardware rtx-4090 --users 100 --prompt 200 --generate 800" + limits)["plans"][0];
  CHECK(one["layout"]["gpus"] <= 56);
}

TEST_CASE("a serving plan has the fewest engines that meet the limits in serve", "[plan][serve][cli]") {
  const std::string load = " --users 100 --prompt 4k --think-time 30s --slo-ttft 500ms --slo-tpot 33ms";
  const std::string server = "llama-3.1-70b --hardware mi300x --tp 8" + load;
  const Count engines = test::ask("plan serve " + server)["plans"][0]["engines"];
  CHECK(saved(server, engines) >= 0.95);
  for (Count n = 1; n < engines; ++n) CHECK(saved(server, n) < 0.95);
}

// Three engines barely meet the limits in some draws of the traffic and miss them in others.
TEST_CASE("a serving plan meets its limits for every seed", "[plan][serve][cli]") {
  const std::string server =
      "llama-3.1-70b --hardware mi300x --tp 4 --users 105 --prompt 4k --think-time 30s --slo-ttft 482ms --slo-tpot "
      "33ms";
  const auto draw = [&](Count engines, int seed) { return saved(server + " --seed " + std::to_string(seed), engines); };
  REQUIRE(saved(server, 3) >= 0.95);
  REQUIRE(draw(3, 2) < 0.95);
  const Count engines = test::ask("plan serve " + server)["plans"][0]["engines"];
  CHECK(engines == 4);
  for (int seed = 0; seed < 8; ++seed) CHECK(draw(engines, seed) >= 0.95);
}

TEST_CASE("a serving plan may combine tensor-parallel attention with whole experts", "[plan][serve][cli]") {
  const std::string question = "gpt-oss-120b --hardware h100 --rate 60 --slo-ttft 1 --slo-tpot 50ms";
  const json::Value r = test::ask("plan serve " + question);
  CHECK(r["searched"]["candidates"] == 5 + 4 + 4);  // 1 to 16 ranks; data-parallel layouts; whole experts
  const json::Value& plans = r["plans"];
  const auto both = std::find_if(plans.begin(), plans.end(), [](const json::Value& plan) {
    return plan["layout"]["tp"] > 1 && plan["layout"]["ep"] == plan["layout"]["tp"];
  });
  REQUIRE(both != plans.end());
  CHECK_THAT((*both)["command"].get<std::string>(), Catch::Contains("--etp 1") && Catch::Contains("--sp"));
  CHECK(run_of(*both)["serving"]["ttft_s"] == (*both)["serving"]["ttft_s"]);
  CHECK(run_of(*both)["layout"] == (*both)["layout"]);
}

TEST_CASE("a plan for a model published in 4 bits uses the checkpoint's weights, with a note", "[plan][serve][cli]") {
  const std::string words = "plan serve gpt-oss-120b --hardware h100,h200,b200 --rate 5 --slo-ttft 1 --slo-tpot 50ms";
  const json::Value plan = test::ask(words)["plans"][0];
  CHECK(plan["layout"]["gpus"] == 1);  // weights of 60.8 GiB on 80 GiB; 217.6 GiB in 16 bits
  CHECK(plan["memory"]["weights_bytes"] == 65248815744);
  CHECK_THAT(test::llmcalc(words + " --full").out,
             Catch::Contains("note: weights in mxfp4 (experts), bf16, as in the checkpoint"));
  CHECK_THAT(test::llmcalc("serve gpt-oss-120b --hardware h100 --rate 1 --num-requests 100 --weight-precision "
                           "experts=mxfp4")
                 .out,
             !Catch::Contains("the checkpoint's"));
}

TEST_CASE("a serving plan is no larger than a server found by hand", "[plan][serve][cli][long]") {
  const std::string users = "llama-3.1-8b --hardware mi300x --users 300 --prompt 3000 --generate 50 --slo-ttft 0.7 ";
  REQUIRE(saved(users + "--slo-tpot 0.06 --tp 2", 5) >= 0.95);
  CHECK(test::ask("plan serve " + users + "--slo-tpot 0.06")["plans"][0]["layout"]["gpus"] <= 10);
  const std::string rate =
      "qwen3-30b-a3b --hardware a100-sxm-80gb --rate 60 --prompt 3000 --generate 50 --slo-ttft 0.3 --slo-tpot 0.02";
  REQUIRE(saved(rate, 36) >= 0.95);
  CHECK(test::ask("plan serve " + rate)["plans"][0]["layout"]["gpus"] <= 36);
}

TEST_CASE("a serving plan routes a session's turns to the engine that caches its tokens", "[plan][serve][cli]") {
  const std::string server = "llama-3.1-8b --hardware h100 --tp 1 --rate 12.5 --turns 4 --slo-ttft 300ms";
  const json::Value plan = test::ask("plan serve " + server)["plans"][0];
  const std::string near = " --router prefix-aware --replicas ";
  CHECK(plan["engines"] == 3);
  CHECK_THAT(plan["command"].get<std::string>(), Catch::Contains("--router prefix-aware"));
  CHECK(test::ask("serve " + server + near + "3")["serving"]["slo_met"] >= 0.95);
  CHECK(test::ask("serve " + server + near + "2")["serving"]["slo_met"] < 0.95);
  CHECK(run_of(plan)["serving"]["ttft_s"] == plan["serving"]["ttft_s"]);
}

TEST_CASE("a plan for a request log uses prefix-aware routing only if the log has several prefixes",
          "[plan][serve][cli]") {
  const auto command = [](const std::string& fields) {
    const std::string path = test::scratch() + "/log.jsonl";
    std::string log;
    for (int i = 0; i < 400; ++i) {
      std::string name = std::to_string(i % 7);
      std::string line = R"({"arrival": )" + std::to_string(0.01 * i) + R"(, "prompt": 900, "generated": 50)" + fields;
      for (std::size_t at = line.find('#'); at != std::string::npos; at = line.find('#')) line.replace(at, 1, name);
      log += line + "}\n";
    }
    test::write_file(path, log);
    return test::ask("plan serve llama-3.1-8b --hardware h100 --tp 1 --slo-ttft 100ms --requests " +
                     path)["plans"][0]["command"]
        .get<std::string>();
  };
  CHECK_THAT(command(R"(, "prefix": "p#:512")"), Catch::Contains("--router prefix-aware"));
  CHECK_THAT(command(R"(, "prefix": 512)"), Catch::Contains("--router least-loaded"));
}

TEST_CASE("an inconclusive sample of 100 requests does not eliminate a layout", "[plan][serve][cli]") {
  const std::string server =
      "qwen3-30b-a3b --hardware a100-sxm-80gb --tp 4 --rate 60 --prompt 3000 --generate 50 --slo-ttft 0.3 "
      "--slo-tpot 0.02 --lengths lognormal:0.7";
  REQUIRE(saved(server, 13) >= 0.95);
  const json::Value plans = test::ask("plan serve " + server)["plans"];
  REQUIRE(plans.size() == 1);
  CHECK(plans[0]["engines"] <= 13);
}

TEST_CASE("a serving plan has no growing queue, even if the limits could be met with one for a while",
          "[plan][serve][cli]") {
  const std::string server = "llama-3.1-8b --hardware h100 --tp 1 --rate 23 --slo-ttft 60s";
  const json::Value plan = test::ask("plan serve " + server)["plans"][0];
  REQUIRE(saved(server, 2) >= 0.95);
  CHECK(plan["engines"] == 3);
  CHECK(plan["load_per_engine"].get<double>() == Approx(23.0 / 3));
  CHECK(23 < plan["serving"]["capacity_req_s"].get<double>());
}

TEST_CASE("a serving plan's command names the files of model, hardware and software", "[plan][serve][cli]") {
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

TEST_CASE("a serving plan with one engine fewer misses the limits", "[plan][serve][cli]") {
  const json::Value plan = test::ask(load + "h100 --tp 1 --top 1")["plans"][0];
  const Count engines = plan["engines"];
  REQUIRE(engines > 1);
  const json::Value fewer = test::ask(
      "serve llama-3.1-8b --hardware h100 --rate 20 --slo-ttft 500ms --slo-tpot 33ms "
      "--router least-loaded --replicas " +
      std::to_string(engines - 1));
  CHECK(fewer["serving"]["slo_met"] < 0.95);
}

TEST_CASE("serving plans for several hardware types are sorted by price", "[plan][serve][cli]") {
  const json::Value all = test::ask(load + "h100,l40s,mi300x");
  double last = 0;
  for (const json::Value& plan : all["plans"]) {
    if (!plan.contains("usd_per_h")) continue;
    CHECK(plan["usd_per_h"] >= last);
    last = plan["usd_per_h"];
  }
  CHECK(last > 0);
  const json::Value& searched = all["searched"];
  CHECK(searched["candidates"] == 5 + 12 + 5);  // 1, 2, 4, 8, 16 ranks; over PCI Express also 7 pipelines
  CHECK_FALSE(searched["not_searched"].empty());
}

TEST_CASE("no plan on a Pareto front is dominated in both speed and throughput", "[plan][serve][cli]") {
  const json::Value front = test::ask(load + "h100")["front"];
  REQUIRE(front.size() > 3);
  for (std::size_t i = 1; i < front.size(); ++i) {
    CHECK(front[i]["tokens_per_s_per_user"] > front[i - 1]["tokens_per_s_per_user"]);
    CHECK(front[i]["tokens_per_s_per_gpu"] <= front[i - 1]["tokens_per_s_per_gpu"]);
  }
}

TEST_CASE("the interval of a plan's engines is the plan at the ends of the pass times' interval",
          "[plan][serve][cli]") {
  const auto best = [](double rate, double seconds) {
    return test::ask(
        fmt::format("plan serve llama-3.1-8b --hardware h100 --tp 1 --num-requests 2000 --rate {} --slo-tpot "
                    "{}s",
                    rate, seconds))["plans"][0];
  };
  const json::Value plan = best(40, 0.06);
  const json::Value& tpot = plan["serving"]["tpot_s"];
  const double slower = tpot["mean_high"].get<double>() / tpot["mean"].get<double>();
  CHECK(plan["engines_low"] < plan["engines"]);
  CHECK(plan["engines_high"] == best(40 * slower, 0.06 / slower)["engines"]);
  CHECK(plan["engines_low"] == best(40 / slower, 0.06 * slower)["engines"]);
  CHECK(plan["usd_per_h_high"].get<double>() / plan["usd_per_h"].get<double>() ==
        Approx(plan["engines_high"].get<double>() / plan["engines"].get<double>()));
}

TEST_CASE("a device without published runs is counted at the slow end of its interval if it competes with others",
          "[plan][serve][cli]") {
  const std::string load = " --rate 20 --num-requests 1000 --prompt 500 --generate 100 --slo-tpot 80ms --top 5";
  const auto plans_on = [&](const std::string& hardware) {
    return test::ask("plan serve llama-3.1-8b --tp 1 --hardware " + hardware + load)["plans"];
  };
  const auto engines = [](const json::Value& plans) {
    for (const json::Value& p : plans)
      if (p["hardware"] == "h800-sxm-80gb") return p["engines"].get<Count>();
    return Count{0};
  };
  const json::Value alone = plans_on("h800"), among = plans_on("h800,h100");
  CHECK_FALSE(alone[0].contains("pass_times_in_search"));
  CHECK(engines(among) > engines(alone));
  CHECK(engines(among) == alone[0]["engines_high"]);
  for (const json::Value& p : among) CHECK(p.contains("pass_times_in_search") == (p["hardware"] == "h800-sxm-80gb"));
  const std::string text = test::llmcalc("plan serve llama-3.1-8b --tp 1 --hardware h800,h100" + load).out;
  CHECK_THAT(text, Contains("no published run on h800-sxm-80gb under vllm"));
}

TEST_CASE("every other layout on the best plan's hardware states why it lost", "[plan][serve][cli]") {
  const json::Value r = test::ask("plan serve llama-3.1-70b --hardware h100 --rate 2 --slo-ttft 1s --slo-tpot 50ms");
  REQUIRE(r["neighbours"].size() + 1 == r["searched"]["candidates"]);
  for (const json::Value& n : r["neighbours"]) {
    CHECK(n["layout"] != r["plans"][0]["layout"]);
    CHECK_FALSE(n["reasons"][0].get<std::string>().empty());
  }
}

TEST_CASE("single-token answers have no time per token", "[plan][serve][cli]") {
  const test::Ran r = test::llmcalc("plan serve llama-3.1-8b --hardware h100 --rate 5 --generate 1 --slo-ttft 1s");
  CHECK(r.code == 0);
  CHECK(r.out.find("0 us") == std::string::npos);
}

TEST_CASE("if the limits are unattainable, the answer is the nearest plan", "[plan][serve][cli]") {
  const test::Ran r = test::llmcalc("plan serve llama-3.1-70b --hardware h100 --rate 1 --slo-tpot 1ms");
  CHECK(r.code == 0);
  CHECK(r.out.find("no layout meets the limits") != std::string::npos);
  CHECK(r.out.find("nearest  16 x H100 SXM 80GB: without queueing, TTFT is") != std::string::npos);
  CHECK(r.out.find("prefill is bound by communication, decode by ") != std::string::npos);
}

TEST_CASE("if the limits are unattainable, the JSON plan list is empty and the nearest plans are given",
          "[plan][serve][cli]") {
  const json::Value r = test::ask("plan serve llama-3.1-70b --hardware h100 --rate 1 --slo-ttft 1ms --slo-tpot 1ms");
  CHECK(r["plans"] == json::Value::array());
  REQUIRE(r["nearest"].size() == 2);
  for (const json::Value& n : r["nearest"]) {
    CHECK(n["limit_s"] == 1e-3);
    CHECK(n[n["slo"].get<std::string>() + "_s"] > 1e-3);
    CHECK(n["layout"]["gpus"] >= 1);
  }
  CHECK(r["nearest"][0]["ttft_s"] <= r["nearest"][1]["ttft_s"]);
  CHECK(r["nearest"][1]["tpot_s"] <= r["nearest"][0]["tpot_s"]);
}

TEST_CASE("if no layout has enough memory for a request, the answer states the limit and a remedy",
          "[plan][serve][cli]") {
  const test::Ran r = test::llmcalc("plan serve llama-3.1-405b --hardware rtx-4090 --tp 2 --rate 1 --slo-ttft 1s");
  CHECK(r.code == 0);
  CHECK(r.out.find("no searched layout has enough free memory for a request") != std::string::npos);
  CHECK(r.out.find("no: weights (") != std::string::npos);
  CHECK(r.out.find("to fit") != std::string::npos);
}

TEST_CASE("--top sets the number of plans", "[plan][serve][cli]") {
  for (const std::size_t top : {1U, 2U, 8U})
    CHECK(test::ask(load + "h100,h200,l40s --top " + std::to_string(top))["plans"].size() == top);
}

TEST_CASE("plans for a request log meet the limits, and one engine fewer does not", "[plan][serve][cli]") {
  std::string log;
  for (int i = 0; i < 600; ++i)
    log += "{\"arrival\": " + std::to_string(0.05 * i) + ", \"prompt\": " + std::to_string(400 + 37 * i % 3000) +
           ", \"generated\": " + std::to_string(50 + 13 * i % 400) + "}\n";
  const std::string file = test::scratch() + "/planned.jsonl",
                    question = " --requests " + file + " --slo-ttft 500ms --slo-tpot 33ms";
  test::write_file(file, log);
  const json::Value r = test::ask("plan serve llama-3.1-8b --hardware h100 --tp 1" + question);
  const json::Value& plan = r["plans"][0];
  const Count engines = plan["engines"];
  REQUIRE(engines > 1);
  CHECK(plan["serving"]["slo_met"] >= 0.95);
  const std::string command = plan["command"];
  CHECK(test::ask(command.substr(command.find(' ') + 1))["serving"]["ttft_s"] == plan["serving"]["ttft_s"]);
  const json::Value fewer =
      test::ask("serve llama-3.1-8b --hardware h100" + question +
                (engines > 2 ? " --router least-loaded --replicas " + std::to_string(engines - 1) : ""));
  CHECK(fewer["serving"]["slo_met"] < 0.95);
  CHECK(r["front"].size() > 2);
}

TEST_CASE("a larger fleet is represented by 32 simulated engines, and its totals are scaled up", "[plan][serve][cli]") {
  const json::Value r = test::ask("plan serve llama-3.1-8b --hardware h100 --tp 1 --rate 400 --slo-ttft 1s --top 1");
  const json::Value& plan = r["plans"][0];
  REQUIRE(plan["engines"] > 32);
  const double share = plan["simulated_share"];
  CHECK(share == Approx(32.0 / plan["engines"].get<double>()).epsilon(1e-12));
  const json::Value part = test::ask("serve llama-3.1-8b --hardware h100 --replicas 32 --router least-loaded --rate " +
                                     std::to_string(400 * share))["serving"];
  CHECK(share * plan["serving"]["throughput_req_s"].get<double>() ==
        Approx(part["throughput_req_s"].get<double>()).epsilon(1e-4));
  CHECK(plan["serving"]["kv_occupancy"] <= plan["serving"]["kv_occupancy_max"]);
  const std::string command = plan["command"];
  const json::Value whole = test::ask(command.substr(command.find(' ') + 1))["serving"];
  CHECK(plan["serving"]["slo_met"].get<double>() == Approx(whole["slo_met"].get<double>()).margin(0.02));
  CHECK(plan["serving"]["usd_per_1m_output"].get<double>() ==
        Approx(whole["usd_per_1m_output"].get<double>()).epsilon(0.03));
}

TEST_CASE("the error for an incomplete serving-plan request names the missing part", "[plan][serve][cli]") {
  CHECK(refusal("plan serve llama-3.1-8b --hardware h100 --rate 2") ==
        "llmcalc: 'llmcalc plan serve' needs limits: --slo-ttft TIME, --slo-tpot TIME or both\n");
  CHECK(refusal("plan serve llama-3.1-8b --hardware h100 --slo-ttft 1s").find("a server requires traffic") !=
        std::string::npos);
  CHECK(refusal(load + "h100 --objective cost") ==
        "llmcalc: --objective applies only to 'llmcalc plan train'; "
        "omit it\n");
  CHECK(refusal(load + "h100 --gpus 8").find("--gpus") != std::string::npos);
  CHECK(refusal("plan train gpt2 --hardware h100 --gpus 8 --rate 4").find("--rate") != std::string::npos);
}
