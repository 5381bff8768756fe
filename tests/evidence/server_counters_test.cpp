// Metrics of running servers. The expositions are written by hand, with the names and labels of
//   vllm-project/vllm: vllm/engine/metrics.py, vllm/v1/metrics/loggers.py
//   sgl-project/sglang: python/sglang/srt/metrics/collector.py
//   ggml-org/llama.cpp: tools/server/server-task.cpp
// and with values that are exact in binary.

#include "evidence/bench/server_counters.hpp"

#include <fmt/format.h>

#include "evidence/bench/server_about.hpp"
#include "tests/catch.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;
using Catch::Contains;

namespace {

/// A histogram, or any pair of a sum and a count, with a bucket.
std::string histogram(const std::string& name, double sum, double count, const std::string& labels) {
  return fmt::format(
      "# TYPE {0} histogram\n{0}_bucket{{le=\"0.5\",{3}}} {2}\n{0}_sum{{{3}}} {1}\n{0}_count{{{3}}} {2}\n", name, sum,
      count, labels);
}

/// vLLM after `n` requests of 1,000 + 101 tokens, 0.125 s to the first token, 0.0625 s per token: 6.375 s.
std::string vllm_after(double n, const std::string& tokens = "vllm:inter_token_latency_seconds",
                       const std::string& model = "meta-llama/Llama-3.1-8B-Instruct") {
  const std::string labels = fmt::format("engine=\"0\",model_name=\"{}\"", model);
  return histogram("vllm:request_prompt_tokens", 1000 * n, n, labels) +
         histogram("vllm:request_generation_tokens", 101 * n, n, labels) +
         histogram("vllm:time_to_first_token_seconds", 0.125 * n, n, labels) +
         histogram(tokens, 6.25 * n, 100 * n, labels) +
         histogram("vllm:e2e_request_latency_seconds", 6.375 * n, n, labels) +
         fmt::format("vllm:generation_tokens_total{{{0}}} {1}\nvllm:num_requests_running{{{0}}} 12.0\n", labels,
                     101 * n);
}

/// SGLang after the same requests.
std::string sglang_after(double n) {
  const std::string labels = "model_name=\"Qwen/Qwen3-8B\"";
  return histogram("sglang:time_to_first_token_seconds", 0.125 * n, n, labels) +
         histogram("sglang:inter_token_latency_seconds", 6.25 * n, 100 * n, labels) +
         histogram("sglang:e2e_request_latency_seconds", 6.375 * n, n, labels) +
         fmt::format("sglang:prompt_tokens_total{{{0}}} {1}\nsglang:generation_tokens_total{{{0}}} {2}\n", labels,
                     1000 * n, 101 * n);
}

/// llama.cpp's server after the same requests.
std::string llama_after(double n) {
  return fmt::format(
      "# HELP llamacpp:prompt_tokens_total Number of prompt tokens processed.\n"
      "# TYPE llamacpp:prompt_tokens_total counter\nllamacpp:prompt_tokens_total {}\nllamacpp:prompt_seconds_total {}\n"
      "llamacpp:tokens_predicted_total {}\nllamacpp:tokens_predicted_seconds_total {}\nllamacpp:requests_processing "
      "2\n",
      1000 * n, 0.125 * n, 101 * n, 6.25 * n);
}

/// The interval of 50 s between two texts.
ServerInterval interval(const std::string& before, const std::string& after, std::optional<double> prompt = {}) {
  const Exposition a(before, "server"), b(after, "server");
  return server_interval(ServerReadings{a, b, 50, prompt, "server"});
}

std::string interval_refusal(const std::string& before, const std::string& after, std::optional<double> prompt = {}) {
  return test::sentence([&] { interval(before, after, prompt); });
}

std::string exposition_refusal(const std::string& text) {
  return test::sentence([&] { Exposition(text, "server"); });
}

std::string without(std::string text, const std::string& name) {
  for (std::size_t at = 0; (at = text.find("\n" + name, at)) != std::string::npos;)
    text.erase(at, text.find('\n', at + 1) - at);
  return text;
}

BenchRun facts(const std::string& document) {
  BenchRun run;
  add_about(run, document);
  return run;
}

}  // namespace

