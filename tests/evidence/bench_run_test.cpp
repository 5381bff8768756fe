// Results of benchmark tools, in the layouts that the tools print.

#include "evidence/bench/bench_run.hpp"

#include "tests/catch.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;
using Catch::Contains;

namespace {

const std::string vllm_text = R"(Traffic request rate: inf
Burstiness factor: 1.0 (Poisson process)
Maximum request concurrency: 16
============ Serving Benchmark Result ============
Successful requests:                     200       
Failed requests:                         0         
Maximum request concurrency:             16        
Benchmark duration (s):                  40.00     
Total input tokens:                      204800    
Total generated tokens:                  25600     
Request throughput (req/s):              5.00      
Output token throughput (tok/s):         640.00    
Peak output token throughput (tok/s):    816.00    
Total Token throughput (tok/s):          5760.00   
---------------Time to First Token----------------
Mean TTFT (ms):                          150.25    
Median TTFT (ms):                        120.50    
P99 TTFT (ms):                           610.00    
-----Time per Output Token (excl. 1st token)------
Mean TPOT (ms):                          12.75     
Median TPOT (ms):                        12.50     
P99 TPOT (ms):                           14.00     
---------------Inter-token Latency----------------
Mean ITL (ms):                           12.80     
==================================================
)";

const std::string vllm_json = R"({"date": "20261130-141502", "endpoint_type": "vllm", "backend": "vllm", "label": null,
"model_id": "meta-llama/Llama-3.1-8B-Instruct", "num_prompts": 200, "request_rate": "inf", "burstiness": 1.0,
"max_concurrency": null, "duration": 40.0, "completed": 200, "total_input_tokens": 204800,
"total_output_tokens": 25600, "request_throughput": 5.0, "output_throughput": 640.0, "mean_ttft_ms": 150.25,
"median_ttft_ms": 120.5, "mean_tpot_ms": 12.75, "median_tpot_ms": 12.5, "mean_itl_ms": 12.8})";

const std::string sglang_text = R"(
============ Serving Benchmark Result ============
Backend:                                 sglang    
Traffic request rate:                    inf       
Max request concurrency:                 not set   
Successful requests:                     64        
Benchmark duration (s):                  20.00     
Total input tokens:                      65536     
Total generated tokens:                  32768     
Total generated tokens (retokenized):    32700     
Request throughput (req/s):              3.20      
Input token throughput (tok/s):          3276.80   
Output token throughput (tok/s):         1638.40   
Concurrency:                             60.00     
----------------End-to-End Latency----------------
Mean E2E Latency (ms):                   18000.00  
---------------Time to First Token----------------
Mean TTFT (ms):                          900.00    
Median TTFT (ms):                        800.00    
---------------Inter-Token Latency----------------
Mean ITL (ms):                           33.00     
Median ITL (ms):                         32.00     
==================================================
)";

const std::string sglang_line =
    R"({"backend": "sglang", "dataset_name": "random", "request_rate": Infinity, "max_concurrency": 8, )"
    R"("duration": 20.0, "completed": 64, "total_input_tokens": 65536, "total_output_tokens": 32768, )"
    R"("total_output_tokens_retokenized": 32700, "output_throughput": 1638.4, "mean_e2e_latency_ms": 5000.0, )"
    R"("mean_ttft_ms": 90.0, "median_ttft_ms": 80.0, "mean_tpot_ms": 9.5, "median_tpot_ms": 9.25, "mean_itl_ms": 9.0})";

const std::string llama_table = R"(ggml_cuda_init: found 1 CUDA devices:
| model                          |       size |     params | backend    | ngl |            test |                  t/s |
| ------------------------------ | ---------: | ---------: | ---------- | --: | --------------: | -------------------: |
| llama 8B Q4_K - Medium         |   4.58 GiB |     8.03 B | CUDA       |  99 |           pp512 |      5000.25 ± 20.10 |
| llama 8B Q4_K - Medium         |   4.58 GiB |     8.03 B | CUDA       |  99 |           tg128 |        130.50 ± 0.20 |
| llama 8B Q4_K - Medium         |   4.58 GiB |     8.03 B | CUDA       |  99 |   tg128 @ d4096 |        115.00 ± 0.30 |
| llama 8B Q4_K - Medium         |   4.58 GiB |     8.03 B | CUDA       |  99 |     pp512+tg128 |        580.00 ± 0.30 |

