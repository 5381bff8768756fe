// 'llmcalc plan train': searched layout options, and offload as the last resort.

#include <algorithm>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

using test::refusal_in;

TEST_CASE("the error for invalid degrees suggests valid ones", "[plan][cli]") {
  const std::string llama = "plan train llama-3.1-8b --hardware h100 --gpus 8 ";
  CHECK(refusal_in(llama + "--tp 5") ==
        "llmcalc: --tp 5 does not divide the 32 attention heads of llama-3.1-8b; on 8 GPUs use --tp 1, 2, 4 or 8\n");
  CHECK(refusal_in(llama + "--tp 128").find("on 8 GPUs use --tp 1, 2, 4 or 8") != std::string::npos);
  CHECK(refusal_in(llama + "--pp 3").find("on 8 GPUs use --pp 1, 2, 4 or 8") != std::string::npos);
  CHECK(refusal_in("plan train mixtral-8x7b --hardware h100 --gpus 8 --ep 3") ==
        "llmcalc: --ep 3 does not divide the 8 experts of mixtral-8x7b; on 8 GPUs use --ep 1, 2, 4 or 8\n");
  for (const char* schedule : {"dualpipe", "gpipe"})
    CHECK(refusal_in(llama + "--pp 2 --schedule " + schedule)
              .find(std::string("--schedule ") + schedule + " is not searched; use 1f1b, interleaved, ") !=
          std::string::npos);
  test::write_file(test::scratch() + "/node.json", R"({"name": "node", "memory": {"capacity": "80 GiB",
    "bandwidth": "2 TB/s"}, "matmul": {"bf16": "300 TFLOP/s"}, "link": {"ranks": 8, "bandwidth": "450 GB/s"},
    "source": "a test"})");
  const std::string node = "plan train llama-3.1-8b --hardware " + test::scratch() + "/node.json --top 1 ";
  CHECK(refusal_in(node + "--gpus 16") ==
        "llmcalc: node defines no link that connects 16 devices; use --gpus 8, or a hardware file that defines "
        "one\n");
  CHECK_FALSE(test::ask(node + "--gpus 8")["plans"].empty());
  CHECK(refusal_in(llama + "--chunks 40").find("on 8 GPUs use --chunks 1, 2, 4, 8 or 16") != std::string::npos);
  CHECK(refusal_in(llama + "--ep 2") ==
        "llmcalc: --ep applies to models with experts, and this one has none; omit it\n");
  CHECK(refusal_in(llama + "--top 5000") ==
        "llmcalc: --top 5000: a search keeps at most 1000 plans; use a smaller "
        "value\n");
}

TEST_CASE("--hsdp applies to every plan or is rejected", "[plan][cli]") {
  const std::string llama = "plan train llama-3.1-8b --hardware h100 --gpus 8 ";
  CHECK(refusal_in(llama + "--hsdp 3") ==
        "llmcalc: --hsdp 3: no plan on 8 GPUs shards states over 3 ranks; use 2, 4 or 8\n");
  CHECK(refusal_in(llama + "--hsdp 4 --zero 0").find("shards states over 4 ranks; omit it") != std::string::npos);
  const json::Value all = test::ask(llama + "--hsdp 4 --top 5");
  for (const json::Value& plan : all["plans"]) CHECK(plan["layout"]["zero"] != 0);
}

TEST_CASE("options that depend on parallel degrees can be given even if the degrees are searched", "[plan][cli]") {
  const std::string llama = "plan train llama-3.1-8b --hardware h100 --gpus 8 --top 1 ";
  for (const char* option : {"--schedule zb-v", "--chunks 4", "--cp-method ulysses"}) {
    CAPTURE(option);
    const json::Value best = test::ask(llama + option)["plans"][0];
    const std::string command = best["command"];
    CHECK(test::ask(command.substr(command.find(' ') + 1))["step"]["time_s"] == best["step"]["time_s"]);
  }
  CHECK(test::ask(llama + "--chunks 4")["plans"][0]["layout"]["chunks"] == 4);
  const std::string experts = "plan train mixtral-8x7b --hardware h100 --gpus 16 --global-batch 32 --top 1 ";
  const auto step = [&](const std::string& more) {
    return test::ask(experts + more)["plans"][0]["step"]["time_s"].get<double>();
  };
  CHECK(step("--ep 8 --expert-load 1.5") > step("--ep 8"));
  for (const char* option : {"--expert-load 1.25", "--expert-nodes 1", "--etp 1", "--reshard off"})
    CHECK(step(option) >= step(""));
}

TEST_CASE("every kind of plan search falls back to offload if no other plan fits", "[plan][cli]") {
  const std::string llama = "plan train llama-3.1-8b --hardware h100 --gpus 1 --seq 1024 --top 1 ";
  for (const char* question : {"--largest batch", "--global-batch 4 --tokens 1B --deadline 900"}) {
    CAPTURE(question);
    const json::Value v = test::ask(llama + question);
    CHECK(v["inputs"]["offload"] == "optimizer");
    CHECK(v["notes"][0] == "no plan fits without offload; these plans use --offload optimizer");
    CHECK(v["plans"][0]["memory"]["host_bytes"] > 0);
    CHECK(test::llmcalc(llama + question).out.find("on the host") != std::string::npos);
  }
  const json::Value all = test::ask("plan train llama-3.1-8b --hardware h100,gh200 --gpus 1 --seq 1024 --tokens 1B");
  CHECK(all["inputs"]["offload"] == "optimizer");
  CHECK(all["rivals"].size() == 2);
  const json::Value numbers = test::ask("plan train llama-3.1-8b --hardware h100 --max-gpus 1 --seq 1024 --top 1");
  CHECK(numbers["inputs"]["offload"] == "optimizer");
}

TEST_CASE("the smallest GPU count does not depend on --max-gpus, and sizes above the largest do not fit",
          "[plan][cli]") {
  const std::string llama = "plan train llama-3.1-8b --hardware h100 --seq 1024 --global-batch 4 --top 1 ";
  for (const char* most : {"1", "4"})
    CHECK(test::ask(llama + "--tokens 1B --deadline 900 --max-gpus " + most)["plans"][0]["layout"]["gpus"] == 1);
  const json::Value largest =
      test::ask("plan train llama-3.1-8b --hardware h100 --gpus 1 --global-batch 1 --top 1 --largest sequence");
  const Count value = largest["largest"]["value"];
  Count refused = Count{1} << 40;
  for (const json::Value& t : largest["tried"])
    if (t["fits"] == false) refused = std::min(refused, t["value"].get<Count>());
  CHECK(value < refused);
  const std::string one = "plan train llama-3.1-8b --hardware h100 --gpus 1 --global-batch 1 --top 1 --seq ";
  CHECK(test::ask(one + std::to_string(value))["plans"].size() == 1);
  CHECK(test::ask(one + std::to_string(refused))["plans"].empty());
}
