// Plans for the largest model, sequence or batch, and for the best of several hardware types.

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using Catch::Contains;
using test::refusal_in;

TEST_CASE("the largest size that fits also fits as an explicit option, and the next size tried does not",
          "[plan][cli]") {
  const std::string plan = "plan train llama-3.1-8b --hardware h100 --gpus 4 --tp 2 --pp 2 --top 1 ";
  for (const auto& [of, option, more] :
       {std::tuple{"sequence", "--seq", "--global-batch 4"}, std::tuple{"micro-batch", "--micro-batch", ""}}) {
    CAPTURE(of);
    const json::Value all = test::ask(plan + more + " --largest " + of);
    const Count value = all["largest"]["value"];
    CHECK(all["largest"]["of"] == of);
    CHECK(all["largest"]["any"] == false);
    const std::string command = all["plans"][0]["command"];
    CHECK(command.find(option + (" " + std::to_string(value))) != std::string::npos);
    CHECK(test::ask(command.substr(command.find(' ') + 1))["memory"]["fits"] == true);
    Count next = 0;
    for (const json::Value& t : all["tried"]) {
      const Count tried = t["value"];
      CHECK(t["fits"] == (tried <= value));
      CHECK_FALSE(t["reasons"].empty());
      if (tried > value && (next == 0 || tried < next)) next = tried;
    }
    REQUIRE(next > value);
    const std::string batch = std::string(of) == "sequence" ? more : "--global-batch " + std::to_string(4 * next);
    CHECK(test::ask(plan + batch + " " + option + " " + std::to_string(next) + " --offload none")["plans"].empty());
  }
}

TEST_CASE("plans of '--largest layers' have no command, since they are for a modified model", "[plan][cli]") {
  const json::Value all = test::ask("plan train gpt2 --hardware h100 --gpus 1 --largest layers --top 1");
  const Count layers = all["largest"]["value"];
  CHECK(layers > 12);
  CHECK_FALSE(all["plans"][0].contains("command"));
  CHECK_FALSE(all["model"].contains("published_parameters"));
  CHECK(all["model"]["title"].get<std::string>().find("with " + std::to_string(layers) + " layers") !=
        std::string::npos);
}

TEST_CASE("the answer names the constraint that limits the largest size", "[plan][cli]") {
  const std::string gpt2 = "plan train gpt2 --hardware h100 --gpus 2 --top 1 --largest ";
  CHECK(test::ask(gpt2 + "batch")["largest"]["any"] == true);
  CHECK(test::ask(gpt2 + "sequence")["largest"]["value"] == 1024);
  CHECK(test::llmcalc(gpt2 + "sequence").out.find("the limit of its learned positions") != std::string::npos);
  CHECK(test::ask(gpt2 + "micro-batch --global-batch 6")["largest"]["value"] == 6);
  CHECK(test::llmcalc(gpt2 + "micro-batch --global-batch 6").out.find("a micro-batch of 6, the whole batch") !=
        std::string::npos);
}

TEST_CASE("an invalid request for the largest size is rejected", "[plan][cli]") {
  const std::string gpt2 = "plan train gpt2 --hardware h100 --gpus 8 --largest ";
  CHECK(refusal_in(gpt2 + "width") ==
        "llmcalc: --largest: expected batch, sequence, micro-batch or layers, got \"width\"\n");
  CHECK(refusal_in(gpt2 + "sequence --seq 512") ==
        "llmcalc: --largest sequence searches for --seq; omit one of them\n");
  CHECK(refusal_in(gpt2 + "batch --global-batch 8").find("searches for --global-batch") != std::string::npos);
  CHECK(refusal_in(gpt2 + "micro-batch --micro-batch 8").find("searches for --micro-batch") != std::string::npos);
  CHECK(refusal_in(gpt2 + "layers --tokens 1T --deadline 3") ==
        "llmcalc: --largest searches for the largest value on --gpus N; omit --deadline\n");
  CHECK(refusal_in("plan train llama-3.1-405b --hardware h100 --gpus 8 --largest sequence --offload none")
            .find("llmcalc: llama-3.1-405b does not fit on 8 GPUs under any plan, for any value of --largest sequence; "
                  "use ") == 0);
}

TEST_CASE("the winning hardware has the best run that meets the deadline", "[plan][cli]") {
  const std::string plan = "plan train gpt2 --global-batch 48 --tokens 100G --top 1 ";
  const std::array<std::string, 3> names{"h100-sxm-80gb", "l40s", "b200-sxm-180gb"};
  const std::string list = names[0] + "," + names[1] + "," + names[2];
  for (const std::string& how : {std::string("--gpus 4"), std::string("--max-gpus 4"),
                                 std::string("--gpus 4 --objective time"), std::string("--max-gpus 4 --deadline 3")}) {
    CAPTURE(how);
    const json::Value all = test::ask(plan + how + " --hardware " + list);
    const bool time = how.find("time") != std::string::npos, several = how.find("--max") == 0;
    const double limit = how.find("--deadline") == std::string::npos ? 1e300 : 3;
    double least = 1e300;
    std::string winner;
    for (const std::string& name : names)
      for (const char* gpus : {"1", "2", "4"}) {
        if (!several && std::string(gpus) != "4") continue;
        const json::Value one = test::ask(plan + "--hardware " + name + " --gpus " + gpus)["plans"][0];
        const json::Value run = test::ask(one["command"].get<std::string>().substr(8))["run"];
        const double value = time ? run["days"].get<double>() : run["cost_usd"].get<double>();
        if (run["days"] > limit || value >= least) continue;
        least = value;
        winner = name + " " + gpus;
      }
    const json::Value& first = all["rivals"][0];
    CHECK(first["hardware"].get<std::string>() + " " + first["gpus"].dump() == winner);
    CHECK(first["run"][time ? "days" : "cost_usd"].get<double>() == Approx(least));
    CHECK(all["hardware"]["name"] == first["hardware"]);
    CHECK(all["plans"][0]["command"] == first["command"]);
    CHECK(all["rivals"].size() == 3);
    for (const json::Value& r : all["rivals"]) CHECK_FALSE(r["reasons"].empty());
    CHECK(all["left_out"].empty());
  }
}

