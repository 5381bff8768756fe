// 'llmcalc diagnose' of server logs: every engine's log lines, in bytes, compared with the formulas that predict them.

#include <algorithm>
#include <cmath>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using Catch::Contains;

namespace {

const std::string logs = "tests/cli/logs/";

Count mib(double n) { return std::llround(n * 0x1p20); }
Count gib(double n) { return std::llround(n * 0x1p30); }

json::Value diagnosed(const std::string& arguments) { return test::ask("diagnose " + logs + arguments); }

std::string excerpt(const std::string& name) { return test::read_file(LLMCALC_SOURCE_DIR "/" + logs + name); }

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string written(const std::string& text) {
  const std::string path = test::scratch() + "/server.log";
  test::write_file(path, text);
  return path;
}

const json::Value& row_of(const json::Value& report, const std::string& term) {
  const json::Value& all = report["booking"];
  const auto found = std::find_if(all.begin(), all.end(), [&](const json::Value& row) { return row["term"] == term; });
  INFO(all.dump(1));
  REQUIRE(found != all.end());
  return *found;
}
Count bytes_of(const json::Value& report, const std::string& term) { return row_of(report, term)["bytes"]; }
Count predicted_of(const json::Value& report, const std::string& term) {
  return row_of(report, term)["predicted_bytes"];
}

/// Checks that the terms add up to the sum in the last row.
void check_total(const json::Value& report) {
  Count sum = 0;
  for (const json::Value& row : report["booking"])
    if (row.contains("bytes")) sum += row.contains("sum") ? -row["bytes"].get<Count>() : row["bytes"].get<Count>();
  CHECK(sum == 0);
}

std::string verdict(const json::Value& report) { return report["verdict"]["text"].dump(); }

void rejected(const std::string& text, const std::string& says, const std::string& options = "") {
  const test::Ran r = test::llmcalc("diagnose " + written(text) + options);
  INFO(r.err);
  CHECK(r.code == 2);
  CHECK(r.out.empty());
  CHECK_THAT(r.err, Contains(says));
  CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
}

}  // namespace

// github.com/didier-durand/llms-in-clouds, docs/sglang.md: QwQ-32B on four L4
TEST_CASE("memory terms of SGLang follow from the drops in free memory that its lowest rank logs", "[diagnose][cli]") {
  const json::Value report = diagnosed("sglang.log qwen2.5-32b --tp 4");
  CHECK(report["diagnosis"]["kind"] == "sglang_start");
  CHECK(report["diagnosis"]["software"] == "sglang");
  CHECK(report["inputs"]["software"] == "sglang");
  CHECK(bytes_of(report, "weights") == gib(15.54));
  CHECK(bytes_of(report, "kv_cache") == 2 * gib(1.42));
  CHECK(bytes_of(report, "graphs") == gib(0.93));
  CHECK(bytes_of(report, "libraries") == gib(0.13));
  CHECK(bytes_of(report, "free") == gib(0.53));
  CHECK(bytes_of(report, "free_at_start") == gib(21.63) + gib(0.13));
  check_total(report);
  // 46,611 tokens x 64 layers x 2 x 8 / 4 heads x 128 x 2 bytes
  CHECK(predicted_of(report, "kv_cache") == Count{46611} * 65536);
  CHECK(report["diagnosis"]["cache_tokens"] == 46611);
  CHECK_THAT(verdict(report), Contains("the cache has 46,611 tokens, but a request may have 131,072: lower "
                                       "--context-length or raise --mem-fraction-static"));
  CHECK(report["verdict"]["fit"] == "no");
  check_total(diagnosed("sglang.log qwen2.5-32b --tp 4 --hardware l4"));
  CHECK(diagnosed("sglang.log qwen2.5-32b --tp 4 --hardware l4 --software vllm")["inputs"]["software"] == "vllm");
}

