#include "calc/textbook/parameters.hpp"

#include "tests/calc/textbook_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::textbook;

TEST_CASE("a tiny GPT's parameters match a hand count", "[textbook]") {
  const ParameterSums s = parameters(test::tiny_gpt());
  CHECK(s.embedding == 101 * 22);
  CHECK(s.position == 19 * 22);
  CHECK(s.attention == 3 * (4 * 22 * 22 + 4 * 22));
  CHECK(s.mlp == 3 * (2 * 22 * 47 + 47 + 22));
  CHECK(s.norm == 3 * 2 * 2 * 22 + 2 * 22);
  CHECK(s.lm_head == 0);
  CHECK(s.total() == 2222 + 418 + 6072 + 6411 + 308);
}

TEST_CASE("a tiny Llama's parameters match a hand count", "[textbook]") {
  const ParameterSums s = parameters(test::tiny_llama());
  CHECK(s.attention == 2 * (2 * 26 * 30 + 2 * 26 * 15));
  CHECK(s.mlp == 2 * 3 * 26 * 37);
  CHECK(s.norm == 5 * 26);
  CHECK(s.lm_head == 103 * 26);
  CHECK(s.position == 0);
}

TEST_CASE("latent attention counts low-rank query and key-value projections, each with a norm", "[textbook]") {
  const Count q = 26 * 17 + 17 + 17 * 6 * (5 + 2);
  const Count kv = 26 * (13 + 2) + 13 + 13 * 6 * (5 + 3);
  CHECK(attention_parameters(test::tiny_latent()) == q + kv + 6 * 3 * 26);
  Arch direct = test::tiny_latent();
  direct.latent.q_rank = 0;
  CHECK(attention_parameters(direct) == 26 * 6 * 7 + kv + 6 * 3 * 26);
}

TEST_CASE("the textbook counts router, experts and shared experts in MoE layers", "[textbook]") {
  const Arch a = test::tiny_moe();
  const Count expert = 3 * 26 * 7;
  CHECK(parameters(a).mlp == 3 * 26 * 37 + 26 * 8 + 8 * expert + 3 * 26 * 11);
  CHECK(active_parameters(a) == parameters(a).total() - 6 * expert);
}

TEST_CASE("GPT-2's closed form equals the general parameter count of GPT-2's architecture", "[textbook]") {
  CHECK(gpt2_parameters(3, 22, 47, 101, 19) == parameters(test::tiny_gpt()).total());
  CHECK(gpt2_parameters(12, 768, 3072, 50257, 1024) == 124439808);
  CHECK(gpt2_parameters(48, 1600, 6400, 50257, 1024) == 1557611200);
  CHECK(gpt2_parameters(96, 12288, 49152, 50257, 2048) == 174604259328);
}

TEST_CASE("Llama's closed form equals the general parameter count of Llama's architecture", "[textbook]") {
  CHECK(llama_parameters(2, 26, 6, 3, 5, 37, 103, false) == parameters(test::tiny_llama()).total());
  CHECK(llama_parameters(32, 4096, 32, 8, 128, 14336, 128256, false) == 8030261248);
  CHECK(llama_parameters(126, 16384, 128, 8, 128, 53248, 128256, false) == 405853388800);
  CHECK(llama_parameters(16, 2048, 32, 8, 64, 8192, 128256, true) == 1235814400);  // Llama-3.2-1B
}

