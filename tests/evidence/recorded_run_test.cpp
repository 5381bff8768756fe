// Recorded server runs: values that are read, and values that are rejected, with their messages.

#include "evidence/convert/recorded_run.hpp"

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/evidence/rows.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;
using Catch::Contains;

namespace {

const std::string two =
    R"({"id": "b", "queued_s": 2, "first_token_s": 2.5, "last_token_s": 4.5, "prompt": 7, "generated": 5},
  {"id": "a", "queued_s": 1, "first_token_s": 1.25, "last_token_s": 1.25, "prompt": 3, "generated": 1})";

std::string run_text(const std::string& requests, const std::string& more = "") {
  return fmt::format(R"({{"name": "run", "model": "meta-llama/Llama-3.1-8B", "hardware": "RTXPRO6000",
    "engine": {{"name": "vLLM", "version": "0.19.0", "tensor_parallel_size": 2, "data_parallel_size": 3,
    "enable_expert_parallel": true, "max_num_seqs": 8, "max_num_batched_tokens": 64, "max_model_len": null,
    "dtype": "bfloat16", "kv_cache_dtype": "auto", "seed": 1}}, "requests": [{}]{}}})",
                     requests, more);
}
RecordedRun read(const std::string& text) { return read_recorded_run(text, "run.json"); }
std::string refused(const std::string& text) {
  return test::sentence([&] { read(text); });
}
std::string request(const std::string& numbers) { return run_text("{" + numbers + "}"); }

}  // namespace

TEST_CASE("reading a recorded run gives its engine, and its requests in order of arrival", "[recorded]") {
  const RecordedRun r = read(run_text(two));
  CHECK(r.name == "run");
  CHECK(r.version == "0.19.0");
  CHECK(r.tensor_ranks == 2);
  CHECK(r.data_ranks == 3);
  CHECK(r.stages == 1);
  CHECK(r.expert_parallel);
  CHECK(r.max_num_seqs == 8);
  CHECK(r.max_num_batched_tokens == 64);
  CHECK_FALSE(r.max_model_len);
  REQUIRE(r.requests.size() == 2);
  CHECK(r.requests[0].id == "a");
  CHECK_FALSE(r.requests[0].per_token());
  CHECK(r.requests[1].to_first() == Seconds(0.5));
  CHECK(r.requests[1].per_token()->value == Approx(0.5));  // 2 s for the 4 tokens after the first
  CHECK(r.requests[1].whole() == Seconds(2.5));
}

TEST_CASE("stages, memory fraction and cache block size of a run are read", "[recorded]") {
  std::string text = run_text(two);
  text.replace(text.find("\"seed\": 1"), 9,
               "\"pipeline_parallel_size\": 4, \"gpu_memory_utilization\": 0.8, \"block_size\": 32, "
               "\"enforce_eager\": true");
  const RecordedRun r = read(text);
  CHECK(r.stages == 4);
  CHECK(r.utilization == 0.8);
  CHECK(r.block_size == 32);
  CHECK(r.eager);
  CHECK(r.unknown_keys.empty());
}

