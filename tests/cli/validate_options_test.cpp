// Options of 'llmcalc validate': plans that the reference transformer runs, and errors for plans that it does not.

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using test::refused;

TEST_CASE("validate rejects options that it would ignore", "[cli]") {
  refused("validate --seq 128", "--seq applies to a single model, and the suite defines its own plans; pass a MODEL");
  refused("validate gpt2 --suite small", "pass either a model or --suite, not both");
  refused("validate gpt2 --offload activations",
          "the reference transformer does not run this plan: it stores all tensors on its device; omit --offload");
  refused("validate gpt2 --check-time", "--check-time requires --hardware FILE, written by 'llmcalc calibrate'");
  refused("validate gpt2 --repeats 3", "--repeats requires --hardware FILE, written by 'llmcalc calibrate'");
  refused("validate docs/examples/tiny-llama.json --hardware h100 --check-time --repeats 4294967296",
          "--repeats: expected a whole number from 1 to 10000, got 4294967296");
  refused("validate gpt2 --train --prompt 8", "--prompt applies to inference; for training use --seq");
  refused("validate gpt2 --infer --seq 8", "--seq applies to training; for inference use --prompt");
}

TEST_CASE("the error from validate names the option that a single-device run does not support", "[cli]") {
  const auto not_run = [](const std::string& options, const std::string& why) {
    refused("validate docs/examples/tiny-llama.json " + options,
            "the reference transformer does not run this plan: " + why);
  };
  not_run("--tp 2", "it runs on one device; omit --gpus, --tp and the other parallelism options");
  not_run("--attention-flops causal-half",
          "--attention-flops affects only model FLOPs, but executed FLOPs are compared; omit it");
  not_run("--weight-precision bf16",
          "it trains weights in the format of --precision; omit --weight-precision or add --infer");
  not_run("--precision fp8", "--precision fp8 is not supported; use fp32, bf16 or fp16");
  not_run("--kv-precision iq3_s", "--kv-precision iq3_s is not supported; use int8 or fp8, for example");
  not_run("--gradient-bytes 2",
          "2-byte gradients use the format of --precision, and float32 has 4 bytes; set --precision to bf16 or fp16");
  not_run("--logits bf16+grad", "it stores a single copy of the logits; set --logits to fp32 or compute");
  not_run("--train --freeze mlp --recompute uniform:2",
          "groups of layers are recomputed as a whole, including frozen layers; use --recompute full or omit --freeze");
  refused("validate docs/examples/tiny-llama.json --lora 2 --base-precision iq3_s",
          "the reference transformer cannot quantize to iq3_s, the plan's format for embedding.tokens.weight; choose "
          "another --base-precision");
  refused("validate docs/examples/tiny-llama.json --infer --weight-precision int4",
          "the reference transformer cannot quantize to int4, the plan's format for embedding.tokens.weight; choose "
          "another --weight-precision");
}

TEST_CASE("validate runs low-precision formats, every optimizer and recomputation of some layers", "[cli]") {
  for (const char* options :
       {"--precision fp16", "--infer --weight-precision int8 --kv-precision k=fp8,v=q4_0", "--kv-precision nvfp4",
        "--infer --weight-precision mlp=mxfp4,attention=int8", "--train --optimizer muon --state-precision bf16",
        "--train --optimizer adam8bit", "--train --recompute block:1", "--train --recompute uniform:2",
        "--precision fp16 --master none"}) {
    INFO(options);
    CHECK(test::llmcalc(std::string("validate docs/examples/tiny-llama.json ") + options).code == 0);
  }
}

TEST_CASE("validate runs packed sequences, frozen parts, adapters, chunked logits and 2-byte gradients", "[cli]") {
  for (const char* options :
       {"--documents 3x2,4,1", "--freeze embedding,norm", "--freeze attention,layers:1", "--lora 2",
        "--lora 2:q,v,down --base-precision nf4-dq --seq 12", "--logits chunked:4 --seq 18",
        "--logits chunked:5 --lora 2 --base-precision int8", "--precision bf16 --gradient-bytes 2 --micro-batch 2",
        "--precision bf16 --state-precision fp16 --global-batch 4 --micro-batch 2"}) {
    INFO(options);
    CHECK(test::llmcalc(std::string("validate docs/examples/tiny-llama.json --train ") + options).code == 0);
  }
}

TEST_CASE("the error from validate names models that cannot run packed sequences, frozen parts or adapters", "[cli]") {
  const auto refuses = [](const std::string& options, const std::string& why) {
    refused("validate " + options, "the reference transformer does not run this plan: " + why);
  };
  refuses("mamba-130m --train --documents 2x8",
          "recurrences, indexers and pooled keys of this model treat a sequence as one document; omit --documents");
  refuses(
      "flan-t5-small --train --freeze embedding",
      "it cannot freeze part of a model whose layers read results of other layers or use token shift; omit --freeze");
  refuses(
      "rwkv-6-1.6b --train --seq 8 --freeze embedding",
      "it cannot freeze part of a model whose layers read results of other layers or use token shift; omit --freeze");
  refuses("flan-t5-small --train --lora 2",
          "it does not train adapters in a model whose layers read results of other layers or use token shift; omit "
          "--lora");
}