// github.com/sostrowsk/dgx-spark-local-llm, sglang-int4.log
TEST_CASE("SGLang's second model is a draft model, and the cache pools of its layer kinds add up", "[diagnose][cli]") {
  const json::Value report = diagnosed("sglang-draft.log");
  CHECK(bytes_of(report, "weights") == gib(67.56));
  CHECK(bytes_of(report, "kv_cache") == 2 * gib(10.21) + 2 * gib(4.25));
  CHECK(bytes_of(report, "draft") == gib(1.58) + 2 * gib(2.13));
  CHECK(bytes_of(report, "graphs") == gib(5.24) + gib(0.60) + gib(0.45));
  CHECK(bytes_of(report, "free") == gib(6.22));
  CHECK(report["diagnosis"]["cache_tokens"] == 185897);
  check_total(report);
}

// github.com/NVIDIA/TensorRT-LLM/issues/4275: Llama-3.1-8B in fp8 on an RTX 5090
TEST_CASE("the cache of TensorRT-LLM's C++ runtime is part of the available memory", "[diagnose][cli]") {
  const json::Value report = diagnosed("tensorrt-llm.log llama-3.1-8b --kv-precision fp8");
  CHECK(report["diagnosis"]["kind"] == "tensorrt_llm_start");
  CHECK(report["diagnosis"]["software"] == "tensorrt-llm");
  CHECK(report["diagnosis"]["version"] == "0.19.0");
  CHECK(bytes_of(report, "capacity") == gib(31.84));
  CHECK(bytes_of(report, "kv_cache") == gib(16.05));
  CHECK(bytes_of(report, "free") == gib(17.83) - gib(16.05));
  // 263,008 tokens x 32 layers x 2 x 8 heads x 128 bytes
  CHECK(predicted_of(report, "kv_cache") == Count{263008} * 65536);
  check_total(report);
}

TEST_CASE("the profile of TensorRT-LLM's PyTorch backend has all terms and the last logged cache size",
          "[diagnose][cli]") {
  const json::Value report = diagnosed("tensorrt-llm-torch.log");
  CHECK(report["diagnosis"]["version"] == "1.1.0rc3");
  CHECK(bytes_of(report, "weights") == gib(63.52));
  CHECK(bytes_of(report, "libraries") == gib(49.28));
  CHECK(bytes_of(report, "activations") == gib(0.85));
  CHECK(bytes_of(report, "kv_cache") == gib(5.95));
  CHECK(bytes_of(report, "capacity") == gib(119.70));
  CHECK(report["diagnosis"]["cache_tokens"] == 86720);
  check_total(report);
}

// github.com/madcamp-2025w-week4/FSD, logs/llama-server.log: Qwen2.5-14B-Instruct-Q4_K_M on an RTX 3090
TEST_CASE("llama.cpp's buffers match the file's weight format and the number of cache cells", "[diagnose][cli]") {
  const json::Value report = diagnosed("llama-cpp.log");
  CHECK(report["diagnosis"]["kind"] == "llama_cpp_start");
  CHECK(report["diagnosis"]["software"] == "llama.cpp");
  CHECK(report["diagnosis"]["version"] == "b7896");
  CHECK(report["model"]["name"] == "qwen2.5-14b");
  CHECK(bytes_of(report, "weights") == mib(8148.38));
  CHECK(bytes_of(report, "kv_cache") == mib(6144));
  CHECK(bytes_of(report, "activations") == mib(307));
  CHECK(report["diagnosis"]["host_buffers_bytes"] == mib(417.66) + mib(2.32) + mib(84.01));
  CHECK(bytes_of(report, "free_at_start") == mib(20645));
  check_total(report);
  // 32,768 cells x 48 layers x 2 x 8 heads x 128 x 2 bytes
  CHECK(predicted_of(report, "kv_cache") == Count{32768} * 196608);
  CHECK(std::abs(row_of(report, "weights")["difference_bytes"].get<Count>()) <= mib(0.005));
  CHECK_THAT(report["notes"].dump(), Contains("--weight-precision q4_k_m, --kv-precision fp16"));
}

