// The software of a request: defaults by capability, rejections, versions.

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using test::refusal_in;

namespace {

std::string software_of(const std::string& words) { return test::ask(words)["inputs"]["software"]; }

}  // namespace

TEST_CASE("the default stack is the first that can launch the plan", "[software][cli]") {
  const std::string train = "train llama-3.1-8b --hardware h100 --gpus 8 --pp 4 --global-batch 32 ";
  CHECK(software_of(train) == "megatron-lm");
  CHECK(software_of(train + "--schedule zb-v") == "torchtitan");
  CHECK(software_of(train + "--fsdp") == "torchtitan");
  for (const char* schedule : {"zb-h1", "zb-h2", "zb-1p", "zb-2p"})
    CHECK(software_of(train + "--schedule " + schedule) == "zero-bubble");
  CHECK(software_of(train + "--schedule dualpipe") == "deepseek-dualpipe");
  CHECK(software_of("train qwen3-0.6b --hardware m4-max --lora 8") == "mlx-lm");
  CHECK(software_of("train llama-3.1-8b --hardware tpu-v5p --gpus 8 --fsdp") == "maxtext");
  CHECK(software_of("infer qwen3-30b-a3b --hardware h100 --offload experts") == "llama.cpp");
}

TEST_CASE("a stack that lacks a capability is rejected unless --any-software is given", "[software][cli]") {
  const std::string train = "train llama-3.1-8b --hardware h100 --gpus 8 --pp 4 --global-batch 32 --schedule zb-v ";
  CHECK(refusal_in(train + "--software megatron-lm") ==
        "llmcalc: megatron-lm has no zb-v (it has 1f1b, interleaved); add --any-software to estimate it anyway\n");
  CHECK(software_of(train + "--software megatron-lm --any-software") == "megatron-lm");
  CHECK(refusal_in("train llama-3.1-8b --hardware m4-max --software torch-fsdp").find("does not run on Apple chips") !=
        std::string::npos);
  CHECK(refusal_in("train llama-3.1-8b --hardware h100 --tp 2 --software torch-fsdp").find("no tensor parallelism") !=
        std::string::npos);
  CHECK(refusal_in("train llama-3.1-8b --hardware h100 --gpus 8 --pp 4 --schedule dualpipe --zero 3 --global-batch 32")
            .find("no known software has all of this") != std::string::npos);
}

TEST_CASE("a software version is part of a report's inputs and reproduces the answer", "[software][cli]") {
  const std::string infer = "infer llama-3.1-8b --hardware h100 --software ";
  const json::Value old = test::ask(infer + "vllm@0.6.3"), now = test::ask(infer + "vllm");
  CHECK(old["inputs"]["software"] == "vllm@0.6");
  CHECK(old["decode"]["time_per_token_s"] > now["decode"]["time_per_token_s"]);
  CHECK(test::ask(infer + "vllm@0.6")["decode"] == old["decode"]);
  CHECK(refusal_in(infer + "vllm@0.1").find("older than the first known version, 0.2") != std::string::npos);
}

// llama-quantize's Q2_K of Llama 3.1 8B has 3.17 GB; with all matrices in Q2_K blocks it would have 2.64 GB.
TEST_CASE("with llama.cpp, a bare format name means the file type, and ggml:NAME the block format", "[software][cli]") {
  const auto bytes = [](const std::string& more) {
    return test::ask("infer llama-3.1-8b --weight-precision " + more)["inference_memory"]["weights_bytes"].get<Count>();
  };
  CHECK(bytes("q2_k --hardware rtx-4090") == 3171295232);
  CHECK(bytes("gguf:q2_k --hardware rtx-4090") == 3171295232);
  CHECK(bytes("ggml:q2_k --hardware rtx-4090") == 2635374592);
  CHECK(bytes("q2_k --hardware h100") == 2635374592);
  CHECK(bytes("bf16 --hardware rtx-4090") == bytes("bf16 --hardware h100"));
}