build: 07fbe19f (6123)
)";

const std::string llama_json = R"([
  {"build_commit": "07fbe19f", "build_number": 6123, "cpu_info": "AMD Ryzen 9 7950X", "gpu_info": "NVIDIA GeForce RTX 4090",
   "backends": "CUDA", "model_filename": "m.gguf", "model_type": "llama 8B Q8_0", "model_size": 8525000000,
   "n_gpu_layers": 99, "n_prompt": 512, "n_gen": 0, "n_depth": 0, "test_time": "2026-11-30T14:15:02Z",
   "avg_ns": 100000000, "stddev_ns": 1000, "avg_ts": 5120.0, "stddev_ts": 3.0},
  {"build_commit": "07fbe19f", "build_number": 6123, "cpu_info": "AMD Ryzen 9 7950X", "gpu_info": "NVIDIA GeForce RTX 4090",
   "backends": "CUDA", "model_filename": "m.gguf", "model_type": "llama 8B Q8_0", "model_size": 8525000000,
   "n_gpu_layers": 99, "n_prompt": 0, "n_gen": 128, "n_depth": 512, "test_time": "2026-11-30T14:15:12Z",
   "avg_ns": 1000000000, "stddev_ns": 1000, "avg_ts": 128.0, "stddev_ts": 0.5}
])";

std::string refusal(const std::string& text) {
  return test::sentence([&] { bench_run(text, "bench.txt"); });
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("the text of vllm bench serve states clients, requests, lengths and times", "[bench]") {
  const BenchRun run = bench_run(vllm_text, "bench.txt");
  CHECK(run.engine == "vllm");
  CHECK(run.model.empty());
  REQUIRE(run.tests.size() == 1);
  const BenchTest& t = run.tests[0];
  CHECK(t.served);
  CHECK(t.clients == 16);
  CHECK(t.requests == 200);
  CHECK(t.prompt == 1024);   // 204,800 / 200
  CHECK(t.generate == 128);  // 25,600 / 200
  const MeasuredValues expected{
      {"ttft_ms", 150.25}, {"ttft_p50_ms", 120.5}, {"tpot_ms", 12.75}, {"tpot_p50_ms", 12.5}, {"output_tok_s", 640}};
  CHECK(t.measured == expected);
}

TEST_CASE("the JSON of vllm bench serve adds the model and the date to the numbers of its text", "[bench]") {
  const BenchRun run = bench_run(vllm_json, "bench.json"), text = bench_run(vllm_text, "bench.txt");
  CHECK(run.engine == "vllm");
  CHECK(run.model == "meta-llama/Llama-3.1-8B-Instruct");
  CHECK(run.date == "2026-11-30");
  REQUIRE(run.tests.size() == 1);
  CHECK_FALSE(run.tests[0].clients);  // null: no limit
  CHECK(run.tests[0].requests == 200);
  CHECK(run.tests[0].prompt == 1024);
  CHECK(run.tests[0].measured == text.tests[0].measured);
}

TEST_CASE("the text of SGLang's benchmark names the backend and has gaps between tokens", "[bench]") {
  const BenchRun run = bench_run(sglang_text, "bench.txt");
  CHECK(run.engine == "sglang");
  const BenchTest& t = run.tests.at(0);
  CHECK_FALSE(t.clients);  // not set
  CHECK(t.requests == 64);
  CHECK(t.prompt == 1024);
  CHECK(t.generate == 512);
  const MeasuredValues expected{{"ttft_ms", 900}, {"ttft_p50_ms", 800}, {"output_tok_s", 1638.4}, {"itl_ms", 33}};
  CHECK(t.measured == expected);
  CHECK(bench_run(replaced(sglang_text, " sglang ", " vllm   "), "bench.txt").engine == "vllm");
}

TEST_CASE("a line of SGLang's JSON Lines is read, with an infinite request rate", "[bench]") {
  const BenchRun run = bench_run(sglang_line + "\n", "bench.jsonl");
  CHECK(run.engine == "sglang");
  CHECK(run.tests.at(0).clients == 8);
  const MeasuredValues expected{
      {"ttft_ms", 90}, {"ttft_p50_ms", 80}, {"tpot_ms", 9.5}, {"tpot_p50_ms", 9.25}, {"output_tok_s", 1638.4}};
  CHECK(run.tests.at(0).measured == expected);
}

TEST_CASE("the table of llama-bench has a test per row, and weights in the model's type", "[bench]") {
  const BenchRun run = bench_run(llama_table, "bench.md");
  CHECK(run.engine == "llama.cpp");
  CHECK(run.model == "llama 8B Q4_K - Medium");
  CHECK(run.weights == "gguf:q4_k_m");
  CHECK(run.gpu_layers == 99);
  REQUIRE(run.tests.size() == 3);  // without pp512+tg128
  CHECK_FALSE(run.tests[0].served);
  CHECK(run.tests[0].prompt == 512);
  CHECK(run.tests[0].measured == MeasuredValues{{"prefill_tok_s", 5000.25}});
  CHECK(run.tests[1].generate == 128);
  CHECK(run.tests[1].measured == MeasuredValues{{"decode_tok_s", 130.5}});
  CHECK(run.tests[2].cached == 4096);
}

TEST_CASE("the JSON and JSON Lines of llama-bench add the device, the build and the date", "[bench]") {
  const BenchRun run = bench_run(llama_json, "bench.json");
  CHECK(run.device == "NVIDIA GeForce RTX 4090");
  CHECK(run.version == "b6123");
  CHECK(run.date == "2026-11-30");
  CHECK(run.weights == "gguf:q8_0");
  REQUIRE(run.tests.size() == 2);
  CHECK(run.tests[0].measured == MeasuredValues{{"prefill_tok_s", 5120}});
  CHECK(run.tests[1].measured == MeasuredValues{{"decode_tok_s", 128}});
  CHECK(run.tests[1].cached == 512);
  const std::string lines = R"({"model_type": "llama 8B F16", "n_prompt": 512, "n_gen": 0, "avg_ts": 100.5}
{"model_type": "llama 8B F16", "n_prompt": 0, "n_gen": 32, "avg_ts": 10.5}
)";
  CHECK(bench_run(lines, "bench.jsonl").tests.size() == 2);
  CHECK(bench_run(lines, "bench.jsonl").weights == "gguf:f16");
}

