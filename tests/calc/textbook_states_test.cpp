#include "calc/textbook/states.hpp"

#include "calc/formats/dtype.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::textbook;

TEST_CASE("states take 16, 18 or 20 bytes per parameter depending on the gradients' format", "[textbook]") {
  CHECK(state_preset("adam_fp32")->total() == 16);
  CHECK(state_preset("adam_mixed_fp16_grads")->total() == 16);
  CHECK(state_preset("adam_mixed_fp32_grads")->total() == 18);
  CHECK(state_preset("adam_mixed_both_grads")->total() == 20);
  CHECK_FALSE(state_preset("adam").has_value());
}

TEST_CASE("ZeRO's four stages match the paper for 7.5 B parameters over 64 ranks", "[textbook]") {
  // Rajbhandari et al. 2020 (arXiv:1910.02054), Fig. 1: 120, 31.4, 16.6, 1.9 GB
  const StatePreset p = *state_preset("adam_mixed_fp16_grads");
  CHECK(zero_bytes(p, 7'500'000'000, 64, 0) == Fraction(120'000'000'000));
  CHECK(zero_bytes(p, 7'500'000'000, 64, 1) == Fraction(31'406'250'000));
  CHECK(zero_bytes(p, 7'500'000'000, 64, 2) == Fraction(16'640'625'000));
  CHECK(zero_bytes(p, 7'500'000'000, 64, 3) == Fraction(1'875'000'000));
}

TEST_CASE("ZeRO over one rank has no effect, and shards over several ranks are never rounded", "[textbook]") {
  const StatePreset p = *state_preset("adam_mixed_fp32_grads");
  const int stage = GENERATE(0, 1, 2, 3);
  CHECK(zero_bytes(p, 1001, 1, stage) == Fraction(18 * 1001));
  CHECK(zero_bytes(p, 1, 7, 3) == Fraction(Exact(18), 7));
}

TEST_CASE("gathered bytes are the weights of the given units plus the gradient of one unit", "[textbook]") {
  CHECK(gathered_bytes(100, 2, 2, 4) == Bytes(100 * (2 * 2 + 4)));
}

TEST_CASE("8-bit Adam keeps two bytes per parameter and two scales per block", "[textbook]") {
  CHECK(adam8bit_bytes(512, 256) == Bytes(1024 + 16));
  CHECK(adam8bit_bytes(513, 256) == Bytes(1026 + 24));
}

TEST_CASE("groups of integers have a scale and a zero point each, and a partial group counts in full", "[textbook]") {
  CHECK(integer_group_bytes(2, 128, 4, 128, 2, 4) == Bytes(128 + 2 * 2 + 1));
  CHECK(integer_group_bytes(1, 129, 8, 128, 2, 0) == Bytes(129 + 4));
  // the engine's number formats agree
  CHECK(integer_group_bytes(64, 512, 4, 128, 2, 4) == tensor_bytes(*dtype("gptq"), 64, 512));
  CHECK(integer_group_bytes(64, 512, 4, 128, 2, 0) == tensor_bytes(*dtype("int4-g128"), 64, 512));
  CHECK(integer_group_bytes(64, 512, 8, 512, 4, 0) == tensor_bytes(*dtype("int8"), 64, 512));
}

TEST_CASE("NF4 uses 4.5 bits per weight, or 4.127 with quantized scales", "[textbook]") {
  CHECK(nf4_bytes(16384, 64, false) == Bytes(16384 / 2 + 4 * 256));
  CHECK(nf4_bytes(16384, 64, true) == Bytes(16384 / 2 + 256 + 4));
  CHECK(nf4_bytes(16384, 64, false) == tensor_bytes(*dtype("nf4"), 1, 16384));
  CHECK(nf4_bytes(16384, 64, true) == tensor_bytes(*dtype("nf4-dq"), 1, 16384));
}
