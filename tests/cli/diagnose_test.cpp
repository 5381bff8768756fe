// 'llmcalc diagnose': splits a log's memory into named terms that add up, each with its prediction.

#include <algorithm>
#include <filesystem>

#include "evidence/convert/words/cluster_words.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using Catch::Contains;

namespace {

const std::string logs = "tests/cli/logs/";

std::string log_file(const std::string& name, const std::string& text) {
  const std::string path = test::scratch() + "/" + name;
  test::write_file(path, text);
  return path;
}

/// The row of a term, or of a part of the parent term named by `of`.
const json::Value& line_of(const json::Value& report, const std::string& term, const std::string& of = "") {
  const json::Value& all = report["booking"];
  const auto found = std::find_if(all.begin(), all.end(), [&](const json::Value& row) {
    return row["term"] == term && row.value("part_of", "") == of;
  });
  INFO(all.dump(1));
  REQUIRE(found != all.end());
  return *found;
}

/// Checks that the terms of each device, excluding their parts, add up to the sum in its last row.
void check_sums(const json::Value& report) {
  Count sum = 0, sums = 0;
  for (const json::Value& row : report["booking"]) {
    if (row.contains("part_of") || !row.contains("bytes")) continue;
    if (row.contains("sum")) {
      CHECK(row["bytes"] == sum);
      sum = 0;
      ++sums;
    } else {
      sum += row["bytes"].get<Count>();
    }
  }
  CHECK(sums > 0);
  CHECK(sum == 0);
}

void refused(const std::string& arguments, const std::string& says) {
  const test::Ran r = test::llmcalc("diagnose " + arguments);
  INFO("diagnose " << arguments << "\n" << r.err);
  CHECK(r.code == 2);
  CHECK(r.out.empty());
  CHECK_THAT(r.err, Contains(says));
  CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
}

std::string verdict_of(const json::Value& report) { return report["verdict"]["text"].dump(); }
std::string notes_of(const json::Value& report) { return report["notes"].dump(); }

}  // namespace

TEST_CASE("memory in a server's startup log is compared with the prediction for the model that it names",
          "[diagnose][cli]") {
  const json::Value report = test::ask("diagnose " + logs + "vllm-v0.log");
  check_sums(report);
  CHECK(report["diagnosis"]["kind"] == "vllm_start");
  CHECK(report["model"]["name"] == "llama-3.1-8b");
  CHECK_THAT(notes_of(report), Contains("which is the preset llama-3.1-8b"));
  const json::Value& weights = line_of(report, "weights");
  CHECK(weights["predicted_bytes"] == Count{2} * 8030261248);
  CHECK(weights["difference_bytes"] == weights["bytes"].get<Count>() - 2 * Count{8030261248});
  // 450,224 tokens x 32 layers x 2 x 8 heads x 128 x 2 bytes
  CHECK(line_of(report, "kv_cache")["predicted_bytes"] == Count{450224} * 131072);
  CHECK(report["diagnosis"]["cache_tokens"] == 450224);
  CHECK(report["diagnosis"]["concurrency"] == 3.43);
  CHECK(report["inputs"]["memory_utilization"] == 0.9);
  CHECK_THAT(verdict_of(report), Contains("fits: yes: 3.43 requests of 131,072 tokens at once"));
}

TEST_CASE("a difference larger than the rounding error is reported as unexplained", "[diagnose][cli]") {
  std::string text = test::read_file(LLMCALC_SOURCE_DIR "/" + logs + "vllm-v0.log");
  CHECK_THAT(verdict_of(test::ask("diagnose " + log_file("whole.log", text))), !Contains("unexplained"));
  const std::size_t at = text.find("54.96GiB");
  REQUIRE(at != std::string::npos);
  text.replace(at, 8, "54.91GiB");
  CHECK_THAT(verdict_of(test::ask("diagnose " + log_file("gap.log", text))), Contains("unexplained: 51.20 MiB"));
}

