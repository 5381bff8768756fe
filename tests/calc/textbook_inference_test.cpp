#include "calc/textbook/inference.hpp"

#include <cmath>

#include "calc/textbook/parameters.hpp"
#include "tests/calc/textbook_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::textbook;

TEST_CASE("16-bit cache sizes per token match the published sizes", "[textbook]") {
  CHECK(kv_bytes_per_token(test::llama3_8b(), 2) == Bytes(131072));
  CHECK(kv_bytes_per_token(test::gpt3(), 2) == Bytes(2 * 2 * 12288 * 96));
}

TEST_CASE("ranks beyond the number of KV heads replicate a head, and latent rows are on every rank", "[textbook]") {
  const Arch a = test::llama3_8b();
  CHECK(kv_bytes_per_token(a, 2, 8) == Bytes(131072 / 8));
  CHECK(kv_bytes_per_token(a, 2, 16) == Bytes(131072 / 8));
  CHECK(kv_bytes_per_token(test::tiny_latent(), 2, 4) == Bytes(2 * 2 * (13 + 2)));
}

TEST_CASE("a quantized cache stores one scale per head and token", "[textbook]") {
  CHECK(kv_bytes_per_token(test::tiny_llama(), 1, 1, 4) == Bytes(2 * 2 * 3 * (5 + 4)));
}

TEST_CASE("cache size is rounded up to pages, stops growing at the window, and excludes linear attention",
          "[textbook]") {
  Arch a = test::tiny_llama();
  const Count token = 2 * 3 * 5 * 2;  // one layer
  CHECK(kv_cache_bytes(a, 3, 20, 2) == Bytes(3 * 20 * 2 * token));
  CHECK(kv_cache_bytes(a, 3, 20, 2, 1, 16) == Bytes(3 * 32 * 2 * token));
  a.local = {{7}, LayerSet::every(0, 2, 2)};
  CHECK(kv_cache_bytes(a, 1, 20, 2) == Bytes((7 + 20) * token));
  CHECK(kv_cache_bytes(a, 1, 5, 2) == Bytes((5 + 5) * token));
  a.linear_layers.insert(1);
  CHECK(kv_cache_bytes(a, 1, 20, 2) == Bytes(7 * token));
}

TEST_CASE("one decode step costs two FLOPs per weight and four per cached element of K", "[textbook]") {
  const Arch a = test::tiny_llama();
  CHECK(decode_flops(a, 5, 9) == Flops(5 * (2 * matmul_parameters(a) + 4 * 2 * 30 * 9)));
}

TEST_CASE("one token is routed to k experts, and many tokens reach all experts", "[textbook]") {
  CHECK(experts_touched(8, 2, 1) == Approx(2));
  CHECK(experts_touched(8, 2, 2) == Approx(2 + 2 * 0.75));
  CHECK(experts_touched(8, 2, 1000) == Approx(8));
  CHECK(experts_touched(8, 8, 1) == Approx(8));
}

TEST_CASE("a dense pass reads every weight outside the token embedding, plus one table row per token", "[textbook]") {
  const Arch a = test::tiny_llama();
  CHECK(weight_bytes_read(a, 5, 2) == Approx(2 * (parameters(a).total() - 103 * 26 + 5 * 26)));
  // tied: the head is the table, read as a matrix
  const Arch gpt = test::tiny_gpt();
  CHECK(weight_bytes_read(gpt, 5, 2) == Approx(2 * (parameters(gpt).total() - 19 * 22 + 5 * 2 * 22)));
}

TEST_CASE("an MoE pass reads only the experts that its tokens are routed to", "[textbook]") {
  const Arch a = test::tiny_moe();
  const double others = static_cast<double>(parameters(a).total() - 103 * 26 - 8 * 3 * 26 * 7);
  CHECK(weight_bytes_read(a, 1, 1) == Approx(others + 26 + 2 * 3 * 26 * 7));
  CHECK(weight_bytes_read(a, 1000, 1) == Approx(others + 26000 + 8 * 3 * 26 * 7));
}

TEST_CASE("small decode steps are memory-bound, and large prefills compute-bound", "[textbook]") {
  const Arch a = test::llama3_8b();
  const Machine h100{.devices = 1, .peak = 989.5e12, .bandwidth = 3.35e12};
  const double bytes = weight_bytes_read(a, 1, 2) + 4096 * 131072.0;
  CHECK(decode_step_seconds(a, 1, 4096, 2, 2, h100) == Approx(bytes / 3.35e12));
  CHECK(decode_step_seconds(a, 1, 4096, 2, 2, h100, 0.001) == Approx(bytes / 3.35e12 + 0.001));
  const PassShape prompt{.batch = 1, .seq = 8192, .pairs = AttentionFlops::causal_exact, .head = Head::last};
  const double flops = static_cast<double>(forward_flops(a, prompt).total().value);
  CHECK(prefill_seconds(a, prompt, 2, h100) == Approx(flops / 989.5e12));
}

TEST_CASE("capacity limits are rounded down and never negative", "[textbook]") {
  const Capacity room{.memory = 1000, .devices = 2, .weights = 500, .reserve = 100, .utilization = 0.9};
  CHECK(max_batch(room, 10, 11) == 10);  // (1800 - 600) / 110
  CHECK(max_context(room, 10, 11) == 10);
  CHECK(max_batch({.memory = 1000, .weights = 2000}, 10, 11) == 0);
}

TEST_CASE("a step yields one token without drafts, and one more than drafted if all drafts are accepted",
          "[textbook]") {
  CHECK(speculative_tokens(0.5, 0) == 1);
  CHECK(speculative_tokens(0, 5) == 1);
  CHECK(speculative_tokens(1, 5) == 6);
  CHECK(speculative_tokens(0.5, 2) == 1.75);  // 1 + 1/2 + 1/4
  CHECK(speculative_speedup(0.5, 2, 0.25) == Approx(1.75 / 1.5));
}

TEST_CASE("the best draft length beats its neighbors", "[textbook]") {
  const double a = GENERATE(0.6, 0.8, 0.95), c = GENERATE(0.02, 0.1);
  const Count g = best_draft(a, c, 64);
  CHECK(speculative_speedup(a, g, c) >= speculative_speedup(a, g + 1, c));
  CHECK(speculative_speedup(a, g, c) > speculative_speedup(a, g - 1, c));
}

TEST_CASE("a full server serves as many requests at a time as it has slots", "[textbook]") {
  // Little's law: requests in flight = rate x time in the server, including other requests' prefills
  const Serving s{
      .batch = 48, .prompt = 1500, .generated = 300, .fixed = 0.009, .per_context_token = 4e-8, .prefill = 0.06};
  const double seconds_in_decode = 300 * time_per_output_token(s);
  CHECK(requests_per_second(s) * seconds_in_decode == Approx(48));
  CHECK(serving_tokens_per_second(s) == Approx(300 * requests_per_second(s)));
}

TEST_CASE("without prefill, the token rate of full batches approaches bandwidth / mean cache per sequence",
          "[textbook]") {
  const Serving s{.batch = 1'000'000, .prompt = 100, .generated = 99, .fixed = 0.01, .per_context_token = 1e-6};
  CHECK(serving_tokens_per_second(s) == Approx(1 / (150 * 1e-6)).epsilon(1e-3));
}
