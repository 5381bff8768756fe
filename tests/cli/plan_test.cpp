// 'llmcalc plan': the best plans of a search.

#include <algorithm>
#include <csignal>
#include <set>

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

const char* const mixtral = "plan train mixtral-8x7b --hardware h100 --gpus 16 --global-batch 64 --seq 2048";

using test::refusal_in;

}  // namespace

TEST_CASE("the command printed for a training plan reproduces the plan's numbers", "[plan][cli]") {
  for (const std::string& words : {std::string(mixtral), std::string(mixtral) + " --objective memory",
                                   std::string("plan train gpt2 --hardware a100 --gpus 8 --global-batch 32")}) {
    CAPTURE(words);
    const json::Value plans = test::ask(words + " --top 3")["plans"];
    REQUIRE(plans.size() == 3);
    for (const json::Value& plan : plans) {
      const std::string command = plan["command"];
      const json::Value trained = test::ask(command.substr(command.find(' ') + 1));
      CHECK(trained["step"]["time_s"] == plan["step"]["time_s"]);
      CHECK(trained["memory"] == plan["memory"]);
      CHECK(trained["layout"] == plan["layout"]);
      CHECK(plan["memory"]["fits"] == true);
      CHECK_FALSE(plan["reasons"].empty());
    }
  }
}

TEST_CASE("plans are sorted best first and keep the options given by the user", "[plan][cli]") {
  const json::Value all = test::ask(std::string(mixtral) + " --tp 2 --recompute full");
  double last = 0;
  for (const json::Value& plan : all["plans"]) {
    CHECK(plan["layout"]["tp"] == 2);
    CHECK(plan["inputs"]["recompute"] == "full");
    CHECK(plan["step"]["time_s"].get<double>() >= last / 1.01);  // within 1 %, the smaller plan comes first
    last = plan["step"]["time_s"];
  }
  const json::Value& searched = all["searched"];
  CHECK(searched["candidates"] ==
        searched["fit"].get<Count>() + searched["too_large"].get<Count>() + searched["impossible"].get<Count>());
  CHECK_FALSE(searched["not_searched"].empty());
}

TEST_CASE("plans on the Pareto front trade memory for time", "[plan][cli]") {
  const json::Value front = test::ask(std::string(mixtral) + " --pareto")["front"];
  REQUIRE(front.size() > 1);
  for (std::size_t i = 1; i < front.size(); ++i) {
    CHECK(front[i]["memory"]["peak_bytes"] > front[i - 1]["memory"]["peak_bytes"]);
    CHECK(front[i]["step"]["time_s"] < front[i - 1]["step"]["time_s"]);
  }
}

TEST_CASE("a model that fits in no layout still has an answer", "[plan][cli]") {
  const test::Ran r = test::llmcalc("plan train llama-3.1-405b --hardware h100 --gpus 8 --offload none");
  CHECK(r.code == 0);
  CHECK(r.out.find("none: no plan fits") != std::string::npos);
  CHECK(r.out.find("MFU") == std::string::npos);  // no table without rows
  const json::Value v = test::ask("plan train llama-3.1-405b --hardware h100 --gpus 8 --offload none");
  CHECK(v["plans"].empty());
  const std::string more = "--gpus ";
  const std::size_t at = r.out.find("fits on");
  if (at == std::string::npos) {  // a slow machine may give up after a few seconds
    CHECK(r.out.find("no sufficient GPU count was found") != std::string::npos);
    return;
  }
  const std::string fits = r.out.substr(at);
  const std::string gpus = fits.substr(fits.find(more) + more.size(), fits.find('\n'));
  CHECK_FALSE(test::ask("plan train llama-3.1-405b --hardware h100 --offload none --top 1 --gpus " +
                        std::to_string(std::stoi(gpus)))["plans"]
                  .empty());
}

TEST_CASE("an interrupted search prints the plans found so far", "[plan][cli]") {
  const test::Ran r = test::signaled("plan train llama-3.1-405b --hardware h100 --gpus 3072 --global-batch 6144",
                                     {SIGINT}, std::chrono::milliseconds(300));
  CHECK((r.code == 130 || r.code == 0));  // a fast machine may have finished
  CHECK(r.out.find(" plans: ") != std::string::npos);
  CHECK((r.code == 0) == (r.out.find("stopped") == std::string::npos));
}

