#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

/// Exit code 2, this one sentence on stderr, nothing on stdout.
void refused(const std::string& arguments, const std::string& sentence) {
  const test::Ran r = test::llmcalc(arguments);
  INFO("llmcalc " << arguments);
  CHECK(r.err == "llmcalc: " + sentence + "\n");
  CHECK(r.code == 2);
  CHECK(r.out.empty());
}

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

TEST_CASE("an unknown command, model or device is answered with the nearest names", "[cli]") {
  refused("param gpt2", "unknown command \"param\", did you mean 'params'?; 'llmcalc --help' shows all");
  refused("params lama-3.1-70b",
          "unknown model \"lama-3.1-70b\", did you mean 'llama-3.1-70b' or 'llama-3.3-70b' or 'llama-3-70b'? ('llmcalc "
          "list "
          "models' shows all 123)");
  refused("train gpt2 --hardware h10",
          "unknown hardware \"h10\", did you mean 'a10' or 'h100' or 'h20'? ('llmcalc list hardware' shows all 120)");
  refused("show h1000",
          "no preset is called \"h1000\", did you mean 'h100'? ('llmcalc list models' and 'llmcalc list "
          "hardware' show all)");
}

TEST_CASE("missing and unexpected arguments are reported in one sentence", "[cli]") {
  refused("params",
          "'llmcalc params' needs MODEL (a preset, a model file, a config.json or its folder); 'llmcalc params --help' "
          "shows an example");
  refused("params gpt2 more", "\"more\" is one argument too many for 'llmcalc params'; its help shows what it takes");
  refused("train gpt2", "'llmcalc train' needs --hardware HW; 'llmcalc list hardware' shows what there is");
  refused(
      "train gpt2 --hardware h100 --micro-bach 3",
      "unknown option \"--micro-bach\" for 'llmcalc train', did you mean --micro-batch?; 'llmcalc train --help-all' "
      "shows all");
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

TEST_CASE("another spelling of a choice is understood", "[cli]") {
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
    CHECK(std::count_if(r.err.begin(), r.err.end(), [](char c) { return c >= 0 && c < 0x20; }) == 1);  // its end
  }
}

TEST_CASE("a malformed number, or one of the wrong kind, is refused and never truncated or guessed", "[cli]") {
  const std::string train = "train llama-3-8b --hardware h100 ";
  const std::string count = "expected a positive whole number (8192, 8k, 8Ki, 300B, 3e11), got ";
  refused(train + "--seq -5", "--seq: " + count + "\"-5\"");
  refused(train + "--seq ''", "--seq: " + count + "\"\"");
  refused(train + "--seq=", "--seq: " + count + "\"\"");
  refused(train + "--seq 010", "--seq: " + count + "\"010\"; write \"10\"");
  refused(train + "--seq nan", "--seq: " + count + "\"nan\"");
  refused(train + "--seq 1e400", "--seq: " + count + "\"1e400\"; write a number below 2^63");
  refused(train + "--tokens 1T --price 3GB", "--price: expected a price (2.5 USD/h), got \"3GB\", a size");
  refused(train + "--gradient-bytes 3", "--gradient-bytes: expected 2 or 4 bytes per gradient, got \"3\"");
  refused(train + "--recompute some", "--recompute: expected none, selective or full, got \"some\"");
  refused(train + "--precision fp7",
          "--precision: expected a number format ('llmcalc list dtypes' shows them), got \"fp7\", did you mean fp8?");
  refused("memory llama-3-8b --infer --weight-precision q4_k_m",
          "--weight-precision: \"q4_k_m\" is a mix of formats; give q4_k, its smallest, for a lower bound");
  refused(train + "--state-precision q8_0",
          "--state-precision: expected a format without blocks (bf16, fp8, fp32), got \"q8_0\"; --weight-precision and "
          "--kv-precision take it");
  refused(train + "--micro-batch 9e18",
          "these sizes give a count past 2^63; check the model, the batch and the sequence length");
  for (const char* zero : {"--seq 0", "--micro-batch 0", "--tp 0", "--efficiency 0", "--efficiency 1.5", "--overlap 2"})
    CHECK(test::llmcalc(train + zero).code == 2);
}

TEST_CASE("validate refuses options that it would ignore", "[cli]") {
  refused("validate --seq 128", "--seq is for one model, and the suite has plans of its own; give a MODEL");
  refused("validate gpt2 --suite small", "give either a model or --suite, not both");
  refused("validate gpt2 --check-time", "--check-time needs --hardware FILE, which 'llmcalc calibrate' writes");
  refused("validate gpt2 --repeats 3", "--repeats needs --hardware FILE, which 'llmcalc calibrate' writes");
  refused("validate docs/examples/tiny-llama.json --hardware h100 --check-time --repeats 4294967296",
          "--repeats: expected a whole number from 1 to 10000, got 4294967296");
  refused("validate gpt2 --train --prompt 8", "--prompt is for inference; for training use --seq");
  refused("validate gpt2 --infer --seq 8", "--seq is for training; for inference use --prompt");
}