TEST_CASE("a file that is no benchmark's output is refused in one sentence", "[bench][errors]") {
  const std::string expected =
      "bench.txt: expected the output of vllm bench serve, sglang.bench_serving or llama-bench";
  for (const char* text : {"", "hello", "{}", "[]", "[1]", R"({"avg": 1})", "| a | b |\n| 1 | 2 |\n"}) {
    INFO(text);
    CHECK(refusal(text) == expected);
  }
  CHECK_THAT(refusal("{\"completed\": "), Contains("bench.txt"));
}

TEST_CASE("a benchmark whose figures cannot be predicted is refused", "[bench][errors]") {
  CHECK_THAT(refusal(replaced(vllm_json, "\"request_rate\": \"inf\"", "\"request_rate\": 4.0")),
             Contains("requests arrived at 4 per second"));
  CHECK_THAT(refusal(vllm_text + vllm_text), Contains("2 results; pass a file with one of them"));
  CHECK_THAT(refusal(sglang_line + "\n" + sglang_line), Contains("2 results; pass a file with one of them"));
  CHECK_THAT(refusal(replaced(vllm_json, "\"completed\": 200", "\"completed\": 0")), Contains("\"completed\""));
  CHECK_THAT(refusal(replaced(vllm_json, "\"completed\": 200", "\"completed\": \"many\"")), Contains("\"completed\""));
  CHECK_THAT(refusal(replaced(llama_json, "llama 8B Q8_0", "llama 70B Q8_0")), Contains("tests of 2 models"));
  CHECK_THAT(refusal(R"([{"model_type": "llama", "n_prompt": 8, "n_gen": 8, "avg_ts": 3.5}])"),
             Contains("no pp or tg test"));
}
