#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "calc/training/optimizer.hpp"
#include "presets/builtin.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "text/names.hpp"

using namespace llmcalc;
using test::refused;

namespace {

std::string file(const std::string& name, const std::string& text) {
  const std::string path = test::scratch() + "/" + name;
  test::write_file(path, text);
  return path;
}

/// Checks that the exit code is 2 and that stderr has one line, which names the file.
void refused_file(const std::string& path, const std::string& says) {
  const test::Ran r = test::llmcalc("params " + path);
  INFO(path << ": " << r.err);
  CHECK(r.code == 2);
  CHECK(r.out.empty());
  CHECK(r.err.find(path) != std::string::npos);
  CHECK(r.err.find(says) != std::string::npos);
  CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
}

}  // namespace

TEST_CASE("the error for an unknown command, model or device suggests the nearest names", "[cli]") {
  refused("param gpt2", "unknown command \"param\", did you mean 'params'? ('llmcalc --help' shows all)");
  refused("params lama-3.1-70b",
          "unknown model \"lama-3.1-70b\", did you mean 'llama-3.1-70b' or 'llama-3.3-70b' or 'llama-3-70b'? ('llmcalc "
          "list models' shows all " +
              std::to_string(builtin_models().size()) + ")");
  refused("train gpt2 --hardware h10",
          "unknown hardware \"h10\", did you mean 'a10' or 'h100' or 'h20'? ('llmcalc list hardware' shows all " +
              std::to_string(builtin_hardware().size()) + ")");
  refused("show h1000",
          "unknown preset \"h1000\", did you mean 'h100'? ('llmcalc list models', 'llmcalc list hardware' and "
          "'llmcalc list software' list all presets)");
  refused("show README.md",
          "\"README.md\" is not a checkpoint; 'llmcalc params' and 'import' read the JSON file of a model");
  refused("train gpt2 --hardware h100 --software megatorn-lm",
          "unknown software \"megatorn-lm\", did you mean 'megatron-lm' or 'megatron-lm-legacy' or 'megatron'? "
          "('llmcalc list software' shows all " +
              std::to_string(builtin_software().size()) + ")");
  refused("infer gpt2 --hardware h100 --software nemo",
          "--software: nemo is for training, but the result is for inference; 'llmcalc list software' lists the "
          "alternatives");
  refused("memory gpt2 --train --hardware h100 --software transformers",
          "--software: transformers is for inference, but the result is for training; use hf-trainer");
  refused("memory gpt2 --train --hardware h100 --software vllm",
          "--software: vllm is for inference, but the result is for training; 'llmcalc list software' lists the "
          "alternatives");
  for (const char* command : {"flops", "validate"})
    CHECK_THAT(test::llmcalc(std::string(command) + " gpt2 --software nemo").err,
               Catch::StartsWith(std::string("llmcalc: --software is not an option of 'llmcalc ") + command +
                                 "', only of memory, train, infer, report, plan, "));
  refused("memory gpt2 --infer --hardware h100 --software nemo",
          "--software applies to training, but this result is for inference; omit it");
}

TEST_CASE("the error for missing or unexpected arguments is one sentence", "[cli]") {
  refused("params",
          "'llmcalc params' needs MODEL (a preset, a model file, a config.json, a GGUF or safetensors file, or a "
          "folder of them); 'llmcalc params --help' shows an example");
  refused("params gpt2 more", "unexpected argument \"more\" for 'llmcalc params'; see its --help");
  refused("train gpt2", "'llmcalc train' needs --hardware HW; 'llmcalc list hardware' lists the presets");
  refused("train gpt2 --hardware h100 --micro-bach 3",
          "unknown option \"--micro-bach\" for 'llmcalc train', did you mean --micro-batch? ('llmcalc train "
          "--help-all' lists all options)");
  refused("infer gpt2 -hardware h100", "unknown option -hardware; did you mean --hardware?");
  refused("train gpt2 --hardware h100 --seq", "--seq: missing value (N)");
  refused("train gpt2 --hardware h100 --seq 8 --seq 9", "--seq is specified twice; specify it once");
  refused("train gpt2 --hardware h100 --sp=on", "--sp takes no value; omit the value");
  refused("params gpt2 -- --json", "unexpected argument \"--json\" for 'llmcalc params'; see its --help");
  refused("params gpt2 --json=yes", "--json takes no value; omit the value");
  refused("params gpt2 --json --json", "--json is specified twice; specify it once");
  refused("params gpt2 --json --markdown", "--json and --markdown are mutually exclusive; specify one of them");
  refused("collective all-reduce --bytes 10", "'llmcalc collective' needs --bytes M and --ranks N");
  refused("collective some --bytes 10 --ranks 2",
          "OP: expected broadcast, gather, reduce, all-gather, all-reduce, reduce-scatter, all-to-all or p2p, got "
          "\"some\"");
  refused("scaling",
          "'llmcalc scaling' needs one of --compute C, --params N or --tokens D; for example --compute 5.76e23");
}

