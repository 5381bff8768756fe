// The verdict on memory: yes, likely, unlikely or no, with a probability.

#include <cmath>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

double number(const json::Value& v, const char* key) { return v[key].get<double>(); }

}  // namespace

TEST_CASE("the probability that training fits follows from the interval of its process memory", "[fit][cli]") {
  const json::Value v = test::ask("train llama-3.1-8b --hardware h100 --gpus 8 --pp 4 --global-batch 32");
  const json::Value& p = v["memory"]["process"];
  const double memory = 81559.0 * (1 << 20), factor = number(p, "needed_high_bytes") / number(p, "needed_bytes");
  // Phi(1.645 ln(C/n) / ln f)
  const double x = 1.6448536269514722 * std::log(memory / number(p, "needed_bytes")) / std::log(factor);
  CHECK(number(v["verdict"], "fit_probability") == Approx(0.5 * std::erfc(-x / std::sqrt(2.0))));
  CHECK(v["verdict"]["fit"] == "likely");
  CHECK(v["memory"]["fits"] == true);
  CHECK_FALSE(v.contains("possible"));
}

TEST_CASE("a plan whose process is not expected to fit is reported as not fitting", "[fit][cli]") {
  const std::string words = "memory llama-3-8b --train --lora 8 --seq 8192 --recompute full --hardware rtx-4090";
  const json::Value v = test::ask(words);
  CHECK(v["verdict"]["fit"] == "unlikely");
  CHECK((v["memory"]["fits"] == false && v["possible"] == false));
  CHECK(test::llmcalc(words + " --require-fit").code == 1);
  const json::Value far = test::ask("train gpt-3-175b --hardware a100 --tokens 300B --price 2");
  CHECK((far["verdict"]["fit"] == "no" && far["verdict"]["fit_probability"] == 0.0));
}

TEST_CASE("a plan without a process estimate either fits or does not", "[fit][cli]") {
  CHECK(test::ask("train llama-3.2-1b --hardware mi300x")["verdict"]["fit_probability"] == 1.0);
  CHECK(test::ask("infer llama-3.1-8b --hardware h100")["verdict"]["fit"] == "yes");
  CHECK(test::ask("infer llama-3.1-405b --hardware h100")["verdict"]["fit"] == "no");
}

TEST_CASE("the verdict states the host memory that offload needs", "[fit][cli]") {
  const std::string out =
      test::llmcalc("infer qwen3-next-80b-a3b --hardware rtx-4090 --weight-precision q4_k_m --offload experts --full")
          .out;
  CHECK_THAT(out, Catch::Contains("GiB of host memory"));
}

// Gemma 3 27B: 10 of 62 layers see all tokens, each with 16 heads of 128 elements for keys and values in 2 bytes.
TEST_CASE("the cache grows with the context only in layers that attend to all tokens", "[fit][cli]") {
  const json::Value cache = test::ask("infer gemma-3-27b --hardware h100 --prompt 130000")["kv_cache"];
  CHECK(cache["growing_bytes_per_token"] == 10 * 2 * 16 * 128 * 2);
  const json::Value plain = test::ask("infer llama-3.1-8b --hardware h100")["kv_cache"];
  CHECK(plain["growing_bytes_per_token"] == plain["bytes_per_token"]);
}

TEST_CASE("engines differ in the share of memory that they grant to the cache", "[serve][cli]") {
  const auto granted = [](const std::string& software) {
    return test::ask("serve llama-3.1-8b --hardware h100 --rate 0.1 --num-requests 3 --software " + software);
  };
  const json::Value vllm = granted("vllm@0.19"), newest = granted("vllm@0.20"), sglang = granted("sglang");
  CHECK(vllm["inputs"]["memory_utilization"] == 0.9);
  CHECK(newest["engine_memory"]["graphs_bytes"] == 1 << 29);
  // 81,920 MiB, of which 512 + 1.5 x 8192 + 2 x 256 + 128 are reserved
  CHECK(sglang["inputs"]["memory_utilization"] == 0.836);
  const json::Value llama = granted("llama.cpp");
  CHECK(llama["inputs"]["max_batched_tokens"] == 512);
  const json::Value& e = vllm["engine_memory"];
  CHECK(e["concurrent_tokens"].get<Count>() == Approx(number(e, "maximum_concurrency") * 131072).margin(1));
}