TEST_CASE("the prediction uses the log's ranks unless others are given", "[diagnose][cli]") {
  const json::Value report = test::ask("diagnose " + logs + "vllm-v1.log");
  CHECK(report["inputs"]["tp"] == 2);
  CHECK(line_of(report, "kv_cache")["predicted_bytes"] == Count{1004336} * 65536);  // half of the heads
  CHECK(line_of(report, "said")["sum"] == true);
  check_sums(report);
  CHECK(test::ask("diagnose " + logs + "vllm-v1.log --tp 4")["inputs"]["tp"] == 4);
  const json::Value on = test::ask("diagnose " + logs + "vllm-v1.log --hardware h100");
  check_sums(on);
  CHECK(line_of(on, "capacity")["bytes"] == Count{80} << 30);
  CHECK(line_of(on, "activations_and_libraries")["derived"] == true);
  CHECK_THAT(notes_of(on), Contains("0.9 is assumed"));
  CHECK_THAT(notes_of(test::ask("diagnose " + logs + "vllm-v1.log --hardware h100 --memory-utilization 0.95")),
             Contains("0.95 is assumed"));
}

TEST_CASE("quantized blocks leave the embedding and the head in 16 bits", "[diagnose][cli]") {
  const json::Value report = test::ask("diagnose " + logs + "vllm-fp8.log");
  // embedding table and head, 2 x 128256 x 4096, and norms, 65 x 4096, at 2 bytes per element; all others at one
  const Count wide = 2 * Count{128256} * 4096 + 65 * 4096, all = 8030261248;
  CHECK(line_of(report, "weights")["predicted_bytes"] == all + wide);
  CHECK(report["inputs"]["kv_precision"] == "fp8");
  CHECK(report["inputs"]["prompt"] == 8192);  // tokens per pass
  CHECK(line_of(report, "held_before_start")["bytes"].get<double>() / 0x1p30 == Approx(0.55));
  check_sums(report);
}

TEST_CASE("predicted weights of gpt-oss include the padding that vLLM adds on the device", "[diagnose][cli]") {
  const std::string log = log_file(
      "gpt-oss.log",
      "INFO [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: model='openai/gpt-oss-120b', "
      "dtype=torch.bfloat16, max_seq_len=131072, tensor_parallel_size=1, quantization=mxfp4, kv_cache_dtype=auto\n"
      "INFO [gpu_model_runner.py:2602] Model loading took 65.97 GiB and 5.1 seconds\n");
  for (const char* hardware : {"a100-sxm-80gb", "b200-sxm-180gb"}) {
    INFO(hardware);
    const json::Value report = test::ask("diagnose " + log + " --hardware " + hardware);
    const json::Value served = test::ask(
        "serve gpt-oss-120b --users 1 --prompt 100 --generate 10 --weight-precision "
        "experts=mxfp4 --software vllm --hardware " +
        std::string(hardware))["engine_memory"];
    const Count padding = served["padding_bytes"];
    CHECK(padding > Count{5} << 30);
    CHECK(line_of(report, "weights")["predicted_bytes"] == served["weights_bytes"].get<Count>() + padding);
    CHECK_THAT(notes_of(report), Contains("weights in mxfp4 (experts), bf16, as in the checkpoint"));
  }
}

TEST_CASE("a logged format with fewer bits than the model's own becomes the server's weight format",
          "[diagnose][cli]") {
  const auto weights = [](const std::string& quantization) {
    const std::string log = log_file(
        "narrow.log",
        "INFO [core.py:77] Initializing a V1 LLM engine (v0.19.0) with config: model='deepseek-ai/DeepSeek-V3', "
        "dtype=torch.bfloat16, max_seq_len=32768, tensor_parallel_size=8, quantization=" +
            quantization +
            ", kv_cache_dtype=auto\nINFO [gpu_model_runner.py:4556] Model loading took 79.5 GiB memory\n");
    return line_of(test::ask("diagnose " + log), "weights")["predicted_bytes"].get<double>();
  };
  CHECK(weights("fp8") == weights("None"));
  CHECK(weights("modelopt_fp4") < 0.65 * weights("fp8"));
}