TEST_CASE("alternative spellings of a choice are accepted", "[cli]") {
  const std::string train = "train llama-3-8b --hardware h100 ";
  CHECK(test::llmcalc(train + "--optimizer AdamW").out == test::llmcalc(train + "--optimizer adam").out);
  CHECK(test::llmcalc(train + "--attention-flops causal_half").code == 0);
  CHECK(test::llmcalc("collective allreduce --bytes 1k --ranks 2").code == 0);
  CHECK(test::llmcalc("collective all-reduce --bytes 64Mi --ranks 2").out ==
        test::llmcalc("collective all-reduce --bytes 64MiB --ranks 2").out);
  CHECK(test::llmcalc("collective allreduce --bytes 1k --ranks 2").out ==
        test::llmcalc("collective all-reduce --bytes 1k --ranks 2").out);
}

TEST_CASE("error messages never echo control characters, and they shorten long input", "[cli]") {
  const std::string line(100000, 'x'), train = "train gpt2 --hardware h100 ";
  const std::vector<std::string> all{"params '\x1b[31mx'",
                                     "params 'a\nb'",
                                     "params " + line,
                                     "params gpt2 --" + line,
                                     line,
                                     "--" + line,
                                     "train gpt2 --hardware " + line,
                                     train + "--seq '\x1b[31m'",
                                     train + "--seq " + line,
                                     train + "--optimizer 'a\nb'"};
  for (const std::string& arguments : all) {
    const test::Ran r = test::llmcalc(arguments);
    INFO(arguments.substr(0, 100));
    CHECK(r.code == 2);
    CHECK(r.err.size() < 600);
    CHECK(std::count_if(r.err.begin(), r.err.end(), [](char c) { return c >= 0 && c < 0x20; }) ==
          1);  // the final newline
  }
}