TEST_CASE("hardware that cannot be compared is omitted, with the reason", "[plan][cli]") {
  const json::Value all = test::ask("plan train gpt2 --hardware any --gpus 16 --tokens 1G --precision fp8 --top 1");
  const json::Value devices = test::ask("list hardware")["devices"];
  CHECK(all["rivals"].size() + all["left_out"].size() == devices.size());
  CHECK(all["rivals"].size() > 2);
  std::string reasons;
  for (const json::Value& r : all["left_out"]) reasons += r["reasons"][0].get<std::string>() + "\n";
  CHECK(reasons.find("price unknown") != std::string::npos);
  CHECK(reasons.find("has no fp8 matmul peak") != std::string::npos);
  test::write_file(test::scratch() + "/lone.json", R"({"name": "lone", "memory": {"capacity": "80 GiB",
    "bandwidth": "2 TB/s"}, "matmul": {"bf16": "300 TFLOP/s"}, "power": "300 W", "prices": [{"price": "0.01 USD/h",
    "source": "a test"}], "source": "a test"})");
  const std::string both = "plan train gpt2 --tokens 1G --top 1 --hardware h100," + test::scratch() + "/lone.json ";
  CHECK(test::ask(both + "--gpus 4")["left_out"][0]["reasons"][0] == "no link connects 4 GPUs");
  CHECK(test::llmcalc(both + "--gpus 4 --full").out.find("omitted: no link connects 4 GPUs: lone") !=
        std::string::npos);
  CHECK(test::ask("plan train gpt2 --tokens 1G --gpus 2 --hardware h100,h100-sxm-80gb,h200")["rivals"].size() == 2);
  CHECK(test::ask(both + "--max-gpus 4")["rivals"][0]["gpus"] == 1);  // one device needs no link and is cheap
}

TEST_CASE("an invalid request for the best hardware is rejected", "[plan][cli]") {
  const std::string gpt2 = "plan train gpt2 --hardware h100,h200 ";
  CHECK(refusal_in(gpt2 + "--tokens 1G") ==
        "llmcalc: --hardware with several names needs --gpus N or --max-gpus N, the number of GPUs to plan for\n");
  CHECK(refusal_in(gpt2 + "--gpus 8").find("add --tokens D") != std::string::npos);
  CHECK(refusal_in(gpt2 + "--gpus 8 --max-gpus 8 --tokens 1G").find("specify one of them") != std::string::npos);
  for (const char* other : {"--largest layers", "--pareto"})
    CHECK(refusal_in(gpt2 + "--gpus 8 --tokens 1G " + other).find("requires a single hardware name") !=
          std::string::npos);
  CHECK(refusal_in(gpt2 + "--gpus 8 --tokens 1G --objective memory").find("requires a single hardware name") !=
        std::string::npos);
  CHECK(refusal_in("plan train gpt2 --hardware any --gpus 8 --tokens 1G --seq 9999").find("--seq 9999 exceeds") !=
        std::string::npos);
  CHECK(refusal_in("plan train gpt2 --hardware h100,foo --gpus 8 --tokens 1G").find("unknown hardware \"foo\"") !=
        std::string::npos);
  CHECK(refusal_in("plan train gpt2 --hardware h100,,h200 --gpus 8 --tokens 1G").find("comma-separated names") !=
        std::string::npos);
  CHECK(refusal_in("plan train llama-3.1-405b --hardware h100,h200 --gpus 8 --tokens 1G") ==
        "llmcalc: no plan on up to 8 GPUs of this hardware fits llama-3.1-405b; use more GPUs\n");
  CHECK(
      refusal_in(gpt2 + "--gpus 2 --tokens 1T --deadline 0.01").find("the fastest, on h100-sxm-80gb, takes at least") !=
      std::string::npos);
}

TEST_CASE("hardware without published runs is compared at the slow end of its interval", "[plan][cli]") {
  const std::string plan = "plan train gpt2 --max-gpus 2 --tokens 10G --hardware ";
  const json::Value r = test::ask(plan + "h100,h800 --price h100-sxm-80gb=2,h800-sxm-80gb=2");
  const json::Value &first = r["rivals"][0], &second = r["rivals"][1];
  REQUIRE(first["hardware"] == "h100-sxm-80gb");
  REQUIRE(second["hardware"] == "h800-sxm-80gb");
  CHECK(second["run"]["cost_usd"].get<double>() == Approx(first["run"]["cost_usd"].get<double>()).epsilon(0.05));
  CHECK_THAT(second["reasons"][0].get<std::string>(), Contains("at the slow end of its interval"));
  const json::Value cheap = test::ask(plan + "h100,h800 --price h100-sxm-80gb=2,h800-sxm-80gb=1");
  CHECK_THAT(cheap["verdict"].dump(),
             Contains("no published training run on h800-sxm-80gb; counted at the slow end of its interval"));
}