TEST_CASE("validate names the option that a single-device run does not support", "[cli]") {
  const auto not_run = [](const std::string& options, const std::string& why) {
    refused("validate docs/examples/tiny-llama.json " + options,
            "the reference transformer does not run this plan: " + why);
  };
  not_run("--tp 2", "it runs on one device; leave out --tp, --sp and --gpus");
  not_run("--attention-flops causal-half",
          "--attention-flops is about model FLOPs, and those that it executes are compared; leave it out");
  not_run("--weight-precision bf16", "its weights have the --precision of the rest; leave out --weight-precision");
  not_run("--kv-precision bf16", "its cache has the --precision of the rest; leave out --kv-precision");
  not_run("--state-precision bf16", "its optimizer states are float32; leave out --state-precision");
  not_run("--precision bf16 --master none",
          "its optimizer states are float32; with --master none give --state-precision fp32 too");
}

TEST_CASE("an impossible plan is refused with a possible one", "[cli]") {
  refused("train gpt2 --hardware h100 --tp 5",
          "--tp 5 does not divide the 12 attention heads of gpt-2-124m; 1, 2, 3, 4, 6, 12 do");
  refused("train gpt2 --hardware h100 --seq 2048",
          "--seq 2048 is longer than the 1024 learned positions of gpt-2-124m; give at most 1024");
  refused("train llama-3-8b --hardware h100 --micro-batch 3 --global-batch 8",
          "--global-batch 8 is not a multiple of --micro-batch 3; every optimizer step runs whole micro-batches");
  refused("train llama-3-8b --hardware h100 --tp 8 --gpus 12",
          "--gpus 12 is not a multiple of the 8 GPUs that hold the model once (--tp); give a multiple of 8");
  refused("train llama-3-8b --hardware v100 --precision fp8",
          "v100-sxm2-32gb has no fp8 matmul peak; --precision can be fp64, fp32, fp16, int8");
  refused(
      "infer llama-3-8b --hardware m3-max --tp 2",
      "m3-max states no link that joins 2 devices; lower --tp, or give a hardware file that states one ('llmcalc show "
      "m3-max' prints a start)");
}

TEST_CASE("unsupported parallelism is refused and not ignored", "[cli]") {
  refused("train llama-3-8b --hardware h100 --pp 4",
          "--pp: pipeline parallelism is not supported yet; leave it at 1 (tensor and sequence parallelism are: --tp, "
          "--sp)");
  for (const char* command : {"train", "infer"})
    for (const char* option : {"--dp 2", "--cp 2", "--ep 2"}) {
      const test::Ran r = test::llmcalc(std::string(command) + " llama-3-8b --hardware h100 " + option);
      CHECK(r.code == 2);
      CHECK(r.err.find("is not supported yet") != std::string::npos);
    }
  CHECK(test::llmcalc("train llama-3-8b --hardware h100 --pp 1 --zero 0").code == 0);
}

TEST_CASE("a file that is not a model is refused with its name and position", "[cli]") {
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

TEST_CASE("a folder without a config, and a config of an unknown family, are refused", "[cli]") {
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

TEST_CASE("an unusable GPU is reported with what to do", "[bad_input]") {
  refused("validate --device tpu", "--device: expected cpu, cuda or cuda:N, got \"tpu\"");
  refused("validate --device cuda:x", "--device: expected cpu, cuda or cuda:N, got \"cuda:x\"");
  const test::Ran r = test::llmcalc("validate docs/examples/tiny-llama.json --device cuda --train");
  if (r.code == 0) return;  // there is one
  CHECK(r.code == 2);
  CHECK(r.err.find("use --device cpu") != std::string::npos);
}

TEST_CASE("a missing CUDA library is reported, and the reason why a present one cannot be opened", "[bad_input]") {
  const std::string folder = test::scratch() + "/alone", copy = folder + "/llmcalc";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(LLMCALC_PROGRAM, copy, std::filesystem::copy_options::overwrite_existing);
  const auto says = [&](const std::string& sentence) {
    // The first command is the shell's way to the copy.
    const test::Ran r =
        test::llmcalc("--version >/dev/null; " + copy + " validate docs/examples/tiny-llama.json --device cuda");
    INFO(r.err);
    CHECK(r.code == 2);
    CHECK(r.out.empty());
    CHECK(r.err.starts_with("llmcalc: " + sentence));
    CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
  };
  says("this program was built without CUDA: there is no libllmcalc_cuda.so beside it; build llmcalc where nvcc is");
  test::write_file(folder + "/libllmcalc_cuda.so", "no library");
  says(folder + "/libllmcalc_cuda.so cannot be opened: ");
}