TEST_CASE("a malformed number or a number of the wrong kind is rejected, never truncated or guessed", "[cli]") {
  const std::string train = "train llama-3-8b --hardware h100 ";
  const std::string count = "expected a positive whole number (8192, 8k, 8Ki, 300B, 3e11), got ";
  refused(train + "--seq -5", "--seq: " + count + "\"-5\"");
  refused(train + "--seq ''", "--seq: " + count + "\"\"");
  refused(train + "--seq=", "--seq: " + count + "\"\"");
  refused(train + "--seq 010", "--seq: " + count + "\"010\"; write \"10\"");
  refused(train + "--seq nan", "--seq: " + count + "\"nan\"");
  refused(train + "--seq 1e400", "--seq: " + count + "\"1e400\"; write a number below 2^63");
  refused(train + "--tokens 1T --price 3GB", "--price: expected a price (2.5 USD/h), got \"3GB\", a size");
  refused(train + "--gradient-bytes 3", "--gradient-bytes: expected 2, 4 or 6 bytes per gradient, got \"3\"");
  refused(train + "--lora 5000", "--lora 5000 is not below the 1024 outputs of attn.k in llama-3-8b; use a lower rank");
  refused(train + "--lora 8:qkv", "--lora: expected q, k, v, out, gate, up or down, got \"qkv\"");
  refused(train + "--lora 0", "--lora: expected a positive whole number (8192, 8k, 8Ki, 300B, 3e11), got \"0\"");
  refused(train + "--documents 16x",
          "--documents: expected a positive whole number (8192, 8k, 8Ki, 300B, 3e11), got \"\"");
  refused(train + "--documents 16x512 --seq 4096",
          "--documents 16x512 add up to 8192 tokens, but a sequence has 4096 (--seq); make them equal");
  refused("train gpt2 --hardware h100 --documents 2048",
          "--documents 2048 exceeds the 1024 learned positions of gpt-2-124m; set at most 1024");
  refused(train + "--base-precision nf4",
          "--base-precision has no effect without --lora; add --lora, or omit --base-precision");
  refused(train + "--dp 2 --zero 3 --lora 8 --base-precision nf4",
          "--zero 3 gathers weights of a single format, but the frozen weights are nf4; set --zero 2, or "
          "--base-precision bf16");
  refused(train + "--offload cache",
          "--offload: expected activations, optimizer, weights, experts or kv, each with an optional fraction "
          "(optimizer:0.5), got \"cache\"");
  for (const char* f : {"0", "1.5", "0.0000001"})
    refused(
        train + "--offload optimizer:" + f,
        fmt::format("--offload: expected a fraction above 0 and at most 1, with at most six decimals, got \"{}\"", f));
  refused(train + "--offload weights,weights:0.5", "--offload: weights is specified twice; omit one");
  refused(train + "--offload optimizer --optimizer sgd --master none",
          "--offload optimizer: this optimizer has no state without a master copy; omit it");
  refused("train llama-3-8b --hardware mi250x-gcd --offload weights",
          "--offload requires a host link, which mi250x-gcd does not define; set --offload-bandwidth, or pass a "
          "hardware file with \"pcie\": {\"bandwidth\": \"...\"}");
  refused(train + "--recompute selective:up",
          "--recompute up applies to latent attention, which this model does not have; omit it");
  refused(train + "--recompute selective:norms", "--recompute: expected core, norm, act, mlp or up, got \"norms\"");
  refused(train + "--recompute block:0",
          "--recompute: expected a positive whole number (8192, 8k, 8Ki, 300B, 3e11), got \"0\"");
  for (const std::string_view method : {"block", "uniform"})
    refused(
        train + fmt::format("--recompute {}:99", method),
        fmt::format("--recompute {0}:99 covers 99 layers, but llama-3-8b has 32; set at most {0}:32, or full", method));
  refused(train + "--recompute some",
          "--recompute: expected none, selective, selective:MODULES, block:N, uniform:N or full, got \"some\"");
  refused(train + "--precision fp7",
          "--precision: expected a number format ('llmcalc list dtypes' shows them), got \"fp7\", did you mean fp8?");
  refused("memory llama-3-8b --infer --kv-precision q4_k_m",
          "--kv-precision: \"q4_k_m\" is a mix of formats; pass q4_k, its smallest, for a lower bound");
  for (const char* cache : {"k=fp8", "k=fp8,k=int8", "v=fp8", "fp8,v=int8"})
    refused(std::string("memory llama-3-8b --infer --kv-precision ") + cache,
            "--kv-precision: expected one format, or k=FORMAT,v=FORMAT, got \"" + std::string(cache) + "\"");
  refused("memory llama-3-8b --infer --kv-precision k=fp8,v=int8,k=bf16",
          "--kv-precision: expected a number format ('llmcalc list dtypes' shows them), got \"int8,k=bf16\"");
  refused("memory deepseek-v3 --infer --kv-precision k=fp8,v=bf16",
          "--kv-precision sets separate formats for keys and values, but latent attention caches one row for both; "
          "specify one format");
  refused(train + "--state-precision q8_0",
          "--state-precision: expected a format without blocks (bf16, fp8, fp32), got \"q8_0\"; --weight-precision and "
          "--kv-precision accept it");
  refused(train + "--micro-batch 9e18",
          "a count exceeds 2^63; check the model, the batch size and the sequence length");
  for (const char* zero : {"--seq 0", "--micro-batch 0", "--tp 0", "--efficiency 0", "--efficiency 1.5", "--overlap 2"})
    CHECK(test::llmcalc(train + zero).code == 2);
}

