#include "calc/textbook/roofline.hpp"

#include <cmath>

#include "calc/textbook/seeds.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::textbook;

TEST_CASE("a matmul moves each operand once", "[textbook]") {
  const Gemm g{.m = 3, .n = 5, .k = 7, .a_bytes = 2, .b_bytes = 1, .c_bytes = 4};
  CHECK(g.flops() == Flops(210));
  CHECK(g.bytes() == Bytes(2 * 21 + 35 + 4 * 15));
  CHECK(gemm_intensity(g) == Approx(210.0 / 137));
}

TEST_CASE("Goon's arithmetic intensity equals the intensity of a matmul with a square matrix", "[textbook]") {
  // Goon (D.1), its factor 2 restored
  CHECK(seed_matmul_intensity(2, 3, 5, 2) == Approx(gemm_intensity({.m = 6, .n = 5, .k = 5})));
}

TEST_CASE("at the critical batch size, compute takes as long as memory access", "[textbook]") {
  const double peak = 300e12, bandwidth = 2e12, ridge = ridge_point(peak, bandwidth);
  const double t = critical_batch(ridge, 2, 4096, 8192, 2);
  const double flops = 2 * t * 4096 * 8192, bytes = 2 * (t * (4096 + 8192) + 4096.0 * 8192);
  CHECK(flops / peak == Approx(bytes / bandwidth));
  CHECK(critical_batch(ridge, 2) == 150);
  CHECK(critical_batch(ridge, 1) == 75);
}

TEST_CASE("a matrix that is too narrow is memory-bound at any batch", "[textbook]") {
  CHECK(std::isinf(critical_batch(156, 2, 100, 100, 2)));
  CHECK(std::isfinite(critical_batch(156, 2, 400, 400, 2)));
}

TEST_CASE("a roofline time is the longer of compute and memory time, or their sum without overlap", "[textbook]") {
  CHECK(roofline_seconds(10, 6, 5, 2) == 3);
  CHECK(roofline_seconds(20, 6, 5, 2) == 4);
  CHECK(roofline_seconds(10, 6, 5, 2, false) == 5);
  CHECK(gemm_seconds({.m = 1, .n = 10, .k = 10}, 1e9, 1) == Approx(240));
}

TEST_CASE("decode attention's intensity is the number of heads that share a cached element", "[textbook]") {
  CHECK(decode_attention_intensity(32, 32, 2) == 1);   // MHA
  CHECK(decode_attention_intensity(64, 8, 2) == 8);    // Llama-3-70B
  CHECK(decode_attention_intensity(128, 8, 2) == 16);  // Llama-3-405B
  CHECK(latent_decode_intensity(128, 512, 64, 2) == Approx(241.77777777777777));
  CHECK(decode_attention_intensity(32, 8, 2, 128, 1'000'000, 2) == Approx(4).epsilon(1e-4));
}

TEST_CASE("the intensity of an element-wise operation counts bytes read and bytes written", "[textbook]") {
  CHECK(elementwise_intensity(8, 2, 2) == 2);
}

TEST_CASE("flash attention reads keys and values once per block of queries", "[textbook]") {
  CHECK(flash_attention_bytes(2, 8, 100, 10, 2, false) == 2 * 2 * 8 * 100 * (2 + 20.0));
  CHECK(flash_attention_bytes(2, 8, 100, 10, 2, true) == 2 * 2 * 8 * 100 * (2 + 10.0));
}