// github.com/ggml-org/llama.cpp/pull/6122: Command-R on two GPUs
TEST_CASE("llama.cpp's oldest log format is read for the first of two devices", "[diagnose][cli]") {
  const json::Value report = diagnosed("llama-cpp-2024.log");
  CHECK(bytes_of(report, "weights") == mib(5434.38));
  CHECK(bytes_of(report, "kv_cache") == mib(1536));
  CHECK(bytes_of(report, "activations") == mib(672.01));
  CHECK(report["diagnosis"]["cache_tokens"] == 4096);
  CHECK_THAT(report["notes"].dump(), Contains("2 devices report their memory; only the first is attributed"));
}

// github.com/ggml-org/llama.cpp/issues/20431
TEST_CASE("the verdict names the buffer that llama.cpp cannot allocate, with the server's options", "[diagnose][cli]") {
  const std::string text = verdict(diagnosed("llama-cpp-failed.log"));
  CHECK_THAT(text, Contains("no: 141.4 GiB for weights could not be allocated") && Contains("(-ngl)"));
  const json::Value again = test::ask("diagnose " + written(excerpt("llama-cpp-failed.log") + excerpt("llama-cpp.log") +
                                                            "main: server is listening on http://127.0.0.1:8080\n"));
  CHECK_THAT(verdict(again), Contains("fits: yes"));
}

// github.com/jack-tsao/jetson-copilot, logs/ollama.log: Mixtral-8x7B in q4_0
TEST_CASE("Ollama logs llama.cpp's buffers and its own server version", "[diagnose][cli]") {
  const json::Value report = test::ask(
      "diagnose " + written("time=2025-04-16T00:00:00.000Z level=INFO source=routes.go:1153 msg=\"Listening on "
                            "[::]:11434 (version 0.3.12)\"\n" +
                            excerpt("ollama.log")));
  CHECK(report["diagnosis"]["kind"] == "ollama_start");
  CHECK(report["diagnosis"]["software"] == "llama.cpp");
  CHECK(report["diagnosis"]["version"] == "0.3.12");
  CHECK(report["model"]["name"] == "mixtral-8x7b");
  CHECK(bytes_of(report, "weights") == mib(25147.55));
  CHECK(bytes_of(report, "activations") == mib(560));
  CHECK(report["diagnosis"]["host_buffers_bytes"] == mib(70.31) + mib(0.55) + mib(24.01));
  CHECK(predicted_of(report, "kv_cache") == mib(1024));  // 8,192 tokens x 131,072 bytes
  CHECK(std::abs(row_of(report, "weights")["difference_bytes"].get<Count>()) <= mib(0.005));
}

TEST_CASE("Ollama's own engine logs memory terms by device, and the last load is used", "[diagnose][cli]") {
  const std::string load = excerpt("ollama-devices.log");
  for (const std::string& text : {load, "source=runner.go:1284 msg=load request=\"{Operation:commit\"\n" + load +
                                            "source=runner.go:1284 msg=load request=\"{Operation:commit\"\n" + load}) {
    const json::Value report = test::ask("diagnose " + written(text));
    CHECK(bytes_of(report, "weights") == gib(59.8));
    CHECK(bytes_of(report, "kv_cache") == mib(450));
    CHECK(bytes_of(report, "activations") == mib(121.8));
    CHECK(report["diagnosis"]["host_buffers_bytes"] == gib(1.1) + mib(5.6));
    check_total(report);
  }
}