TEST_CASE("the error for an impossible plan suggests a possible one", "[cli]") {
  refused("train gpt2 --hardware h100 --tp 5",
          "--tp 5 does not divide the 12 attention heads of gpt-2-124m; valid sizes: 1, 2, 3, 4, 6, 12");
  refused("train gpt2 --hardware h100 --seq 2048",
          "--seq 2048 exceeds the 1024 learned positions of gpt-2-124m; set at most 1024");
  refused("train llama-3-8b --hardware h100 --micro-batch 3 --global-batch 8",
          "--global-batch 8 is not a multiple of --micro-batch 3, and every optimizer step runs whole micro-batches; "
          "set --global-batch 6 or --global-batch 9");
  refused(
      "train llama-3-8b --hardware h100 --tp 8 --gpus 12",
      "--gpus 12 is not a multiple of the 8 GPUs per model replica (--tp x --cp x --pp); set --gpus 8 or --gpus 16");
  refused("train llama-3-8b --hardware v100 --precision fp8",
          "v100-sxm2-32gb has no fp8 matmul peak; set --precision to one of: fp64, fp32, fp16, int8, int8-row");
  refused("infer llama-3-8b --hardware m3-max --tp 2",
          "m3-max defines no link that connects 2 devices; lower --tp, or pass a hardware file that defines one "
          "('llmcalc show m3-max' prints a template)");
}

