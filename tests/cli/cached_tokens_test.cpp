// --dcp: cached tokens sharded over tensor-parallel ranks.

#include <cmath>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

const std::string llama = "infer llama-3-70b --hardware h100 --batch 32 --prompt 8192 --tp 16 --software vllm";

}  // namespace

TEST_CASE("--dcp divides the cache per GPU and multiplies the sequences that an engine holds", "[infer][cli]") {
  const json::Value whole = test::ask(llama), sharded = test::ask(llama + " --dcp 2");
  CHECK(whole["kv_cache"]["bytes_per_token"] == Count{80} * 2 * 128 * 2);
  CHECK(sharded["kv_cache"]["bytes_per_token"] == Count{80} * 128 * 2);
  CHECK(sharded["inputs"]["dcp"] == 2);
  const Count sequences = whole["limits"]["max_batch"];
  CHECK(sharded["limits"]["max_batch"] == 2 * sequences);
  const json::Value latent = test::ask("infer deepseek-v3 --hardware h200 --tp 8 --dcp 8 --software vllm");
  CHECK(latent["kv_cache"]["bytes_per_token"] == Count{61} * 576 * 2 / 8);
}

TEST_CASE("--dcp is rejected for other layers, other KV heads and engines without it", "[infer][cli]") {
  const auto refused = [](const std::string& words, const std::string& sentence) {
    CHECK(test::refusal_in(words) == "llmcalc: " + sentence + "\n");
  };
  refused("infer llama-3-70b --hardware h100 --tp 8 --dcp 2",
          "--dcp 2 does not divide the 1 rank of --tp 8 with the same KV heads of llama-3.1-70b; valid sizes: 1");
  refused("infer llama-3-70b --hardware h100 --tp 16 --dcp 2 --software vllm@0.10",
          "vllm@0.10 has no decode context parallelism (it has tensor parallelism, pipeline parallelism, data "
          "parallelism, expert parallelism); add --any-software to estimate it anyway");
  refused("infer deepseek-v3 --hardware h200 --tp 8 --dcp 2 --mla expanded",
          "--dcp shards the cached latent rows, but --mla expanded caches keys and values of each rank's heads; omit "
          "one of them");
  refused("infer gemma-3-27b --hardware h100 --tp 8 --dcp 2",
          "--dcp 2 is not supported: gemma-3-27b has layers with a window, pooled or selected keys, or a recurrent "
          "state; omit it");
}

// Gemma 3 27B: 10 layers cache all tokens, 52 a window of 1,024 and a pass of 512. A token takes 2 x 16 x 128 numbers
// of 2 bytes in a layer. vLLM pads the 52 layers to 6 groups of 10, each with a window, a pass of 8,192 and a further
// block.
TEST_CASE("llama.cpp allocates each layer's cache separately, without padded groups", "[infer][cli]") {
  const std::string command = "infer gemma-3-27b --hardware h100 --prompt 32000 --generate 768 --software ";
  const Count of_layer = 2 * 16 * 128 * 2;
  CHECK(test::ask(command + "llama.cpp")["inference_memory"]["kv_cache_bytes"] ==
        of_layer * (10 * 32768 + 52 * (1024 + 512)));
  CHECK(test::ask(command + "vllm")["inference_memory"]["kv_cache_bytes"] ==
        of_layer * (10 * 32768 + 60 * (1024 + 8192 + 16)));
}

// gpt-oss: 18 of 36 layers have a window. SGLang allocates 0.8 slots for them per cached token; for Gemma 3, which its
// list of hybrid models lacks, one in every layer.
TEST_CASE("SGLang allocates a fixed share of slots for layers with a window", "[serve][cli]") {
  const auto memory = [](const std::string& model) {
    return test::ask("serve " + model +
                     " --hardware h200 --software sglang --rate 1 --num-requests 20")["engine_memory"];
  };
  const json::Value oss = memory("gpt-oss-120b"), gemma = memory("gemma-3-27b");
  const Count of_layer = 2 * 8 * 64 * 2, slots = 18 * of_layer + std::llround(0.8 * 18 * of_layer);
  CHECK(oss["kv_tokens"] == oss["kv_cache_bytes"].get<Count>() / slots);
  CHECK(oss["longest_sequence"] == oss["kv_tokens"]);
  CHECK(gemma["kv_tokens"] == gemma["kv_cache_bytes"].get<Count>() / (2 * 16 * 128 * 2 * 62));
}