TEST_CASE("in a recorded run, 'instances' gives the device and 'per_second' gives the rates", "[recorded]") {
  const RecordedRun r = read(run_text(
      two,
      R"(, "instances": [{"hardware": "X", "npu_mem": {"mem_size": 96, "mem_bw": 1597, "mem_util": 0.8}, "tp_size": 1}],
      "per_second": {"columns": ["gen_throughput", "t", "odd"], "rows": [[10, 1, 5], [20, 2, 6]]})"));
  CHECK(r.hardware == "RTXPRO6000");
  CHECK(r.memory_gb == 96);
  CHECK(r.bandwidth_gb_s == 1597);
  CHECK(r.utilization == 0.8);
  CHECK(r.tensor_ranks == 1);
  REQUIRE(r.seconds.size() == 2);
  CHECK(r.seconds[1].end == Seconds(2));
  CHECK(r.seconds[1].output_rate == 20);
  CHECK(r.seconds[1].running == 0);
}

TEST_CASE("an impossible recorded run is rejected with a one-sentence error", "[recorded]") {
  CHECK(refused("[]") == "run.json: expected an object in braces, got a list");
  CHECK(refused(R"({"name": "run", "model": "m", "hardware": "h"})") ==
        "run.json: \"requests\" is missing; a recorded run requires a list with at least one");
  CHECK(refused(run_text("")) == "run.json: \"requests\" is missing; a recorded run requires a list with at least one");
  CHECK(refused(R"({"model": "m"})") == "run.json: \"name\" is missing; a recorded run must state it");
  CHECK(refused(request(R"("prompt": 1)")) == "run.json, request 1: \"queued_s\" is missing");
  const std::string times = R"("queued_s": 2, "first_token_s": 3, "last_token_s": 4, )";
  CHECK_THAT(refused(request(times + R"("prompt": 0, "generated": 1)")), Contains("run.json, request 1, \"prompt\""));
  CHECK_THAT(refused(request(times + R"("prompt": 1, "generated": -3)")), Contains("\"generated\""));
  CHECK(refused(request(R"("queued_s": -1)")) ==
        "run.json, request 1, \"queued_s\": expected seconds of at least 0, got -1");
  CHECK(refused(request(R"("queued_s": 2, "first_token_s": 1, "last_token_s": 4, "prompt": 1, "generated": 1)")) ==
        "run.json, request 1: \"first_token_s\" (1) is before \"queued_s\" (2)");
  CHECK(refused(run_text(two, R"(, "per_second": {"columns": ["t"], "rows": [["x"]]})")) ==
        "run.json, \"per_second\", row 1: expected a number in column 1");
}

TEST_CASE("the shipped recorded runs are complete", "[recorded]") {
  const std::vector<RecordedRun> runs = test::old_runs();
  REQUIRE(runs.size() == 2);
  for (const RecordedRun& r : runs) {
    CHECK(r.requests.size() == 300);
    CHECK(r.max_num_seqs == 128);
    CHECK_FALSE(r.seconds.empty());
    CHECK(r.unknown_keys.empty());
  }
}

TEST_CASE("a run with options beyond plain decoding is not replayed", "[recorded]") {
  const auto beyond = [](const std::string& option) {
    std::string text = run_text(two);
    text.replace(text.find("\"seed\": 1"), 9, option);
    return read(text).beyond;
  };
  for (const char* option :
       {R"("speculative_config": {"method": "eagle3"})", R"("speculative_model": "x")",
        R"("num_speculative_tokens": 5)", R"("cpu_offload_gb": 10)", R"("kv_offloading_size": 10)",
        R"("kv_transfer_config": {"kv_role": "kv_producer"})", R"("enable_lora": true)", R"("preemption_mode": "swap")",
        R"("scheduling_policy": "priority")", R"("speculative_decoding_of_tomorrow": true)"}) {
    INFO(option);
    CHECK(beyond(option) != "");
  }
  for (const char* option :
       {R"("speculative_config": null)", R"("num_speculative_tokens": 0)", R"("cpu_offload_gb": 0)",
        R"("kv_offloading_size": 0.0)", R"("enable_lora": false)", R"("preemption_mode": "recompute")",
        R"("scheduling_policy": "fcfs")", R"("async_scheduling": true)", R"("swap_space": 4)"}) {
    INFO(option);
    CHECK(beyond(option) == "");
  }
  CHECK(beyond(R"("cpu_offload_gb": 10)") == "weights or caches were offloaded to the host (\"cpu_offload_gb\")");
}

TEST_CASE("a flag or compilation option can disable graph capture in a recorded run", "[recorded]") {
  const auto eager = [](const std::string& option) {
    std::string text = run_text(two);
    text.replace(text.find("\"seed\": 1"), 9, option);
    return read(text).eager;
  };
  CHECK(eager(R"("compilation_config": {"cudagraph_mode": "NONE"})"));
  CHECK(eager(R"("enforce_eager": true)"));
  CHECK_FALSE(eager(R"("compilation_config": {"cudagraph_mode": "FULL_AND_PIECEWISE"})"));
  CHECK_FALSE(eager(R"("compilation_config": null)"));
}