TEST_CASE("the error for an invalid layout names the smallest change that makes it valid", "[cli]") {
  const std::string llama = "train llama-3-8b --hardware h100 ", moe = "train mixtral-8x7b --hardware h100 ";
  refused(llama + "--pp 4 --schedule dualpipe --global-batch 4",
          "--schedule dualpipe on 4 ranks cannot run 4 micro-batches per step, but can run 8; set --global-batch 8");
  refused(llama + "--pp 3 --schedule dualpipe --global-batch 12",
          "--schedule dualpipe pairs the first rank with the last, but --pp 3 is odd; set --pp 4");
  refused(llama + "--pp 4 --chunks 2 --global-batch 6",
          "--schedule interleaved on 4 ranks cannot run 6 micro-batches per step, but can run 8; set --global-batch 8");
  refused(llama + "--pp 4 --chunks 3 --schedule 1f1b",
          "--schedule 1f1b requires one chunk of layers per rank, got --chunks 3; set --chunks 1");
  refused(llama + "--pp 64", "--pp 64 x 1 chunks of layers exceed the 32 layers of llama-3-8b; set --pp 32");
  refused(llama + "--pp 4 --stage-layers 8,8,8",
          "--stage-layers has 3 values for 4 chunks of layers (--pp x --chunks); specify 4");
  refused(llama + "--pp 4 --stage-layers 8,8,8,9",
          "--stage-layers add up to 33 layers, but llama-3-8b has 32; set 4x8, or omit it");
  refused(llama + "--pp 4 --stage-layers 8,20,8,3",
          "--stage-layers add up to 39 layers, but llama-3-8b has 32; set 8,20,3,1, or omit it");
  refused(llama + "--gpus 16 --tp 4 --dp 2", "--gpus 16 differs from --tp x --cp x --pp x --dp = 8; omit one of them");
  refused(llama + "--gpus 0", "--gpus: expected a positive whole number (8192, 8k, 8Ki, 300B, 3e11), got \"0\"");
  refused(llama + "--cp 3",
          "--seq 8192 is not a multiple of 6 (--cp 3: every rank has two parts of a sequence); set --seq 8190 or "
          "--seq 8196");
  refused(llama + "--cp 64 --cp-method ulysses",
          "--cp 64 does not divide the 32 attention heads per rank of llama-3-8b, as Ulysses requires; valid sizes: 1, "
          "2, 4, 8, 16, 32");
  refused(llama + "--ep 2 --dp 2", "--ep 2 applies to models with experts, and llama-3-8b has none; omit it");
  refused(moe + "--ep 3 --dp 3", "--ep 3 does not divide the 8 experts of mixtral-8x7b; valid sizes: 1, 2, 4, 8");
  refused(
      moe + "--ep 8 --dp 4",
      "--ep 8 x --etp 1 does not divide --tp x --cp x --dp = 4, the ranks available to experts; set --ep 4, or --dp 8");
  refused(moe + "--ep 4 --dp 4 --tp 2",
          "--ep with --tp needs --sp, so that each rank sends its own tokens to the experts; add --sp");
  refused(moe + "--ep 4 --dp 4 --expert-load 0.5",
          "--expert-load: expected a number from 1 (balanced) to 1000, got \"0.5\"");
  refused(moe + "--ep 4 --dp 4 --expert-load 4.5",
          "--expert-load 4.5: the most loaded of 4 expert ranks (--ep) has at most all tokens, 4 times the mean; set "
          "at most 4");
  refused("train mixtral-8x7b --hardware h100 --dp 8 --expert-nodes 2",
          "--expert-nodes applies to experts sharded over ranks; add --ep");
  refused("train mixtral-8x7b --hardware h100 --tp 8 --sp --ep 8 --dp 8 --expert-nodes 1",  // one on each node
          "--expert-nodes 1 is too low: these nodes of h100-sxm-80gb contain fewer experts than the 2 to which "
          "mixtral-8x7b routes each token; raise it, or lower --ep");
  refused(llama + "--dp 8 --zero 4", "--zero: expected a ZeRO stage: 0, 1, 2 or 3, got \"4\"");
  refused(llama + "--dp 8 --zero 3 --hsdp 3",
          "--hsdp 3 does not divide the 8 ranks with the same weights (--dp x --cp); valid sizes: 1, 2, 4, 8");
  refused("train mixtral-8x7b --hardware h100 --gpus 64 --fsdp --hsdp 4 --ep 8",
          "--ep 8 x --etp 1 does not divide --tp x --hsdp = 4, the GPUs of one copy of the states, which includes "
          "every expert; set --hsdp 8");
  refused(
      "train mixtral-8x7b --hardware h100 --cp 2 --pp 4 --dp 8 --ep 8 --order tp-cp-ep-pp-dp",
      "--order tp-cp-ep-pp-dp places the experts of a pipeline stage on different GPUs than its other layers; put pp "
      "last or first");
  refused(llama + "--dp 8 --hsdp 2", "--hsdp has no effect without --zero 1, 2 or 3; add --zero, or omit --hsdp");
  refused("train llama-3-8b --hardware rtx-4090 --dp 64",
          "rtx-4090 defines no link that connects 64 devices; its widest link connects 8: set --dp 8, or pass a "
          "hardware file that defines one ('llmcalc show rtx-4090' prints a template)");
  refused("train llama-3-8b --hardware a100 --dp 8 --collectives in-network",
          "--collectives in-network requires switches that reduce, but no link of a100-sxm-80gb supports it; choose "
          "another algorithm, or pass a hardware file whose link or network has \"reduces\": true");
  refused("report llama-3-8b --hardware h100 --cp 2", "--cp applies to training; use 'llmcalc train'");
  refused("memory llama-3-8b --pp 2", "--pp has other stages in training than in inference; add --train or --infer");
  refused("report mixtral-8x7b --hardware h100 --ep 2 --dp 2", "--ep and --etp apply to training; use 'llmcalc train'");
  refused("flops llama-3-8b --optimizer lion", "--optimizer affects FLOPs only with muon; omit it");
  refused("flops llama-3-8b --ns-steps 3", "--ns-steps sets the iterations of muon; add --optimizer muon, or omit it");
  refused("train llama-3-8b --hardware h100 --optimizer sgd --ns-steps 3",
          "--ns-steps sets the iterations of muon; add --optimizer muon, or omit it");
  refused("train llama-3-8b --hardware h100 --optimizer moun",
          "--optimizer: expected " + one_of(choice_names<Optimizer>) + ", got \"moun\"");
  refused("train llama-3-8b --hardware h100 --optimizer muon --offload optimizer",
          "--offload optimizer computes updates on the host, but muon's matmuls need the device; omit it");
  refused("train gpt2 --hardware h100 --lora 16:gate",
          "--lora 16:gate: gpt-2-124m has no matching matrices; specify others, or only the rank");
  refused("train llama-3.1-8b --hardware h100 --tokens 1T --mtbf 0.01 --checkpoint-bandwidth 1GB/s --restart 60",
          "--mtbf 0.01: the run makes no progress with a failure every 36.00 s on 1 GPU, 112.4 s per checkpoint and "
          "60.00 s per restart; raise --mtbf or --checkpoint-bandwidth, or lower --restart");
  const std::string freeze = "train llama-3.1-8b --hardware h100 --freeze ";
  refused(freeze + "layers:30-40", "--freeze layers:40: llama-3.1-8b has layers 0 to 31; use these");
  refused(freeze + "layers:9-3", "--freeze: expected layers in ascending order (layers:0-15), got \"9-3\"");
  refused(freeze + "layers:2000", "--freeze: layer 2000 exceeds the maximum of 1024 layers");
  refused(freeze + "layers:-3", "--freeze: expected a whole number (8192, 8k, 8Ki, 300B, 3e11), got \"\"");
  refused(freeze + "atention",
          "--freeze: expected embedding, head, attention, mlp, experts, router, norm or layers:A-B, separated by ',', "
          "got \"atention\"");
  refused(freeze + "experts", "--freeze experts: llama-3.1-8b has no weights of this kind; omit it");
  refused(freeze + "embedding,head,attention,mlp,norm",
          "--freeze embedding,head,attention,mlp,norm leaves no weights of llama-3.1-8b to train; omit a part");
  refused(freeze + "embedding --lora 8", "--lora already freezes all weights except its adapters; omit --freeze");
  refused("flops gpt2 --freeze head", "--freeze head: the head of gpt-2-124m is tied to its embedding; use embedding");
  for (const char* option : {"--dp 2", "--cp 2", "--ep 2"}) {
    const test::Ran r = test::llmcalc(std::string("infer llama-3-8b --hardware h100 ") + option);
    CHECK(r.code == 2);
    CHECK(r.err.find("is not an option of") != std::string::npos);
  }
}