TEST_CASE("each bias, norm and sink adds exactly its parameter count", "[textbook]") {
  const Arch plain = test::tiny_llama();
  const Count before = parameters(plain).total();
  const auto added = [&](auto change) {
    Arch a = plain;
    change(a);
    return parameters(a).total() - before;
  };
  CHECK(added([](Arch& a) { a.qkv_bias = true; }) == 2 * (30 + 15 + 15));
  CHECK(added([](Arch& a) { a.attention_out_bias = true; }) == 2 * 26);
  CHECK(added([](Arch& a) { a.mlp_bias = true; }) == 2 * (37 + 37 + 26));
  CHECK(added([](Arch& a) { a.head_bias = true; }) == 103);
  CHECK(added([](Arch& a) { a.attention_sinks = true; }) == 2 * 6);
  CHECK(added([](Arch& a) { a.qk_norm = QkNorm::per_head; }) == 2 * 2 * 5);
  CHECK(added([](Arch& a) { a.qk_norm = QkNorm::per_head_bias; }) == 2 * 4 * 5);
  CHECK(added([](Arch& a) { a.qk_norm = QkNorm::full; }) == 2 * (30 + 15));
  CHECK(added([](Arch& a) { a.qk_norm = QkNorm::full_bias; }) == 2 * 2 * (30 + 15));
  CHECK(added([](Arch& a) { a.qk_norm = QkNorm::weight_free; }) == 0);
  CHECK(added([](Arch& a) { a.embedding_norm = true; }) == 26);
  CHECK(added([](Arch& a) { a.norms_per_layer = 4; }) == 2 * 2 * 26);
  CHECK(added([](Arch& a) { a.norm = NormKind::layer_norm; }) == 5 * 26);
  CHECK(added([](Arch& a) { a.norm = NormKind::weight_free; }) == -5 * 26);
  CHECK(added([](Arch& a) { a.tied_head = true; }) == -103 * 26);
  CHECK(added([](Arch& a) { a.activation = Activation::xielu; }) == 2 * 2);
  // a token embedding of width 10 and two projections instead of width 26, in and out
  CHECK(added([](Arch& a) { a.embedding_width = 10; }) == -2 * 103 * 16 + 2 * 10 * 26);
}

TEST_CASE("experts can have biases, and a correction bias is not a parameter", "[textbook]") {
  Arch a = test::tiny_moe();
  const Count before = parameters(a).total();
  a.moe.router_correction = true;
  CHECK(parameters(a).total() == before);
  a.moe.router_bias = true;
  CHECK(parameters(a).total() == before + 8);
  a.moe.expert_bias = true;
  CHECK(parameters(a).total() == before + 8 + 8 * (7 + 7 + 26));
  a.moe.shared_gate = true;
  CHECK(parameters(a).total() == before + 8 + 8 * (7 + 7 + 26) + 26);
}

TEST_CASE("Kaplan's N excludes the tables and the head, and nanoGPT's N only the positions", "[textbook]") {
  const Arch a = test::tiny_gpt();
  CHECK(non_embedding_parameters(a) == parameters(a).total() - 101 * 22 - 19 * 22);
  CHECK(nanogpt_parameters(a) == parameters(a).total() - 19 * 22);
}

TEST_CASE("matmul weights count active experts and the head, tied or not", "[textbook]") {
  CHECK(matmul_parameters(test::tiny_gpt()) == 3 * (4 * 22 * 22 + 2 * 22 * 47) + 101 * 22);
  const Count attention = 2 * 26 * 30 + 2 * 26 * 15;
  CHECK(matmul_parameters(test::tiny_moe()) ==
        2 * attention + 3 * 26 * 37 + 26 * 8 + 2 * 3 * 26 * 7 + 3 * 26 * 11 + 103 * 26);
}

TEST_CASE("the textbook counts five matrices and a norm per linear-attention layer", "[textbook]") {
  Arch a = test::tiny_llama();
  a.linear_layers.insert(0);
  CHECK(parameters(a).attention == 5 * 26 * 30 + 30 + attention_parameters(a));
}

TEST_CASE("Adafactor keeps row and column factors of a matrix, and every element of a vector", "[textbook]") {
  const Arch a = test::tiny_gpt();
  const Count attention = 4 * (22 + 22) + 4 * 22, mlp = 2 * (22 + 47) + 47 + 22;
  CHECK(adafactor_numbers(a) == 3 * (attention + mlp + 4 * 22) + 2 * 22 + (101 + 22) + (19 + 22));
}

TEST_CASE("exact integers throw Overflow when a result does not fit", "[textbook]") {
  const Exact big = Exact(Count{1} << 62) * (Count{1} << 62);
  CHECK_THROWS_AS(big * big, Overflow);
  CHECK_THROWS_AS(big.count(), Overflow);
  CHECK(big.flops() == Flops(static_cast<Int128>(1) << 124));
  CHECK(Fraction(Exact(6), 4) == Fraction(Exact(3), 2));
  CHECK(Fraction(Exact(1), 3) + Fraction(Exact(1), 6) == Fraction(Exact(1), 2));
}
