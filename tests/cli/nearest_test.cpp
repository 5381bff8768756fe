/// Errors of `train` name the smallest working change. The tests apply it and run the command.

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using test::refused;

namespace {

const std::string llama = "train llama-3.1-8b --hardware h100 ";

void works(const std::string& arguments) {
  const test::Ran r = test::llmcalc(arguments);
  INFO(arguments << ": " << r.err);
  CHECK(r.code == 0);
}

}  // namespace

TEST_CASE("the nearest smaller and larger batches that divide evenly over the replicas are suggested", "[cli]") {
  refused(llama + "--gpus 16 --global-batch 17",
          "--global-batch 17 is not a multiple of --micro-batch 1 x 16 model replicas; it counts all replicas, and "
          "each runs whole micro-batches; set --global-batch 16 or --global-batch 32");
  works(llama + "--gpus 16 --global-batch 16");
  refused(llama + "--gpus 16 --global-batch 7",
          "--global-batch 7 is not a multiple of --micro-batch 1 x 16 model replicas; it counts all replicas, and each "
          "runs whole micro-batches; set --global-batch 16");
}

TEST_CASE("the suggested length divides evenly over context-parallel ranks and fits the model's positions", "[cli]") {
  refused("train gpt2 --hardware h100 --cp 3 --gpus 3",
          "--seq 1024 is not a multiple of 6 (--cp 3: every rank has two parts of a sequence); set --seq 1020");
  works("train gpt2 --hardware h100 --cp 3 --gpus 3 --seq 1020");
}

TEST_CASE("the error for too many chunks suggests fewer chunks, or a rank count that the GPUs allow", "[cli]") {
  refused(llama + "--gpus 64 --pp 8 --chunks 5 --global-batch 64",
          "--pp 8 x 5 chunks of layers exceed the 32 layers of llama-3.1-8b; set --chunks 4");
  works(llama + "--gpus 64 --pp 8 --chunks 4 --global-batch 64");
  refused(llama + "--gpus 72 --pp 18 --schedule zb-v --global-batch 144",
          "--pp 18 x 2 chunks of layers exceed the 32 layers of llama-3.1-8b; set --pp 12");
  works(llama + "--gpus 72 --pp 12 --schedule zb-v --global-batch 144");
  refused(llama + "--pp 8 --chunks 8",
          "--pp 8 x 8 chunks of layers exceed the 32 layers of llama-3.1-8b; set --chunks 4 --global-batch 8");
  works(llama + "--pp 8 --chunks 4 --global-batch 8");
  refused(llama + "--pp 33 --schedule dualpipe",
          "--pp 33 x 1 chunks of layers exceed the 32 layers of llama-3.1-8b; set --pp 32 --global-batch 64");
  works(llama + "--pp 32 --schedule dualpipe --global-batch 64");
  refused(llama + "--pp 31 --schedule dualpipe",
          "--schedule dualpipe pairs the first rank with the last, but --pp 31 is odd; set --pp 32 --global-batch 64");
  refused(llama + "--pp 8 --chunks 3 --schedule zb-v",
          "--schedule zb-v requires two chunks of layers per rank, got --chunks 3; set --chunks 2");
  works(llama + "--pp 8 --chunks 2 --schedule zb-v");
}

TEST_CASE("an indivisible head count is reported before the GPU count", "[cli]") {
  refused("train gpt-3-175b --hardware a100 --gpus 1024 --tp 7",
          "--tp 7 does not divide the 96 attention heads of gpt-3-175b; valid sizes: 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, "
          "48, 96");
}

TEST_CASE("error messages suggest lowering --etp before --ep", "[cli]") {
  const std::string moe = "train mixtral-8x7b --hardware h100 --gpus 8 ";
  refused(moe + "--ep 8 --etp 8",
          "--ep 8 x --etp 8 does not divide --tp x --cp x --dp = 8, the ranks available to experts; omit --etp, which "
          "then defaults to 1");
  works(moe + "--ep 8");
  refused(moe + "--tp 4 --ep 8",
          "--ep 8 x --etp 4 does not divide --tp x --cp x --dp = 8, the ranks available to experts; set --etp 1 --sp");
  works(moe + "--tp 4 --ep 8 --etp 1 --sp");
  const std::string alone = "train mixtral-8x7b --hardware h100 ";
  refused(alone + "--tp 2 --sp --ep 8",
          "--ep 8 x --etp 2 does not divide --tp x --cp x --dp = 2, the ranks available to experts; set --dp 8, or "
          "omit --ep");
  works(alone + "--tp 2 --sp --ep 8 --dp 8");
  works(alone + "--tp 2 --sp");
}

TEST_CASE("the error for a link that connects too few devices states the link's limit", "[cli]") {
  refused("train llama-3-8b --hardware rtx-4090 --gpus 64 --tp 8",
          "rtx-4090 defines no link that connects 57 devices; its widest link connects 8: set --gpus 8, or pass a "
          "hardware file that defines one ('llmcalc show rtx-4090' prints a template)");
  works("train llama-3-8b --hardware rtx-4090 --gpus 8 --tp 8");
}

TEST_CASE("options that contradict each other or have no effect are rejected", "[cli]") {
  const std::string both = "--fsdp means --zero 3 and conflicts with --zero 1; omit one of them";
  refused(llama + "--dp 8 --fsdp --zero 1", both);
  refused(llama + "--dp 8 --zero 1 --fsdp", both);
  works(llama + "--dp 8 --fsdp --zero 3");
  const std::string reshard = "--reshard has no effect without --zero 3 (--fsdp); add --zero 3, or omit --reshard";
  refused(llama + "--dp 8 --reshard off", reshard);
  refused(llama + "--dp 8 --zero 2 --reshard off", reshard);
  for (const char* option : {"--schedule zb-v", "--chunks 2", "--stage-layers 32"})
    refused(llama + "--pp 1 " + option, std::string(option).substr(0, std::string(option).find(' ')) +
                                            " has no effect with --pp 1; raise --pp, or omit it");
  refused(llama + "--lora 16:q,q", "--lora: q is specified twice; specify it once");
}

TEST_CASE("a LoRA rank must be below the smallest dimension of its matrices", "[cli]") {
  refused(llama + "--lora 2000",
          "--lora 2000 is not below the 1024 outputs of attn.k in llama-3.1-8b; use a lower rank");
  refused(llama + "--lora 1024:v",
          "--lora 1024 is not below the 1024 outputs of attn.v in llama-3.1-8b; use a lower rank");
  works(llama + "--lora 1023:v");
  works(llama + "--lora 4095:q");
  refused(llama + "--lora 4096:q",
          "--lora 4096 is not below the 4096 outputs of attn.q in llama-3.1-8b; use a lower rank");
}