TEST_CASE("the error for a file that is not a model names the file and the position of the mistake", "[cli]") {
  refused("params /nowhere/x.json", "cannot read '/nowhere/x.json': no such file");
  const std::string model = test::read_file(LLMCALC_SOURCE_DIR "/presets/models/gpt-2-124m.json");
  const auto with = [&](const std::string& name, const std::string& from, const std::string& to) {
    std::string text = model;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return file(name, text.replace(at, from.size(), to));
  };
  refused_file(file("cut.json", model.substr(0, 200)), "truncated");
  refused_file(file("empty.json", ""), "truncated");
  refused_file(with("twice.json", "\"layers\": 12", "\"layers\": 12, \"layers\": 13"), "appears twice");
  refused_file(with("unknown.json", "\"layers\": 12", "\"layers\": 12, \"lairs\": 13"), "lairs");
  refused_file(with("text.json", "\"layers\": 12", "\"layers\": \"12\""), "layers");
  refused_file(with("half.json", "\"layers\": 12", "\"layers\": 12.5"), "layers");
  refused_file(with("minus.json", "\"layers\": 12", "\"layers\": -12"), "layers");
  refused_file(with("zero.json", "\"layers\": 12", "\"layers\": 0"), "layers");
  refused_file(with("absurd.json", "\"hidden\": 768", "\"hidden\": 9000000000000000000"), "hidden");
  refused_file(with("other.json", "\"layers\": 12", "\"layers\": 13"), "124439808");
  refused_file(file("deep.json", std::string(100000, '[')), "64");
  std::filesystem::resize_file(file("big.json", "{}"), std::uintmax_t{1} << 30);
  refused_file(test::scratch() + "/big.json", "64 MiB");
}