TEST_CASE("samples of a metric add up over labels, without buckets and values that are not finite",
          "[bench][exposition]") {
  const Exposition e(
      "# HELP a_total text with {braces} and \"quotes\"\n# TYPE a_total counter\n"
      "a_total{engine=\"0\"} 1.5\na_total{engine=\"1\",} 2 1700000000000\r\n\n  a_total 1e2\n"
      "b{model_name=\"a\\\\b\\\"c\\nd\", x = \"}\"} +4\nc NaN\nc +Inf\nc -1\n"
      "h_bucket{le=\"+Inf\"} 7 # {trace_id=\"x\"} 0.5\nh_count 7",
      "server");
  CHECK(e.value("a_total") == 103.5);
  CHECK(e.value("b") == 4);
  CHECK(e.value("c") == -1);
  CHECK(e.value("h_count") == 7);
  CHECK_FALSE(e.value("h_bucket"));
  CHECK_FALSE(e.value("d"));
  CHECK(e.models() == std::set<std::string>{"a\\b\"c\nd"});
  CHECK(e.has("a_"));
  CHECK_FALSE(e.has("vllm:"));
}

TEST_CASE("a text of another format is refused with its line", "[bench][exposition][errors]") {
  const std::string end = "; pass the address of a vLLM, SGLang or llama.cpp server";
  CHECK(exposition_refusal("<!DOCTYPE html>\n<html>") ==
        "server: line 1 is no Prometheus metric, \"<!DOCTYPE html>\"" + end);
  CHECK(exposition_refusal("a 1\n\n{\"a\": 1}") == "server: line 3 is no Prometheus metric, \"{\"a\": 1}\"" + end);
  for (const char* text : {"a", "a b", "a 1x", "1a 1", "a{b} 1", "a{b=c} 1", "a{b=\"c} 1", "a{b=\"c\" 1", "a{=\"c\"} 1",
                           "a{b=\"c\\", "a{", "a 1e999999", "\xff\xfe 1"}) {
    INFO(text);
    CHECK_THAT(exposition_refusal(text), Contains("line 1 is no Prometheus metric"));
  }
}

TEST_CASE("vLLM's counters give means of the requests that ended, and requests in progress by Little's law",
          "[bench][server]") {
  const ServerInterval i = interval(vllm_after(40), vllm_after(140));
  CHECK(i.test.served);
  CHECK(i.test.steady);
  CHECK(i.test.requests == 100);
  CHECK(i.test.prompt == 1000);
  CHECK(i.test.generate == 101);
  CHECK(i.test.cached == 0);
  CHECK(i.test.clients == 12.75);  // 100 x 6.375 s / 50 s
  CHECK(i.latency == 6.375);
  CHECK(i.running_before == 12);
  const MeasuredValues expected{{"ttft_ms", 125}, {"itl_ms", 62.5}, {"output_tok_s", 202}};  // 10,100 / 50
  CHECK(i.test.measured == expected);
}

TEST_CASE("vLLM's older and newer times per token are read", "[bench][server]") {
  const MeasuredValues v0{{"ttft_ms", 125}, {"itl_ms", 62.5}, {"output_tok_s", 202}};
  const std::string old = "vllm:time_per_output_token_seconds";
  CHECK(interval(vllm_after(40, old), vllm_after(140, old)).test.measured == v0);
  // Each request has one value: 100 values of 0.03125 s.
  const auto both = [](double n) {
    return vllm_after(n) + histogram("vllm:request_time_per_output_token_seconds", 0.03125 * n, n, "a=\"b\"");
  };
  const MeasuredValues v1{{"ttft_ms", 125}, {"tpot_ms", 31.25}, {"output_tok_s", 202}};
  CHECK(interval(both(40), both(140)).test.measured == v1);
}

TEST_CASE("engines of one server add up", "[bench][server]") {
  const auto two = [&](double n) {
    std::string other = vllm_after(n);
    for (std::size_t at = 0; (at = other.find("engine=\"0\"", at)) != std::string::npos;) other[at + 8] = '1';
    return vllm_after(n) + other;
  };
  const ServerInterval i = interval(two(40), two(140));
  CHECK(i.test.requests == 200);
  CHECK(i.test.prompt == 1000);
  CHECK(i.test.clients == 25.5);
}