TEST_CASE("the error for an incomplete search request names the missing part", "[plan][cli]") {
  CHECK(refusal_in("plan train gpt2 --hardware h100") ==
        "llmcalc: 'llmcalc plan train' needs --gpus N, the number of GPUs to plan for\n");
  CHECK(refusal_in("plan train gpt2 --gpus 8").find("needs --hardware") != std::string::npos);
  CHECK(refusal_in("plan tune gpt2 --hardware h100 --gpus 8").find("plans training or serving") != std::string::npos);
  CHECK(refusal_in("plan train gpt2 --hardware h100 --gpus 8 --objective fun") ==
        "llmcalc: --objective: expected time, cost, energy or memory, got \"fun\"\n");
  CHECK(refusal_in("plan train gpt2 --hardware h100 --gpus 8 --top 0").find("--top: expected a positive") !=
        std::string::npos);
}

TEST_CASE("each neighbor of the best plan states why it lost", "[plan][cli]") {
  const json::Value all = test::ask(mixtral);
  const json::Value &best = all["plans"][0], &near = all["neighbours"];
  REQUIRE(near.size() > 3);
  for (const json::Value& n : near) {
    const std::string why = n["reasons"][0];
    const double peak = n["memory"]["peak_bytes"], time = n["step"]["time_s"];
    CAPTURE(n["command"], why);
    if (why.find("% faster, but needs ") != std::string::npos)
      CHECK((peak > best["memory"]["peak_bytes"] && time >= best["step"]["time_s"].get<double>() / 1.01));
    else if (why == "the process is expected to exceed the device memory")
      CHECK(peak > best["memory"]["peak_bytes"]);
    else if (why.find("exceeds memory") == 0 || why.find(" exceeds memory by ") != std::string::npos)
      CHECK(peak > best["memory"]["capacity_bytes"].get<double>());
    else
      CHECK(time >= best["step"]["time_s"].get<double>());
  }
}

TEST_CASE("a deadline is met with the fewest GPUs, or the error gives the days needed", "[plan][cli]") {
  const std::string plan =
      "plan train gpt2 --hardware h100 --global-batch 64 --tokens 100G --gpus 16 --top 1 --deadline ";
  const json::Value one = test::ask(plan + "30");
  CHECK(one["plans"][0]["layout"]["gpus"] == 1);
  const double fastest =
      100e9 /
      test::ask(
          "plan train gpt2 --hardware h100 --global-batch 64 --gpus 16 --top 1")["plans"][0]["step"]["tokens_per_s"]
          .get<double>() /
      86400;
  CHECK(fastest < 1);
  CHECK(refusal_in(plan + "0.001").find("the fastest takes") != std::string::npos);
  CHECK(refusal_in("plan train gpt2 --hardware h100 --gpus 16 --deadline 3") ==
        "llmcalc: --deadline needs --tokens D, the number of tokens to train on\n");
}

TEST_CASE("a plan that does not fit is printed with changes that make it fit", "[plan][cli]") {
  const test::Ran r = test::llmcalc("train llama-3.1-8b --hardware h100 --dp 8 --micro-batch 2");
  CHECK(r.code == 0);
  CHECK_THAT(r.out, Catch::Contains("to fit"));
}

TEST_CASE("with --require-fit, a plan that does not fit gives exit code 1", "[plan][cli]") {
  for (const char* command : {"train", "memory", "infer"}) {
    const std::string plan = std::string(command) + " llama-3.1-70b --hardware h100";
    CAPTURE(plan);
    CHECK(test::llmcalc(plan).code == 0);
    CHECK(test::llmcalc(plan + " --require-fit").code == 1);
  }
  CHECK(test::llmcalc("infer llama-3.1-8b --hardware h100 --require-fit").code == 0);
}

TEST_CASE("a search rejects options that are invalid in every layout or have no effect", "[plan][cli]") {
  const std::string gpt2 = "plan train gpt2 --hardware h100 --gpus 8 ";
  CHECK(refusal_in(gpt2 + "--seq 99999") ==
        "llmcalc: --seq 99999 exceeds the 1024 learned positions of gpt-2-124m; set at most 1024\n");
  CHECK(refusal_in(gpt2 + "--micro-batch 3").find("is not a multiple of --micro-batch 3") != std::string::npos);
  CHECK(refusal_in(gpt2 + "--weight-precision q4_k").find("is for inference") != std::string::npos);
  CHECK(
      refusal_in("plan train gpt2 --hardware v100-sxm2-32gb --gpus 8 --precision fp8").find("has no fp8 matmul peak") !=
      std::string::npos);
  for (const char* option : {"--dp 8", "--pp 2 --stage-layers 6,6", "--tokens 1T --mfu 0.4", "--tokens 1T --days 3"}) {
    CAPTURE(option);
    CHECK(refusal_in(gpt2 + option).find("has no effect in a search") != std::string::npos);
  }
}