TEST_CASE("a folder without a config and a config of an unknown family are rejected", "[cli]") {
  const std::string folder = test::scratch() + "/empty-folder";
  std::filesystem::create_directories(folder);
  refused("params " + folder,
          "the folder '" + folder + "' contains no config.json; pass a model file or a folder with a config.json");
  const test::Ran r =
      test::llmcalc("params " + file("config.json", R"({"model_type": "perceiver", "hidden_size": 64})"));
  CHECK(r.code == 2);
  CHECK(r.err.find("perceiver") != std::string::npos);
  CHECK(r.err.find("llmcalc list families") != std::string::npos);
}

TEST_CASE("a file without read permission is rejected", "[cli]") {
  if (::geteuid() == 0) {
    WARN("not tested: the superuser may read every file");
    return;
  }
  const std::string path = file("locked.json", "{}");
  std::filesystem::permissions(path, std::filesystem::perms::none);
  refused_file(path, "permission");
}

TEST_CASE("a full disk is an error, and a closed pipe is not", "[cli]") {
  const test::Ran full = test::llmcalc("params gpt2 >/dev/full");
  CHECK(full.code == 2);
  CHECK(full.err == "llmcalc: cannot write the output: the disk is full; free some space and rerun\n");
  const test::Ran closed = test::llmcalc("list models", {.behind = "| head -1"});
  CHECK(closed.code == 0);
  CHECK(closed.err.empty());
}

TEST_CASE("the error for an unusable GPU names a remedy", "[bad_input]") {
  refused("validate --device tpu", "--device: expected cpu, cuda or cuda:N, got \"tpu\"");
  refused("validate --device cuda:x", "--device: expected cpu, cuda or cuda:N, got \"cuda:x\"");
  const test::Ran r = test::llmcalc("validate docs/examples/tiny-llama.json --device cuda --train");
  if (r.code == 0) return;  // a GPU is present
  CHECK(r.code == 2);
  CHECK(r.err.find("use --device cpu") != std::string::npos);
}

TEST_CASE("a missing or unusable CUDA library is reported, an unusable one with the reason", "[bad_input]") {
  const std::string folder = test::scratch() + "/alone", copy = folder + "/llmcalc";
  std::filesystem::create_directories(folder);
  const std::filesystem::path program = LLMCALC_PROGRAM;
  for (const auto& file : {program, program.parent_path() / "libllmcalc_kernels.so"})
    std::filesystem::copy_file(file, std::filesystem::path(folder) / file.filename(),
                               std::filesystem::copy_options::overwrite_existing);
  const auto says = [&](const std::string& sentence) {
    // The first command is a dummy; the copied program runs in the same shell.
    const test::Ran r =
        test::llmcalc("--version >/dev/null; " + copy + " validate docs/examples/tiny-llama.json --device cuda");
    INFO(r.err);
    CHECK(r.code == 2);
    CHECK(r.out.empty());
    CHECK(r.err.starts_with("llmcalc: " + sentence));
    CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
  };
  says("this program was built without CUDA: libllmcalc_cuda.so was not found next to it; build llmcalc with");
  test::write_file(folder + "/libllmcalc_cuda.so", "no library");
  says("cannot open " + folder + "/libllmcalc_cuda.so: ");
}

TEST_CASE("without the kernel library the calculator works, and validate names the missing file", "[bad_input]") {
  const std::string folder = test::scratch() + "/calculator", copy = folder + "/llmcalc";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(LLMCALC_PROGRAM, copy, std::filesystem::copy_options::overwrite_existing);
  CHECK(test::llmcalc("--version >/dev/null; " + copy + " params gpt2").code == 0);
  const test::Ran r = test::llmcalc("--version >/dev/null; " + copy + " validate gpt2");
  CHECK(r.code == 2);
  CHECK(
      r.err.starts_with("llmcalc: 'llmcalc validate' needs libllmcalc_kernels.so, which was not found next to the "
                        "program"));
}
