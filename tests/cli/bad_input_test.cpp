#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "calc/training/optimizer.hpp"
#include "presets/builtin.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using test::refused;

namespace {

std::string file(const std::string& name, const std::string& text) {
  const std::string path = test::scratch() + "/" + name;
  test::write_file(path, text);
  return path;
}

/// Exit code 2 and one line on stderr that names the file.
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

TEST_CASE("an unknown command, model or device gets the nearest names as suggestions", "[cli]") {
  refused("param gpt2", "unknown command \"param\", did you mean 'params'? ('llmcalc --help' shows all)");
  refused("params lama-3.1-70b",
          "unknown model \"lama-3.1-70b\", did you mean 'llama-3.1-70b' or 'llama-3.3-70b' or 'llama-3-70b'? ('llmcalc "
          "list models' shows all " +
              std::to_string(builtin_models().size()) + ")");
  refused("train gpt2 --hardware h10",
          "unknown hardware \"h10\", did you mean 'a10' or 'h100' or 'h20'? ('llmcalc list hardware' shows all " +
              std::to_string(builtin_hardware().size()) + ")");
  refused("show h1000",
          "no preset is called \"h1000\", did you mean 'h100'? ('llmcalc list models', 'hardware' and "
          "'software' show all)");
  refused("show README.md",
          "\"README.md\" holds no checkpoint; 'llmcalc params' and 'import' read a model's JSON file");
  refused("train gpt2 --hardware h100 --software megatorn-lm",
          "unknown software \"megatorn-lm\", did you mean 'megatron-lm' or 'megatron-lm-legacy' or 'megatron'? "
          "('llmcalc list software' shows all " +
              std::to_string(builtin_software().size()) + ")");
  refused(
      "infer gpt2 --hardware h100 --software nemo",
      "--software: nemo is for training, and the question is about inference; 'llmcalc list software' shows what there "
      "is for it");
  refused("memory gpt2 --hardware h100 --software vllm",
          "--software: vllm is for inference, and the question is about training; 'llmcalc list software' shows what "
          "there is for it");
  for (const char* command : {"flops", "validate"})
    CHECK_THAT(test::llmcalc(std::string(command) + " gpt2 --software nemo").err,
               Catch::StartsWith(std::string("llmcalc: --software is no option of 'llmcalc ") + command +
                                 "', only of memory, train, infer, report, plan, "));
  refused("memory gpt2 --infer --hardware h100 --software nemo",
          "--software is for training, and this is about inference; leave it out");
}

TEST_CASE("missing and unexpected arguments are reported in one sentence", "[cli]") {
  refused("params",
          "'llmcalc params' needs MODEL (a preset, a model file, a config.json, a GGUF or safetensors file, or a "
          "folder of these); 'llmcalc params --help' "
          "shows an example");
  refused("params gpt2 more", "\"more\" is one argument too many for 'llmcalc params'; its help shows what it takes");
  refused("train gpt2", "'llmcalc train' needs --hardware HW; 'llmcalc list hardware' shows what there is");
  refused(
      "train gpt2 --hardware h100 --micro-bach 3",
      "unknown option \"--micro-bach\" for 'llmcalc train', did you mean --micro-batch? ('llmcalc train --help-all' "
      "shows all)");
  refused("infer gpt2 -hardware h100", "unknown option -hardware; it is written --hardware");
  refused("train gpt2 --hardware h100 --seq", "--seq: expected a value (N), got nothing");
  refused("train gpt2 --hardware h100 --seq 8 --seq 9", "--seq is given twice; give it once");
  refused("train gpt2 --hardware h100 --sp=on", "--sp takes no value; leave out what follows it");
  refused("params gpt2 -- --json",
          "\"--json\" is one argument too many for 'llmcalc params'; its help shows what it takes");
  refused("params gpt2 --json=yes", "--json takes no value; leave out what follows it");
  refused("params gpt2 --json --json", "--json is given twice; give it once");
  refused("params gpt2 --json --markdown", "--json and --markdown exclude each other; give one of them");
  refused("collective all-reduce --bytes 10", "'llmcalc collective' needs --bytes M and --ranks N");
  refused("collective some --bytes 10 --ranks 2",
          "OP: expected broadcast, gather, reduce, all-gather, all-reduce, reduce-scatter, all-to-all or p2p, got "
          "\"some\"");
  refused("scaling",
          "'llmcalc scaling' needs one of --compute C, --params N, --tokens D; for example --compute 5.76e23");
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

TEST_CASE("control characters are never echoed, and long input is shortened", "[cli]") {
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

TEST_CASE("a malformed number or one of the wrong kind is refused, never truncated or guessed", "[cli]") {
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
  refused(train + "--lora 5000",
          "--lora 5000 is no lower than the 1024 outputs of attn.k in llama-3-8b; give a rank below it");
  refused(train + "--lora 8:qkv", "--lora: expected q, k, v, out, gate, up or down, got \"qkv\"");
  refused(train + "--lora 0", "--lora: expected a positive whole number (8192, 8k, 8Ki, 300B, 3e11), got \"0\"");
  refused(train + "--documents 16x",
          "--documents: expected a positive whole number (8192, 8k, 8Ki, 300B, 3e11), got \"\"");
  refused(train + "--documents 16x512 --seq 4096",
          "--documents 16x512 are 8192 tokens, and a sequence has 4096 (--seq); make the two equal");
  refused("train gpt2 --hardware h100 --documents 2048",
          "--documents 2048 is longer than the 1024 learned positions of gpt-2-124m; give at most 1024");
  refused(train + "--base-precision nf4",
          "--base-precision changes nothing without --lora; add it, or leave "
          "--base-precision out");
  refused(
      train + "--dp 2 --zero 3 --lora 8 --base-precision nf4",
      "--zero 3 gathers weights of one format, and the frozen ones are nf4; give --zero 2, or --base-precision bf16");
  refused(train + "--offload cache",
          "--offload: expected activations, optimizer, weights, experts or kv, each with a fraction if not all of it "
          "(optimizer:0.5), got \"cache\"");
  for (const char* f : {"0", "1.5", "0.0000001"})
    refused(
        train + "--offload optimizer:" + f,
        fmt::format("--offload: expected a fraction above 0 and at most 1, of at most six decimals, got \"{}\"", f));
  refused(train + "--offload weights,weights:0.5", "--offload: weights is there twice; leave one out");
  refused(train + "--offload optimizer --optimizer sgd --master none",
          "--offload optimizer: this optimizer keeps no state without a master copy; leave it out");
  refused("train llama-3-8b --hardware mi250x-gcd --offload weights",
          "--offload needs a link to the host, and mi250x-gcd states none; give --offload-bandwidth, or a hardware "
          "file with \"pcie\": {\"bandwidth\": \"...\"}");
  refused(train + "--recompute selective:up",
          "--recompute up is for latent attention, which this model does not have; leave it out");
  refused(train + "--recompute selective:norms", "--recompute: expected core, norm, act, mlp or up, got \"norms\"");
  refused(train + "--recompute block:0",
          "--recompute: expected a positive whole number (8192, 8k, 8Ki, 300B, 3e11), got \"0\"");
  for (const std::string_view method : {"block", "uniform"})
    refused(train + fmt::format("--recompute {}:99", method),
            fmt::format("--recompute {0}:99 is about 99 layers, and llama-3-8b has 32; give at most {0}:32, or full",
                        method));
  refused(train + "--recompute some",
          "--recompute: expected none, selective, selective:MODULES, block:N, uniform:N or full, got \"some\"");
  refused(train + "--precision fp7",
          "--precision: expected a number format ('llmcalc list dtypes' shows them), got \"fp7\", did you mean fp8?");
  refused("memory llama-3-8b --infer --kv-precision q4_k_m",
          "--kv-precision: \"q4_k_m\" is a mix of formats; give q4_k, its smallest, for a lower bound");
  for (const char* cache : {"k=fp8", "k=fp8,k=int8", "v=fp8", "fp8,v=int8"})
    refused(std::string("memory llama-3-8b --infer --kv-precision ") + cache,
            "--kv-precision: expected one format, or k=FORMAT,v=FORMAT, got \"" + std::string(cache) + "\"");
  refused("memory llama-3-8b --infer --kv-precision k=fp8,v=int8,k=bf16",
          "--kv-precision: expected a number format ('llmcalc list dtypes' shows them), got \"int8,k=bf16\"");
  refused("memory deepseek-v3 --infer --kv-precision k=fp8,v=bf16",
          "--kv-precision gives keys and values formats of their own, and latent attention caches one row for both; "
          "give one format");
  refused(train + "--state-precision q8_0",
          "--state-precision: expected a format without blocks (bf16, fp8, fp32), got \"q8_0\"; --weight-precision and "
          "--kv-precision take it");
  refused(train + "--micro-batch 9e18",
          "these sizes give a count past 2^63; check the model, the batch and the sequence length");
  for (const char* zero : {"--seq 0", "--micro-batch 0", "--tp 0", "--efficiency 0", "--efficiency 1.5", "--overlap 2"})
    CHECK(test::llmcalc(train + zero).code == 2);
}

TEST_CASE("an impossible plan is refused with a possible one", "[cli]") {
  refused("train gpt2 --hardware h100 --tp 5",
          "--tp 5 does not divide the 12 attention heads of gpt-2-124m; 1, 2, 3, 4, 6, 12 do");
  refused("train gpt2 --hardware h100 --seq 2048",
          "--seq 2048 is longer than the 1024 learned positions of gpt-2-124m; give at most 1024");
  refused("train llama-3-8b --hardware h100 --micro-batch 3 --global-batch 8",
          "--global-batch 8 is not a multiple of --micro-batch 3; every optimizer step runs whole micro-batches: give "
          "--global-batch 6 or --global-batch 9");
  refused("train llama-3-8b --hardware h100 --tp 8 --gpus 12",
          "--gpus 12 is not a multiple of the 8 GPUs that hold the model once (--tp x --cp x --pp); give --gpus 8 or "
          "--gpus "
          "16");
  refused("train llama-3-8b --hardware v100 --precision fp8",
          "v100-sxm2-32gb has no fp8 matmul peak; --precision can be fp64, fp32, fp16, int8, int8-row");
  refused(
      "infer llama-3-8b --hardware m3-max --tp 2",
      "m3-max states no link that joins 2 devices; lower --tp, or give a hardware file that states one ('llmcalc show "
      "m3-max' prints a start)");
}

TEST_CASE("an invalid layout is refused with the smallest change that makes it valid", "[cli]") {
  const std::string llama = "train llama-3-8b --hardware h100 ", moe = "train mixtral-8x7b --hardware h100 ";
  refused(llama + "--pp 4 --schedule dualpipe --global-batch 4",
          "--schedule dualpipe on 4 ranks cannot run 4 micro-batches per step; 8 can be: give --global-batch 8");
  refused(llama + "--pp 3 --schedule dualpipe --global-batch 12",
          "--schedule dualpipe pairs the first rank with the last, and --pp 3 is odd; give --pp 4");
  refused(llama + "--pp 4 --chunks 2 --global-batch 6",
          "--schedule interleaved on 4 ranks cannot run 6 micro-batches per step; 8 can be: give --global-batch 8");
  refused(llama + "--pp 4 --chunks 3 --schedule 1f1b",
          "--schedule 1f1b has one chunk of layers per rank, got --chunks 3; give --chunks 1");
  refused(llama + "--pp 64", "--pp 64 x 1 chunks of layers are more than the 32 layers of llama-3-8b; give --pp 32");
  refused(llama + "--pp 4 --stage-layers 8,8,8",
          "--stage-layers has 3 numbers for 4 chunks of layers (--pp x --chunks); give 4");
  refused(llama + "--pp 4 --stage-layers 8,8,8,9",
          "--stage-layers add up to 33 layers, and llama-3-8b has 32; give 4x8, or leave it out");
  refused(llama + "--pp 4 --stage-layers 8,20,8,3",
          "--stage-layers add up to 39 layers, and llama-3-8b has 32; give 8,20,3,1, or leave it out");
  refused(llama + "--gpus 16 --tp 4 --dp 2", "--gpus 16 is not --tp x --cp x --pp x --dp = 8; leave one of them out");
  refused(llama + "--gpus 0", "--gpus: expected a positive whole number (8192, 8k, 8Ki, 300B, 3e11), got \"0\"");
  refused(llama + "--cp 3",
          "--seq 8192 is not a multiple of 6 (--cp 3: every rank has two parts of a sequence); give --seq 8190 or "
          "--seq 8196");
  refused(llama + "--cp 64 --cp-method ulysses",
          "--cp 64 does not divide the 32 attention heads of a rank of llama-3-8b, as Ulysses needs; 1, 2, 4, 8, 16, "
          "32 do");
  refused(llama + "--ep 2 --dp 2", "--ep 2 is for models with experts, and llama-3-8b has none; leave it out");
  refused(moe + "--ep 3 --dp 3", "--ep 3 does not divide the 8 experts of mixtral-8x7b; 1, 2, 4, 8 do");
  refused(moe + "--ep 8 --dp 4",
          "--ep 8 x --etp 1 does not divide --tp x --cp x --dp = 4, from which experts take their ranks; give --ep 4, "
          "or --dp 8");
  refused(moe + "--ep 4 --dp 4 --tp 2",
          "--ep with --tp needs --sp, so that each rank sends its own tokens to the experts; add it");
  refused(moe + "--ep 4 --dp 4 --expert-load 0.5",
          "--expert-load: expected a number from 1 (balanced) to 1000, got \"0.5\"");
  refused(
      moe + "--ep 4 --dp 4 --expert-load 4.5",
      "--expert-load 4.5: the most loaded of 4 expert ranks (--ep) has at most all tokens, 4 times the mean; give at "
      "most 4");
  refused("train mixtral-8x7b --hardware h100 --dp 8 --expert-nodes 2",
          "--expert-nodes is about experts that are spread over ranks; add --ep");
  refused("train mixtral-8x7b --hardware h100 --tp 8 --sp --ep 8 --dp 8 --expert-nodes 1",  // one on each node
          "--expert-nodes 1 is too few: nodes of h100-sxm-80gb hold fewer experts than the 2 to which mixtral-8x7b "
          "sends each token; give more nodes, or lower --ep");
  refused(llama + "--dp 8 --zero 4", "--zero: expected a ZeRO stage: 0, 1, 2 or 3, got \"4\"");
  refused(llama + "--dp 8 --zero 3 --hsdp 3",
          "--hsdp 3 does not divide the 8 ranks that hold the same weights (--dp x --cp); 1, 2, 4, 8 do");
  refused("train mixtral-8x7b --hardware h100 --gpus 64 --fsdp --hsdp 4 --ep 8",
          "--ep 8 x --etp 1 does not divide --tp x --hsdp = 4, the GPUs of one copy of the states, which holds every "
          "expert; give --hsdp 8");
  refused("train mixtral-8x7b --hardware h100 --cp 2 --pp 4 --dp 8 --ep 8 --order tp-cp-ep-pp-dp",
          "--order tp-cp-ep-pp-dp gives the experts of a pipeline stage other GPUs than its other layers; put pp last "
          "or first");
  refused(llama + "--dp 8 --hsdp 2", "--hsdp changes nothing without --zero 1, 2 or 3; add it, or leave it out");
  refused("train llama-3-8b --hardware rtx-4090 --dp 64",
          "rtx-4090 states no link that joins 64 devices; its widest joins 8: give --dp 8, or give a hardware file "
          "that states one "
          "('llmcalc show "
          "rtx-4090' prints a start)");
  refused("train llama-3-8b --hardware a100 --dp 8 --collectives in-network",
          "--collectives in-network needs switches that reduce, and no link of a100-sxm-80gb does; give another, or a "
          "hardware file whose link or network says \"reduces\": true");
  refused("report llama-3-8b --hardware h100 --cp 2", "--cp is for training; 'llmcalc train' takes it");
  refused("memory llama-3-8b --pp 2", "--pp is for training; add --train");
  refused("report mixtral-8x7b --hardware h100 --ep 2 --dp 2",
          "--ep and --etp are for training; 'llmcalc train' takes it");
  refused("flops llama-3-8b --optimizer lion", "--optimizer changes FLOPs with muon alone; leave it out");
  refused("flops llama-3-8b --ns-steps 3",
          "--ns-steps is for muon, whose iterations it counts; add --optimizer muon, or leave it out");
  refused("train llama-3-8b --hardware h100 --optimizer sgd --ns-steps 3",
          "--ns-steps is for muon, whose iterations it counts; add --optimizer muon, or leave it out");
  refused("train llama-3-8b --hardware h100 --optimizer moun",
          "--optimizer: expected " + one_of(choice_names<Optimizer>) + ", got \"moun\"");
  refused("train llama-3-8b --hardware h100 --optimizer muon --offload optimizer",
          "--offload optimizer updates on the host, and muon's products need the device; leave it out");
  refused("train gpt2 --hardware h100 --lora 16:gate",
          "--lora 16:gate: gpt-2-124m has none of the matrices that it names; name others, or the rank alone");
  refused(
      "train llama-3.1-8b --hardware h100 --tokens 1T --mtbf 0.01 --checkpoint-bandwidth 1GB/s --restart 60",
      "--mtbf 0.01: a failure every 36.00 s on 1 GPU, where a checkpoint takes 112.4 s and a restart 60.00 s: the run "
      "makes no progress; give a longer --mtbf, a higher --checkpoint-bandwidth or a shorter --restart");
  const std::string freeze = "train llama-3.1-8b --hardware h100 --freeze ";
  refused(freeze + "layers:30-40", "--freeze layers:40: llama-3.1-8b has layers 0 to 31; give these");
  refused(freeze + "layers:9-3",
          "--freeze: expected layers from a lower to a higher number (layers:0-15), got \"9-3\"");
  refused(freeze + "layers:2000", "--freeze: layer 2000 is beyond the 1024 that a model can have");
  refused(freeze + "layers:-3", "--freeze: expected a whole number (8192, 8k, 8Ki, 300B, 3e11), got \"\"");
  refused(freeze + "atention",
          "--freeze: expected embedding, head, attention, mlp, experts, router, norm or layers:A-B, joined by ',', got "
          "\"atention\"");
  refused(freeze + "experts", "--freeze experts: llama-3.1-8b has no weights of that kind; leave it out");
  refused(freeze + "embedding,head,attention,mlp,norm",
          "--freeze embedding,head,attention,mlp,norm leaves nothing of llama-3.1-8b to train; leave a part out");
  refused(freeze + "embedding --lora 8", "--lora freezes all but its adapters; leave out --freeze");
  refused("flops gpt2 --freeze head", "--freeze head: the head of gpt-2-124m is its token table; give embedding");
  for (const char* option : {"--dp 2", "--cp 2", "--ep 2", "--pp 2"}) {
    const test::Ran r = test::llmcalc(std::string("infer llama-3-8b --hardware h100 ") + option);
    CHECK(r.code == 2);
    CHECK(r.err.find("is no option of") != std::string::npos);
  }
}

TEST_CASE("a file that is not a model is refused with its name and the position of the error", "[cli]") {
  refused("params /nowhere/x.json", "cannot read '/nowhere/x.json': no such file");
  const std::string model = test::read_file(LLMCALC_SOURCE_DIR "/presets/models/gpt-2-124m.json");
  const auto with = [&](const std::string& name, const std::string& from, const std::string& to) {
    std::string text = model;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return file(name, text.replace(at, from.size(), to));
  };
  refused_file(file("cut.json", model.substr(0, 200)), "cut short");
  refused_file(file("empty.json", ""), "cut short");
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

TEST_CASE("a folder without a config and a config of an unknown family are refused", "[cli]") {
  const std::string folder = test::scratch() + "/empty-folder";
  std::filesystem::create_directories(folder);
  refused("params " + folder,
          "the folder '" + folder + "' holds no config.json; give a model file or a folder that holds one");
  const test::Ran r =
      test::llmcalc("params " + file("config.json", R"({"model_type": "perceiver", "hidden_size": 64})"));
  CHECK(r.code == 2);
  CHECK(r.err.find("perceiver") != std::string::npos);
  CHECK(r.err.find("llmcalc list families") != std::string::npos);
}

TEST_CASE("a file without read permission is refused", "[cli]") {
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
  CHECK(full.err == "llmcalc: cannot write the output: the disk is full; free some space and run it again\n");
  const test::Ran closed = test::llmcalc("list models", {.behind = "| head -1"});
  CHECK(closed.code == 0);
  CHECK(closed.err.empty());
}

TEST_CASE("an unusable GPU is reported with a remedy", "[bad_input]") {
  refused("validate --device tpu", "--device: expected cpu, cuda or cuda:N, got \"tpu\"");
  refused("validate --device cuda:x", "--device: expected cpu, cuda or cuda:N, got \"cuda:x\"");
  const test::Ran r = test::llmcalc("validate docs/examples/tiny-llama.json --device cuda --train");
  if (r.code == 0) return;  // a GPU is present
  CHECK(r.code == 2);
  CHECK(r.err.find("use --device cpu") != std::string::npos);
}

TEST_CASE("a missing CUDA library is reported, and for an unusable one also the reason", "[bad_input]") {
  const std::string folder = test::scratch() + "/alone", copy = folder + "/llmcalc";
  std::filesystem::create_directories(folder);
  const std::filesystem::path program = LLMCALC_PROGRAM;
  for (const auto& file : {program, program.parent_path() / "libllmcalc_kernels.so"})
    std::filesystem::copy_file(file, std::filesystem::path(folder) / file.filename(),
                               std::filesystem::copy_options::overwrite_existing);
  const auto says = [&](const std::string& sentence) {
    // The first command only serves to run the copy from the same shell.
    const test::Ran r =
        test::llmcalc("--version >/dev/null; " + copy + " validate docs/examples/tiny-llama.json --device cuda");
    INFO(r.err);
    CHECK(r.code == 2);
    CHECK(r.out.empty());
    CHECK(r.err.starts_with("llmcalc: " + sentence));
    CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
  };
  says("this program was built without CUDA: there is no libllmcalc_cuda.so next to it; build llmcalc with");
  test::write_file(folder + "/libllmcalc_cuda.so", "no library");
  says(folder + "/libllmcalc_cuda.so cannot be opened: ");
}

TEST_CASE("without the kernel library the calculator works, and validate names the missing file", "[bad_input]") {
  const std::string folder = test::scratch() + "/calculator", copy = folder + "/llmcalc";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(LLMCALC_PROGRAM, copy, std::filesystem::copy_options::overwrite_existing);
  CHECK(test::llmcalc("--version >/dev/null; " + copy + " params gpt2").code == 0);
  const test::Ran r = test::llmcalc("--version >/dev/null; " + copy + " validate gpt2");
  CHECK(r.code == 2);
  CHECK(r.err.starts_with("llmcalc: 'llmcalc validate' needs libllmcalc_kernels.so, which is not next to the program"));
}