TEST_CASE("SGLang's counters give the same means", "[bench][server]") {
  const ServerInterval i = interval(sglang_after(0), sglang_after(100)),
                       other = interval("sglang:num_running_reqs 0\n", sglang_after(100));
  CHECK(i.test.prompt == 1000);
  CHECK(i.test.generate == 101);
  CHECK(i.test.clients == 12.75);
  const MeasuredValues expected{{"ttft_ms", 125}, {"itl_ms", 62.5}, {"output_tok_s", 202}};
  CHECK(i.test.measured == expected);
  CHECK_FALSE(i.running_before);
  CHECK(other.test.measured == expected);  // counters appear with the first request
}

TEST_CASE("llama.cpp's counters give the same means with the length of a prompt", "[bench][server]") {
  const ServerInterval i = interval(llama_after(40), llama_after(140), 1000);
  CHECK(i.test.requests == 100);  // 100,000 tokens / 1,000
  CHECK(i.test.prompt == 1000);
  CHECK(i.test.generate == 101);
  CHECK(i.test.clients == 12.75);  // 12.5 s of prompts and 625 s of answers in 50 s
  // A prompt's time includes the first token, so 625 s are of 10,100 - 100 tokens.
  const MeasuredValues expected{{"ttft_ms", 125}, {"tpot_ms", 62.5}, {"output_tok_s", 202}};
  CHECK(i.test.measured == expected);
}

TEST_CASE("cached tokens precede the prompt", "[bench][server]") {
  const auto vllm = [](double n) {
    return vllm_after(n) +
           fmt::format("vllm:prefix_cache_queries_total {}\nvllm:prefix_cache_hits_total {}\n", 2000 * n, 1500 * n);
  };
  const BenchTest v = interval(vllm(40), vllm(140)).test;
  CHECK(v.prompt == 250);
  CHECK(v.cached == 750);
  const auto sglang = [](double n) {
    return sglang_after(n) + fmt::format("sglang:cached_tokens_total {}\n", 500 * n);
  };
  CHECK(interval(sglang(40), sglang(140)).test.cached == 500);
  // llama.cpp's prompt tokens exclude cached ones: 1,000 of 4,000.
  const auto llama = [](double n) {
    return llama_after(n) + fmt::format("llamacpp:prompt_tokens_cached_total {}\n", 3000 * n);
  };
  const BenchTest l = interval(llama(40), llama(140), 4000).test;
  CHECK(l.requests == 100);
  CHECK(l.prompt == 1000);
  CHECK(l.cached == 3000);
}

TEST_CASE("an interval without enough requests is refused", "[bench][server][errors]") {
  const std::string end =
      " in 50 s, but means need at least 10; send requests as its users do, or wait longer with --seconds N";
  CHECK(interval_refusal(vllm_after(40), vllm_after(40)) == "server: no request ended" + end);
  CHECK(interval_refusal(vllm_after(40), vllm_after(41)) == "server: only 1 request ended" + end);
  CHECK(interval_refusal(vllm_after(40), vllm_after(49)) == "server: only 9 requests ended" + end);
  CHECK(interval_refusal(sglang_after(40), sglang_after(40)) == "server: no request ended" + end);
  CHECK(interval_refusal(llama_after(40), llama_after(40), 1000) == "server: no request ended" + end);
  CHECK(interval(vllm_after(40), vllm_after(50)).test.requests == 10);
}

TEST_CASE("counters that cannot describe one server at work are refused", "[bench][server][errors]") {
  CHECK_THAT(interval_refusal(vllm_after(140), vllm_after(40)),
             Contains("vllm:request_prompt_tokens_count fell from 140 to 40") && Contains("restart"));
  CHECK_THAT(interval_refusal(vllm_after(40), without(vllm_after(140), "vllm:e2e_request_latency_seconds_sum")),
             Contains("its metrics lack vllm:e2e_request_latency_seconds_sum"));
  CHECK_THAT(interval_refusal(vllm_after(40), sglang_after(140)), Contains("the two readings are not of one server"));
  CHECK_THAT(interval_refusal(llama_after(40), llama_after(140)), Contains("add --prompt N"));
  CHECK_THAT(interval_refusal(vllm_after(0), vllm_after(140) + "vllm:request_prompt_tokens_sum 1e300\n"),
             Contains("7.143e+297 tokens per prompt"));
  CHECK_THAT(interval_refusal(vllm_after(0), vllm_after(140) + "vllm:e2e_request_latency_seconds_sum 1e9\n"),
             Contains("requests in progress"));
}