TEST_CASE("--max-gpus picks the best of all GPU counts tried", "[plan][cli]") {
  const std::string plan = "plan train gpt2 --hardware h100 --global-batch 48 --top 1 ";
  for (const std::string objective : {"time", "cost", "memory"}) {
    CAPTURE(objective);
    const json::Value all = test::ask(plan + "--max-gpus 6 --objective " + objective);
    REQUIRE(all["numbers"].size() == 4);
    double least = 1e300;
    Count gpus = 0;
    for (const json::Value& n : all["numbers"]) {
      const Count tried = n["gpus"];
      const json::Value one =
          test::ask(plan + "--objective " + objective + " --gpus " + std::to_string(tried))["plans"][0];
      CHECK(one["step"]["time_s"] == n["step"]["time_s"]);
      CHECK(one["command"] == n["command"]);
      CHECK_FALSE(n["reasons"].empty());
      const double step = one["step"]["time_s"];
      const double value = objective == "time"   ? step
                           : objective == "cost" ? step * static_cast<double>(tried)
                                                 : one["memory"]["peak_bytes"].get<double>();
      if (value < least) gpus = tried;
      least = std::min(least, value);
    }
    CHECK(all["plans"][0]["layout"]["gpus"] == gpus);
    CHECK(all["inputs"]["gpus"] == gpus);
    CHECK(all["inputs"]["max_gpus"] == 6);
  }
  CHECK(test::llmcalc(plan + "--max-gpus 6").out.find(" 6 of up to 6: ") != std::string::npos);
}

TEST_CASE("--max-gpus cannot be combined with --gpus and must be large enough for the model", "[plan][cli]") {
  CHECK(refusal_in("plan train gpt2 --hardware h100 --gpus 4 --max-gpus 8") ==
        "llmcalc: --gpus sets the GPU count, and --max-gpus searches for it; specify one of them\n");
  const std::string small = refusal_in("plan train llama-3.1-405b --hardware h100 --max-gpus 4 --offload none");
  CHECK(small.find("llmcalc: no plan on up to 4 GPUs fits llama-3.1-405b; use ") == 0);
  CHECK((small.find("use --max-gpus ") != std::string::npos || small.find("use more GPUs: ") != std::string::npos));
  CHECK(refusal_in("plan train gpt2 --hardware h100 --max-gpus 0").find("--max-gpus: expected a positive") !=
        std::string::npos);
  const json::Value in_time =
      test::ask("plan train gpt2 --hardware h100 --max-gpus 16 --tokens 100G --deadline 30 --top 1");
  CHECK(in_time["plans"][0]["layout"]["gpus"] == 1);
}

TEST_CASE("an interrupted search over GPU counts prints the plans found so far", "[plan][cli]") {
  const test::Ran r = test::signaled("plan train llama-3.1-405b --hardware h100 --max-gpus 3072 --global-batch 6144",
                                     {SIGINT}, std::chrono::milliseconds(300));
  CHECK((r.code == 130 || r.code == 0));  // a fast machine may have finished
  CHECK(r.out.find(" plans: ") != std::string::npos);
}

TEST_CASE("an interrupted comparison of hardware prints the plans found so far", "[plan][cli]") {
  const test::Ran r = test::signaled(
      "plan train llama-3.1-70b --hardware h100,h200,b200 --max-gpus 2048 --tokens 1T --global-batch 4096", {SIGINT},
      std::chrono::milliseconds(1000));
  CHECK((r.code == 130 || r.code == 0));  // a fast machine may have finished
  if (r.code == 130 && !r.out.empty()) {  // empty: stopped before the first plan
    CHECK(r.out.find("among those searched") != std::string::npos);
    CHECK(r.out.find("b200-sxm-180gb  no plan fits") == std::string::npos);
  }
}

TEST_CASE("if no plan fits, the search applies the least offload that makes one fit", "[plan][cli]") {
  const std::string words = "plan train llama-3.1-8b --hardware h100 --gpus 1 --global-batch 2 --seq 1024";
  const json::Value v = test::ask(words);
  CHECK(v["inputs"]["offload"] == "optimizer");
  CHECK(v["notes"][0] == "no plan fits without offload; these plans use --offload optimizer");
  const std::string command = v["plans"][0]["command"];
  const json::Value trained = test::ask(command.substr(command.find(' ') + 1));
  CHECK(trained["memory"] == v["plans"][0]["memory"]);
  CHECK(trained["memory"]["fits"] == true);
  CHECK(test::ask(words + " --offload activations")["plans"].empty());  // only the specified --offload is searched
}