// github.com/JulienDelavande/text-generation-inference, tgi.log: zephyr-7b-beta, which has the shape of Mistral-7B
TEST_CASE("TGI logs only the number of cached tokens, and their bytes are predicted", "[diagnose][cli]") {
  const json::Value report = diagnosed("tgi.log mistral-7b-v0.1");
  CHECK(report["diagnosis"]["kind"] == "tgi_start");
  CHECK(report["diagnosis"]["software"] == "tgi");
  CHECK(report["diagnosis"]["cache_tokens"] == 16000);
  CHECK(report["diagnosis"]["max_model_tokens"] == 8049);
  CHECK(predicted_of(report, "kv_cache") == Count{16000} * 131072);
  CHECK_THAT(verdict(report), Contains("fits: yes: 1.99 requests of 8,049 tokens at once"));
  CHECK(report["verdict"]["fit"] == "yes");
  CHECK(report["verdict"]["fit_probability"] == 1);
}

// github.com/vllm-project/vllm/issues/28143
TEST_CASE("memory that runs out while weights are loaded is compared with the weights", "[diagnose][cli]") {
  const json::Value report = diagnosed("vllm-out-of-memory.log");
  CHECK(report["diagnosis"]["kind"] == "out_of_memory");
  CHECK(report["diagnosis"]["software"] == "vllm");
  CHECK_THAT(verdict(report), Contains("memory ran out while vLLM was loading weights: more GPUs"));
  CHECK(report["verdict"]["fit"] == "no");
  CHECK(report["possible"] == false);
  // 70,553,706,496 parameters x 2 bytes = 131.4 GiB
  const json::Value large = diagnosed("vllm-out-of-memory.log llama-3.1-70b");
  CHECK(large["verdict"]["text"][0].dump().find("weights alone need 131.4 GiB of 93.09 GiB: more GPUs") !=
        std::string::npos);
  const std::string loaded =
      "(EngineCore_DP0 pid=12473) INFO [gpu_model_runner.py:2602] Model loading took 60.00 GiB and 5.1 seconds\n" +
      excerpt("vllm-out-of-memory.log");
  CHECK_THAT(verdict(test::ask("diagnose " + written(loaded))),
             !Contains("loading weights") && Contains("a lower --gpu-memory-utilization"));
}

TEST_CASE("the suggested options are options of the server that failed", "[diagnose][cli]") {
  const std::string failure = excerpt("out-of-memory.log");
  CHECK_THAT(verdict(test::ask("diagnose " + written("INFO text_generation_launcher: x\n" + failure))),
             Contains("--max-batch-prefill-tokens"));
  CHECK_THAT(verdict(test::ask("diagnose " + written("[2025-03-08 12:29:11 TP0] sglang is using nccl\n" + failure))),
             Contains("--mem-fraction-static"));
}

TEST_CASE("damaged server logs are rejected with a one-sentence error", "[diagnose][cli]") {
  rejected("load_tensors:        CUDA0 model buffer size =  81", "no report of memory use found");
  rejected("[2025-03-08 12:29:21 TP0] Load weight end. type=Qwen2ForCausalLM, avail mem=", "SGLang, TensorRT-LLM");
  const std::string end =
      "TP0] Load weight end. type=Qwen2ForCausalLM, dtype=torch.bfloat16, avail mem=6.09 GB, mem usage=";
  rejected(changed(excerpt("sglang.log"), end + "15.54", end + "3.54"),
           "the weights take 3.54 GiB, but the free memory fell by 15.54 GiB");
  rejected(changed(excerpt("tensorrt-llm.log"), "available: 17.83", "available: 7.83"),
           "the cache has 16.05 GiB, but 7.83 GiB were available");
  rejected(changed(excerpt("tensorrt-llm.log"), "total: 31.84", "total: 11.84"),
           "exceeds the device memory of 11.84 GiB");
  rejected(changed(excerpt("llama-cpp.log"), "K (f16): 3072.00", "K (f16): 1072.00"),
           "has 1072.00 MiB of keys and 3072.00 MiB of values");
  rejected("llm_load_tensors: CUDA0 buffer size = 4611686018427387903 MiB", "below 2^62");
  rejected(excerpt("llama-cpp.log"), "the log comes from a server", " qwen2.5-14b --train");
}