TEST_CASE("each data-parallel rank of a server holds a share of the experts", "[diagnose][cli]") {
  const auto report = [](const std::string& ranks) {
    const std::string log = log_file(
        "data-parallel.log",
        "(APIServer pid=1) INFO [utils.py:233] non-default args: {'model': 'deepseek-ai/DeepSeek-V3', " + ranks +
            "'kv_cache_dtype': 'fp8'}\n"
            "(EngineCore_DP3 pid=88) INFO [core.py:105] Initializing a V1 LLM engine (v0.19.0) with config: "
            "model='deepseek-ai/DeepSeek-V3', dtype=torch.bfloat16, max_seq_len=32768, tensor_parallel_size=1, "
            "quantization=fp8, kv_cache_dtype=fp8\n"
            "(EngineCore_DP3 pid=88) INFO [gpu_model_runner.py:4556] Model loading took 97.54 GiB memory\n"
            "(EngineCore_DP3 pid=88) INFO [gpu_worker.py:436] Available KV cache memory: 22.10 GiB\n"
            "(EngineCore_DP3 pid=88) INFO [kv_cache_utils.py:1319] GPU KV cache size: 676,160 tokens\n"
            "(EngineCore_DP0 pid=85) INFO [kv_cache_utils.py:1319] GPU KV cache size: 670,080 tokens\n");
    return test::ask("diagnose " + log);
  };
  const auto weights = [](const json::Value& of) { return line_of(of, "weights")["predicted_bytes"].get<Count>(); };
  const json::Value whole = report(""), cut = report("'data_parallel_size': 8, "),
                    divided = report("'data_parallel_size': 8, 'enable_expert_parallel': True, ");
  // 58 layers of 256 experts with three matrices of 7168 x 2048: one byte per element and 4 per 128 x 128 block. A rank
  // holds an eighth.
  const Count numbers = Count{58} * 256 * 3 * 7168 * 2048, experts = numbers + numbers / (128 * 128) * 4;
  CHECK(weights(divided) == weights(whole) - experts / 8 * 7);
  CHECK(weights(cut) == weights(divided));  // an eighth of every expert has as many elements as every eighth expert
  CHECK_THAT(notes_of(divided), Contains("from the log: 8 data-parallel ranks, experts distributed over 8 ranks"));
  CHECK_THAT(notes_of(cut), Contains("the width of every expert sharded over 8 ranks"));
  CHECK(divided["diagnosis"]["cache_tokens"] == 676160);
  CHECK(line_of(divided, "kv_cache")["predicted_bytes"] == Count{676160} * 61 * 576);
}

TEST_CASE("an out-of-memory error reports the requested, free and lost bytes, and a remedy", "[diagnose][cli]") {
  const json::Value report = test::ask("diagnose " + logs + "out-of-memory.log");
  check_sums(report);
  CHECK_FALSE(report.contains("model"));
  CHECK(report["diagnosis"]["kind"] == "out_of_memory");
  CHECK(report["diagnosis"]["gpu"] == 3);
  CHECK(report["diagnosis"]["asked_bytes"] == Count{8} << 30);
  const std::string verdict = verdict_of(report);
  CHECK_THAT(verdict, Contains("requested: 8.000 GiB on GPU 3; 1.210 GiB of 79.15 GiB free"));
  CHECK_THAT(verdict, Contains("fragmentation: 2.200 GiB reserved but unallocated"));
  // 8 - 1.21 - 2.20 GiB
  CHECK_THAT(verdict, Contains("stop the other processes, which use 4.080 GiB: not sufficient") &&
                          Contains("at least 4.590 GiB less tensor memory") && !Contains("expandable_segments"));
}

TEST_CASE("expandable segments are suggested if unallocated reserved memory exceeds the request", "[diagnose][cli]") {
  const std::string text =
      "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 79.15 GiB total capacity; 70.01 GiB already allocated; "
      "1.20 GiB free; 76.20 GiB reserved in total by PyTorch)\n";
  const json::Value report = test::ask("diagnose " + log_file("slack.log", text));
  CHECK_THAT(verdict_of(report), Contains("expandable_segments:True: unallocated memory exceeds the request"));
  CHECK(line_of(report, "outside")["derived"] == true);
  check_sums(report);
  CHECK_THAT(verdict_of(report), Contains("PYTORCH_CUDA_ALLOC_CONF"));
  std::string hip = text;
  hip.replace(0, 4, "HIP");
  CHECK_THAT(verdict_of(test::ask("diagnose " + log_file("hip.log", hip))),
             Contains("PYTORCH_HIP_ALLOC_CONF=expandable_segments:True") && !Contains("CUDA_ALLOC"));
  const test::Ran piped = test::llmcalc("diagnose - --json", {.streams = "<" + test::scratch() + "/slack.log"});
  CHECK(piped.code == 0);
  CHECK(json::parse(piped.out, "report")["inputs"]["log"] == "standard input");
}