TEST_CASE("a deadline can be met by a GPU count between powers of two, and the report gives the run's days",
          "[plan][cli]") {
  const std::string plan = "plan train llama-3.1-8b --hardware h100 --global-batch 240 --tokens 1T --top 1 ";
  const json::Value v = test::ask(plan + "--max-gpus 64 --deadline 30");
  CHECK(v["inputs"]["gpus"] == 40);
  CHECK(v["inputs"]["max_gpus"] == 64);
  CHECK(v["run"]["days"] <= 30);
  CHECK(v["run"] == v["plans"][0]["run"]);
  const std::string command = v["plans"][0]["command"];
  CHECK(command.find("--tokens 1T") != std::string::npos);
  CHECK(test::ask(command.substr(command.find(' ') + 1))["run"]["days"] == v["run"]["days"]);
  for (const json::Value& n : v["numbers"]) {
    if (n["fits"] == false) continue;
    CHECK((n["run"]["days"] <= 30) == (n["gpus"] >= 40));
    if (n["gpus"] == 40) CHECK(n["run"]["days"] == v["run"]["days"]);
  }
  const std::string text = test::llmcalc(plan + "--gpus 64 --deadline 30 --full").out;
  CHECK(text.find("40, the fewest that train 1T tokens in 30 days: ") != std::string::npos);
  CHECK(text.find("other GPU") != std::string::npos);
}

TEST_CASE("a plan covers the whole run if --tokens is given", "[plan][cli]") {
  const std::string gpt2 = "plan train gpt2 --hardware h100 --global-batch 16 --tokens 100B --top 1 ";
  const json::Value one = test::ask(gpt2 + "--gpus 2");
  CHECK(one["run"]["days"].get<double>() ==
        Approx(100e9 / one["plans"][0]["step"]["tokens_per_s"].get<double>() / 86400));
  CHECK(test::llmcalc(gpt2 + "--gpus 2").out.find(" GPU-hours") != std::string::npos);
  CHECK(test::ask("plan train gpt2 --hardware h100 --gpus 2 --top 1").contains("run") == false);
  const json::Value all = test::ask(gpt2 + "--max-gpus 2 --objective cost");
  for (const json::Value& n : all["numbers"]) CHECK(n["run"].contains("cost_usd"));
  const std::string text = test::llmcalc(gpt2 + "--max-gpus 2 --objective cost").out;
  CHECK(text.find("the cheapest run") != std::string::npos);
  CHECK(text.find(fmt::format("{:.4g} USD", all["run"]["cost_usd"].get<double>())) != std::string::npos);
}

TEST_CASE("suggested changes that make a plan fit are valid command-line options", "[plan][cli]") {
  const std::string model = "train llama-3.1-8b --hardware h100 ";
  const json::Value v = test::ask(model + "--dp 8");
  CHECK(v["remedies"].size() == 3);
  for (const json::Value& remedy : v["remedies"]) {
    const std::string option = remedy["option"];
    CAPTURE(option);
    const bool states_dp = option.find("--dp") != std::string::npos;
    CHECK(test::ask(model + (states_dp ? "" : "--dp 8 ") + option)["memory"]["fits"] == true);
  }
}

TEST_CASE("a plan with a suggested change that makes it fit has the step time stated for the change", "[plan][cli]") {
  const std::string model = "train llama-3.1-8b --hardware h100 --fsdp ";
  const json::Value v = test::ask(model);
  CHECK(v["remedies"].size() >= 3);
  for (const json::Value& remedy : v["remedies"]) {
    const std::string option = remedy["option"];
    CAPTURE(option);
    CHECK(test::ask(model + option)["step"]["time_s"] == remedy["time_s"]);
  }
}

TEST_CASE("a plan from a search has the same process memory as its printed command", "[plan][cli]") {
  for (const char* how : {"--software none", "--efficiency 0.6", ""}) {
    CAPTURE(how);
    const json::Value v =
        test::ask("plan train llama-3.1-8b --hardware h100 --gpus 16 --global-batch 32 --top 3 " + std::string(how));
    for (const json::Value& plan : v["plans"]) {
      const std::string command = plan["command"];
      CHECK(test::ask(command.substr(command.find(' ') + 1))["memory"]["process"] == plan["memory"]["process"]);
    }
  }
}

