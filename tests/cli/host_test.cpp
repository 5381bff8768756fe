/// Weights in host memory: loaded over the link, or multiplied on the host.

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using Catch::Contains;

namespace {

const std::string offloaded = "infer qwen3-30b-a3b --hardware rtx-3070 --offload experts:0.75 --weight-precision ";

double token_seconds(const std::string& options) {
  return test::ask(offloaded + options)["decode"]["time_per_token_s"];
}
double prompt_seconds(const std::string& options) { return test::ask(offloaded + options)["prefill"]["time_s"]; }

}  // namespace

TEST_CASE("llama.cpp decodes with offloaded experts on the host, at the speed of host memory", "[host][cli]") {
  const double desktop = token_seconds("q4_k_m"), server = token_seconds("q4_k_m --host amd-epyc-9654");
  CHECK(server < 0.7 * desktop);  // 461 against 90 GB/s
  CHECK(token_seconds("q4_k_m --offload-bandwidth 4GB/s") == desktop);
  // A desktop's 89.6 GB/s at the usual fraction move 0.82 GB of experts in about 11 ms.
  CHECK(desktop > 0.011);
  CHECK(desktop < 0.033);
}

TEST_CASE("an engine that loads offloaded weights is limited by the link, not by host memory bandwidth",
          "[host][cli]") {
  const auto seconds = [](const std::string& options) -> double {
    return test::ask(
        "infer qwen3-30b-a3b --hardware rtx-3070 --offload weights:0.75 --weight-precision awq "
        "--software vllm" +
        options)["decode"]["time_per_token_s"];
  };
  CHECK(seconds(" --host amd-epyc-9654") == seconds(""));
  CHECK(seconds(" --offload-bandwidth 8GB/s") > 1.5 * seconds(""));
}

TEST_CASE("every pass of a prompt loads the offloaded weights", "[host][cli]") {
  const double one = prompt_seconds("q4_k_m --prompt 512"), four = prompt_seconds("q4_k_m --prompt 2048");
  CHECK(four > 3.5 * one);
  CHECK(four < 4.5 * one);
}

TEST_CASE("assumed host hardware widens the interval", "[host][cli]") {
  const json::Value assumed = test::ask(offloaded + "q4_k_m"),
                    stated = test::ask(offloaded + "q4_k_m --host amd-ryzen-9-7950x");
  const auto width = [](const json::Value& r) {
    return r["decode"]["time_per_token_high_s"].get<double>() / r["decode"]["time_per_token_s"].get<double>();
  };
  CHECK(width(assumed) > width(stated));
}

TEST_CASE("offloaded bytes are compared with the host memory if its size is stated", "[host][cli]") {
  const std::string next = "infer qwen3-next-80b-a3b --hardware rtx-4090 --weight-precision q4_k_m --offload experts";
  const json::Value unknown = test::ask(next), small = test::ask(next + " --host-memory 32GiB"),
                    large = test::ask(next + " --host-memory 64GiB");
  CHECK(unknown["inference_memory"]["fits"] == true);
  CHECK_THAT(unknown["verdict"]["text"][0].get<std::string>(), Contains("43.59 GiB of host memory"));
  CHECK(small["inference_memory"]["fits"] == false);
  CHECK_THAT(small["verdict"]["text"][0].get<std::string>(), Contains("needs 43.59 of 32.00 GiB of host memory"));
  CHECK(large["inference_memory"]["fits"] == true);
}

TEST_CASE("a transfer rate above the link's and a host without a processor are rejected", "[host][cli][bad_input]") {
  CHECK_THAT(test::refusal_in(offloaded + "q4_k_m --offload-bandwidth 102"),
             Contains("slower than any drive; add the unit, as in '102 GB/s'"));
  CHECK_THAT(test::refusal_in(offloaded + "q4_k_m --offload-bandwidth 102GB/s"),
             Contains("the link of rtx-3070 to its host has only 31.5 GB/s; set the host's memory with --host CPU"));
  CHECK_THAT(test::refusal_in(offloaded + "q4_k_m --host rtx-4090"),
             Contains("--host rtx-4090: expected a processor, for example amd-epyc-9654"));
  CHECK_THAT(test::refusal_in(offloaded + "q4_k_m --host-memory 0"), Contains("--host-memory"));
}

// FlashMLA's 8-bit rows: 512 numbers, 4 scales of 4 bytes, 64 rotary numbers of 2 bytes; an indexer's key of 128
// numbers and a scale.
TEST_CASE("sparse latent attention caches rows with scales in vLLM and SGLang", "[host][cli]") {
  const std::string fp8 = "infer deepseek-v3.2 --hardware b200 --tp 8 --kv-precision fp8 --software ";
  for (const char* engine : {"vllm", "sglang"})
    CHECK(test::ask(fp8 + engine)["kv_cache"]["bytes_per_token"] == 61 * (656 + 132));
  CHECK(test::ask(fp8 + "none")["kv_cache"]["bytes_per_token"] == 61 * (576 + 128));
  CHECK(test::ask("infer deepseek-v3.2 --hardware b200 --tp 8 --software vllm")["kv_cache"]["bytes_per_token"] ==
        61 * (2 * 576 + 132));
}

// Roofline book: 70B in int8 on eight TPU v5e with an int8 cache holds 44 sequences of 8192 tokens.
TEST_CASE("JetStream fills the device memory with its cache", "[host][cli]") {
  const std::string plan =
      " llama-3-70b --hardware tpu-v5e --tp 8 --weight-precision int8 --kv-precision int8 --prompt 8192 --generate 1";
  CHECK(test::ask("infer" + plan)["limits"]["max_batch"] == 44);
  CHECK(test::ask("serve" + plan + " --rate 0.1 --num-requests 2")["engine_memory"]["most_sequences"] == 44);
}