TEST_CASE("a server that drafts tokens is refused", "[bench][server][errors]") {
  const std::string drafted = "vllm:spec_decode_num_draft_tokens_total ";
  CHECK_THAT(interval_refusal(vllm_after(40) + drafted + "5\n", vllm_after(140) + drafted + "9\n"),
             Contains("speculative decoding"));
  CHECK(interval(vllm_after(40) + drafted + "5\n", vllm_after(140) + drafted + "5\n").test.requests == 100);
  CHECK_THAT(interval_refusal(sglang_after(40), sglang_after(140) + "sglang:spec_accept_length 2.5\n"),
             Contains("speculative decoding"));
  CHECK_THAT(
      interval_refusal(llama_after(40), llama_after(140) + "llamacpp:spec_decode_num_draft_tokens_total 5\n", 1000),
      Contains("speculative decoding"));
}

TEST_CASE("metrics name the engine and the model", "[bench][server]") {
  const BenchRun run = counted_run(Exposition(vllm_after(1), "server"), "server");
  CHECK(run.engine == "vllm");
  CHECK(run.model == "meta-llama/Llama-3.1-8B-Instruct");
  CHECK(counted_run(Exposition(llama_after(1), "server"), "server").engine == "llama.cpp");
  CHECK(counted_run(Exposition(llama_after(1), "server"), "server").model.empty());
  const std::string two = vllm_after(1) + vllm_after(1, "vllm:inter_token_latency_seconds", "other");
  CHECK_THAT(test::sentence([&] { counted_run(Exposition(two, "server"), "server"); }),
             Contains("metrics of 2 models"));
  CHECK_THAT(test::sentence([&] { counted_run(Exposition("a 1\n", "server"), "server"); }),
             Contains("no metrics of vLLM, SGLang or llama.cpp"));
}

TEST_CASE("a server's documents state version, model and layout", "[bench][server]") {
  CHECK(facts(R"({"version": "0.10.1"})").version == "0.10.1");
  CHECK(facts(R"({"object": "list", "data": [{"id": "chat", "root": "Qwen/Qwen3-8B"}]})").model == "Qwen/Qwen3-8B");
  CHECK(facts(R"({"data": [{"id": "chat", "root": null}]})").model == "chat");
  const BenchRun sglang = facts(R"({"model_path": "Qwen/Qwen3-8B", "tp_size": 4, "pp_size": 2, "version": "0.5.3"})");
  CHECK(sglang.model == "Qwen/Qwen3-8B");
  CHECK(sglang.tp == 4);
  CHECK(sglang.pp == 2);
  const BenchRun llama = facts(R"({"model_path": "/m/Qwen3-8B-Q8_0.gguf", "build_info": "b6123-07fbe19f"})");
  CHECK(llama.version == "b6123");
  CHECK(llama.model == "/m/Qwen3-8B-Q8_0.gguf");
}

TEST_CASE("a document of another form states nothing", "[bench][server][errors]") {
  for (const char* text :
       {"", "<html>", "[]", "1", "{", R"({"version": 5, "data": {}, "tp_size": "2"})", R"({"data": [], "tp_size": -1})",
        R"({"data": [1], "pp_size": 1e99, "version": "a b"})", "{\"version\": \"\xff\"}"}) {
    INFO(text);
    const BenchRun run = facts(text);
    CHECK(run.version.empty());
    CHECK(run.model.empty());
    CHECK_FALSE(run.tp);
    CHECK_FALSE(run.pp);
  }
  CHECK(facts("{\"model_path\": \"a\\u001b[31m\"}").model == "a?[31m");
}

TEST_CASE("one reading of a server is refused as a benchmark", "[bench][server][errors]") {
  CHECK_THAT(test::sentence([&] { bench_run(vllm_after(1), "m.txt"); }),
             Contains("m.txt: one reading of a server's metrics; pass two"));
}
