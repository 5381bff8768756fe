#include "ask/request/options/synonyms.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace llmcalc {
namespace {

constexpr std::array all{
    Synonym{"-o", "--out"},
    Synonym{"--quant", "--weight-precision"},
    Synonym{"--quantization", "--weight-precision", "", "vllm"},
    Synonym{"--kv", "--kv-precision"},
    Synonym{"--kv-cache-dtype", "--kv-precision", "", "vllm"},
    Synonym{"--cache-type-k", "--kv-precision", "", "llama.cpp"},
    Synonym{"--context", "--prompt", "--seq"},
    Synonym{"--context-length", "--prompt", "--seq", "sglang"},
    Synonym{"--ctx-size", "--prompt", "--seq", "llama.cpp"},
    Synonym{"--input-len", "--prompt", "", "vllm"},
    Synonym{"--output-len", "--generate", "", "vllm"},
    Synonym{"--random-input-len", "--prompt", "", "vllm"},
    Synonym{"--random-output-len", "--generate", "", "vllm"},
    Synonym{"--isl", "--prompt"},
    Synonym{"--osl", "--generate"},
    Synonym{"--n-predict", "--generate", "", "llama.cpp"},
    Synonym{"--max-tokens", "--generate"},
    Synonym{"--batch-size", "--batch", "--micro-batch"},
    Synonym{"--micro-batch-size", "--micro-batch", "", "megatron-lm"},
    Synonym{"--global-batch-size", "--global-batch", "", "megatron-lm"},
    Synonym{"--seq-length", "--seq", "", "megatron-lm"},
    Synonym{"--seq-len", "--seq"},
    Synonym{"--sequence-length", "--seq"},
    Synonym{"--tensor-parallel-size", "--tp", "", "vllm"},
    Synonym{"--tensor-model-parallel-size", "--tp", "", "megatron-lm"},
    Synonym{"--pipeline-parallel-size", "--pp", "", "vllm"},
    Synonym{"--pipeline-model-parallel-size", "--pp", "", "megatron-lm"},
    Synonym{"--data-parallel-size", "--dp", "", "vllm"},
    Synonym{"--context-parallel-size", "--cp", "", "megatron-lm"},
    Synonym{"--expert-model-parallel-size", "--ep", "", "megatron-lm"},
    Synonym{"--expert-parallel-size", "--ep", "", "sglang"},
    Synonym{"--sequence-parallel", "--sp", "", "megatron-lm"},
    Synonym{"--gpu-memory-utilization", "--memory-utilization", "", "vllm"},
    Synonym{"--mem-fraction-static", "--memory-utilization", "", "sglang"},
    Synonym{"--max-num-seqs", "--max-seqs", "", "vllm"},
    Synonym{"--max-running-requests", "--max-seqs", "", "sglang"},
    Synonym{"--parallel", "--max-seqs", "", "llama.cpp"},
    Synonym{"--max-num-batched-tokens", "--max-batched-tokens", "", "vllm"},
    Synonym{"--chunked-prefill-size", "--max-batched-tokens", "", "sglang"},
    Synonym{"--scheduler-recv-interval", "--poll-interval", "", "sglang"},
    Synonym{"--enable-prefix-caching", "--prefix-cache", "", "vllm"},
    Synonym{"--request-rate", "--rate", "", "vllm"},
    Synonym{"--max-concurrency", "--users", "", "vllm"},
    Synonym{"--num-prompts", "--num-requests", "", "vllm"},
    Synonym{"--gpu", "--hardware"},
    Synonym{"--device", "--hardware"},
    Synonym{"--hw", "--hardware"},
    Synonym{"--num-gpus", "--gpus"},
    Synonym{"--n-gpus", "--gpus"},
    Synonym{"--engine", "--software"},
    Synonym{"--framework", "--software"},
    Synonym{"--backend", "--software"},
    Synonym{"--lora-rank", "--lora"},
    Synonym{"--train-tokens", "--tokens"},
    Synonym{"--cost", "--price"},
};

}  // namespace

std::span<const Synonym> synonyms() { return all; }

const Synonym* find_synonym(std::string_view typed) {
  std::string dashed(typed);
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  const auto found = std::find_if(all.begin(), all.end(), [&](const Synonym& s) { return s.typed == dashed; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace llmcalc