TEST_CASE("PyTorch's allocated memory is split into the plan's terms and a remainder", "[diagnose][cli]") {
  const std::string plan = "llama-3.1-8b --seq 2048 --fsdp --dp 8";
  const json::Value report = test::ask("diagnose " + logs + "out-of-memory.log " + plan);
  check_sums(report);
  const json::Value memory = test::ask("memory " + plan + " --train")["memory"];
  const json::Value& allocated = line_of(report, "allocated");
  CHECK(allocated["predicted_bytes"] == memory["peak_bytes"]);
  CHECK(line_of(report, "optimizer", "allocated")["predicted_bytes"] == memory["optimizer_bytes"]);
  Count parts = line_of(report, "unexplained", "allocated")["bytes"];
  for (const json::Value& row : report["booking"])
    if (row.contains("part_of") && row.contains("predicted_bytes")) parts += row["predicted_bytes"].get<Count>();
  CHECK(parts == allocated["bytes"]);
  CHECK_THAT(notes_of(report), Contains("allocated memory includes tensors in CUDA graph pools"));
  CHECK(report["layout"]["dp"] == 8);
  const json::Value inference = test::ask("diagnose " + logs + "out-of-memory.log llama-3.1-8b --infer --batch 8");
  CHECK(line_of(inference, "kv_cache", "allocated")["predicted_bytes"] == Count{8} * 2304 * 131072);
}

TEST_CASE("a memory table is attributed for every device, and the verdict names the fullest device",
          "[diagnose][cli]") {
  const json::Value report = test::ask("diagnose " + logs + "memory-summary.log --hardware h100");
  check_sums(report);
  CHECK(report["diagnosis"]["kind"] == "memory_summary");
  CHECK_THAT(verdict_of(report), Contains("peak: 62.50 GiB allocated on GPU 1, the fullest"));
  CHECK(report["booking"][0]["gpu"] == 0);
  CHECK(report["booking"][0]["bytes"] == Count{62} << 30);
  refused(logs + "memory-summary.log --hardware rtx-4090", "68.00 GiB on a device, but RTX 4090 has 24.00 GiB");
}

TEST_CASE("a server that cannot hold one request reports the length that fits", "[diagnose][cli]") {
  const std::string start = "Model loading took 14.9889 GiB and 5.1 seconds\n";
  const json::Value report = test::ask(
      "diagnose " +
      log_file("need.log",
               start +
                   "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV "
                   "cache is needed, which is larger than the available KV cache memory (5.83 GiB). Based on the "
                   "available memory, the estimated maximum model length is 47744.\n"));
  CHECK_THAT(verdict_of(report),
             Contains("fits: no: a request of 131,072 tokens needs 16.00 GiB, but the cache has 5.830 GiB; 47,744 "
                      "tokens would fit"));
  const json::Value none =
      test::ask("diagnose " + log_file("none.log", start + "Available KV cache memory: -2.81 GiB\n"));
  CHECK_THAT(verdict_of(none), Contains("fits: no: even without a cache, 2.810 GiB is missing"));
  check_sums(none);
}

TEST_CASE("a log that names no preset is reported without a prediction, with a note", "[diagnose][cli]") {
  const std::string path = log_file("own.log",
                                    "Initializing an LLM engine (v0.2.7) with config: model='me/my-model', "
                                    "dtype=torch.float16, max_seq_len=4096, tensor_parallel_size=1, quantization=None\n"
                                    "# GPU blocks: 27886, # CPU blocks: 2048\n");
  const json::Value report = test::ask("diagnose " + path);
  CHECK_THAT(notes_of(report), Contains("which is not a preset: specify MODEL for a prediction"));
  CHECK(report["booking"].empty());
  CHECK(report["diagnosis"]["cache_tokens"] == 27886 * 16);
  refused(path + " --tp 2", "--tp has no effect without MODEL");
  const json::Value given = test::ask("diagnose " + path + " llama-2-7b");
  CHECK(given["model"]["name"] == "llama-2-7b");
  CHECK(line_of(given, "kv_cache")["predicted_bytes"] == Count{27886} * 16 * 524288);
}