TEST_CASE("a measured step faster than the device gets a warning, and rescales all parts of a plan", "[plan][cli]") {
  const std::string plan =
      "plan train llama-3.1-8b --hardware h100 --gpus 64 --top 1 --measured-plan '--gpus 64 --tp 8 --sp' "
      "--measured-tokens-per-s ";
  const json::Value fast = test::ask(plan + "1M"), slow = test::ask(plan + "250k");
  CHECK(fast["plans"][0]["step"]["mfu"] > 1);
  const auto is_doubted = [](const json::Value& report) {
    return std::any_of(report["notes"].begin(), report["notes"].end(), [](const json::Value& n) {
      return n.get<std::string>().find("the measured step is faster than the device peak allows") != std::string::npos;
    });
  };
  CHECK(is_doubted(fast));
  CHECK(slow["plans"][0]["step"]["mfu"] < 1);
  CHECK_FALSE(is_doubted(slow));
  for (const json::Value& v : {fast, slow}) {
    const json::Value& step = v["plans"][0]["step"];
    double limited = 0;
    for (const auto& [name, seconds] : step["limited_s"].items()) limited += seconds.get<double>();
    CHECK(limited <= step["time_s"].get<double>() * (1 + 1e-12));
  }
}

TEST_CASE("no smaller GPU count meets the deadline, whatever its factorization", "[plan][cli]") {
  const std::string plan = "plan train llama-3.1-8b --hardware h100 --global-batch 256 --tokens 1T --top 1 ";
  const json::Value v = test::ask(plan + "--max-gpus 64 --deadline 30");
  const int gpus = v["inputs"]["gpus"];
  CHECK(gpus <= 48);
  CHECK(v["run"]["days"] <= 30);
  for (int n = gpus - 4; n < gpus; ++n) {
    const test::Ran r = test::llmcalc(plan + "--gpus " + std::to_string(n) + " --json");
    if (r.code != 0) continue;  // no layout divides the batch
    const json::Value fewer = json::parse(r.out, "the report");
    if (!fewer["plans"].empty()) CHECK(fewer["run"]["days"] > 30);
  }
}

TEST_CASE("the default-batch note names the GPU count", "[plan][cli]") {
  const std::string out =
      test::llmcalc("plan train gpt2 --hardware h100 --max-gpus 3 --objective cost --top 1 --full").out;
  CHECK(out.find("--global-batch 3, one sequence per GPU at the largest GPU count") != std::string::npos);
}

TEST_CASE("a search proposes only plans whose process is expected to fit", "[plan][cli]") {
  for (const char* words : {"gpt-3-175b --hardware a100 --gpus 1024 --tp 4 --global-batch 1536",
                            "qwen3-30b-a3b --hardware h100 --gpus 32 --tp 1 --global-batch 256",
                            "llama-3.1-8b --hardware rtx-4090 --gpus 8 --global-batch 32 --seq 2048"}) {
    CAPTURE(words);
    const json::Value plans = test::ask(std::string("plan train ") + words)["plans"];
    REQUIRE(plans.size() > 1);
    for (const json::Value& plan : plans) CHECK(plan["memory"]["process"]["fits"] == true);
  }
}

TEST_CASE("a search proposes only schedules that the software supports, or all with --any-software", "[plan][cli]") {
  const std::string plan = "plan train llama-3.1-8b --hardware h100 --gpus 16 --pp 4 --global-batch 64 ";
  const auto schedules = [&](const std::string& more) {
    std::set<std::string> all;
    const json::Value found = test::ask(plan + more);
    for (const json::Value& p : found["plans"]) all.insert(p["layout"]["schedule"]);
    return all;
  };
  for (const std::string& s : schedules("")) CHECK((s == "1f1b" || s == "interleaved"));
  CHECK(schedules("--any-software").count("zb-v") == 1);
  CHECK(refusal_in(plan + "--schedule zb-v --software nemo").find("nemo has no zb-v (it has 1f1b, interleaved)") !=
        std::string::npos);
}

TEST_CASE("an interrupted search for a deadline does not present its last plan as the answer", "[plan][cli]") {
  const test::Ran r = test::signaled(
      "plan train llama-3.1-405b --hardware h100 --gpus 3072 --global-batch 6144 --tokens 15T --deadline 60", {SIGINT},
      std::chrono::milliseconds(300));
  CHECK((r.code == 130 || r.code == 0));  // a fast machine may have finished
  CHECK((r.code == 0) ==
        (r.out.find("stopped before a GPU count that meets the deadline was found") == std::string::npos));
}