TEST_CASE("unreadable logs and invalid options are rejected", "[diagnose][cli]") {
  const std::string failure = logs + "out-of-memory.log", start = logs + "vllm-v0.log";
  std::filesystem::create_directories(test::scratch() + "/log-folder");
  std::filesystem::resize_file(log_file("large.log", "x"), std::uintmax_t{70} << 20);
  refused(log_file("empty.log", ""), "the log is empty");
  refused(log_file("hello.log", "hello\n"), "no report of memory use found");
  refused(log_file("binary.log", std::string("\x7f"
                                             "ELF\0\0",
                                             6)),
          "binary or UTF-16");
  refused(test::scratch() + "/log-folder", "it is a folder; pass a log");
  refused(test::scratch() + "/large.log", "above the limit of 64 MiB");
  refused(test::scratch() + "/nowhere.log", "no such file");
  refused("", "needs LOG");
  refused("- -", "LOG and MODEL are both '-'");
  refused(failure + " --train", "--train has no effect without MODEL");
  refused(failure + " gpt2 --train --infer", "specify --train or --infer, not both");
  refused(start + " --train", "the log comes from a server");
  refused(start + " --micro-batch 2", "--micro-batch applies to training; for inference use --batch");
  refused(failure + " gpt2 --batch 2", "--batch applies to inference; for training use --micro-batch");
  refused(failure + " gpt2 --hardware h100 --require-fit", "--require-fit applies to a plan");
  refused(start + " --hardware h100 --memory-utilization 0.8", "--memory-utilization applies only to a server log");
}

TEST_CASE("a share of reserved memory is shown only if the log states reserved memory", "[diagnose][cli]") {
  const std::string good = test::read_file(LLMCALC_SOURCE_DIR "/tests/cli/logs/out-of-memory.log");
  std::string log = good;
  for (std::size_t at; (at = log.find("allocated memory")) != std::string::npos;) log.erase(at, 1);
  REQUIRE(log != good);
  const std::string mutated = log_file("mutated.log", log);
  for (const char* style : {"", " --markdown", " --json"}) {
    const test::Ran r = test::llmcalc("diagnose " + mutated + style);
    CHECK(r.code == 0);
    CHECK(r.out.find("inf %") == std::string::npos);
    CHECK(r.out.find("nan") == std::string::npos);
  }
}

// Lines of github.com/vllm-project/vllm/issues/40691, whose token count ignores that the states of linear attention do
// not grow with the tokens: 33.04 x 32,768 tokens of 20 KiB are 20.65 GiB.
TEST_CASE("the cache of a model with recurrent states is predicted from the logged concurrency", "[diagnose][cli]") {
  const std::string log = log_file(
      "hybrid.log",
      "(EngineCore pid=21) INFO 11-23 10:00:00 [core.py:77] Initializing a V1 LLM engine (v0.19.0) with config: "
      "model='/models/Qwen3.5-35B-A3B/', dtype=torch.bfloat16, max_seq_len=32768, tensor_parallel_size=1\n"
      "(EngineCore pid=21) INFO 11-23 10:00:30 [gpu_model_runner.py:1] Model loading took 65.3 GiB memory and 9 s\n"
      "(EngineCore pid=21) INFO 11-23 10:00:40 [gpu_worker.py:298] Available KV cache memory: 20.90 GiB\n"
      "(EngineCore pid=21) INFO 11-23 10:00:40 [kv_cache_utils.py:1087] GPU KV cache size: 290,864 tokens\n"
      "(EngineCore pid=21) INFO 11-23 10:00:40 [kv_cache_utils.py:1] Maximum concurrency for 32,768 tokens per "
      "request: 33.04x\n");
  const json::Value report = test::ask("diagnose " + log + " qwen3.5-35b-a3b --hardware h20");
  const double predicted = line_of(report, "kv_cache")["predicted_bytes"].get<double>();
  CHECK(predicted == Approx(33.04 * 32768 * 20480).epsilon(1e-6));
  CHECK(predicted == Approx(20.90 * (1 << 30)).epsilon(0.02));
}
