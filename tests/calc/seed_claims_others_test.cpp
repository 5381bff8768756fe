/// Figures of Goon's first and second stage, of Wolfe and of Jia, recomputed. See docs/seeds.md.

#include <array>
#include <cmath>

#include "calc/textbook/textbook.hpp"
#include "tests/calc/textbook_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::textbook;

namespace {

using Four = std::array<double, 4>;

double mean(const Four& x) { return (x[0] + x[1] + x[2] + x[3]) / 4; }
double rms(const Four& x) { return std::sqrt(mean({x[0] * x[0], x[1] * x[1], x[2] * x[2], x[3] * x[3]})); }

/// Llama-3-405B with the round vocabulary of Jia §2.7.
Arch llama405(Count vocabulary) {
  Arch a = test::llama3_8b();
  a.layers = 126;
  a.hidden = a.embedding_width = 16384;
  a.vocabulary = vocabulary;
  a.heads = 128;
  a.kv_heads = 8;
  a.head_dim = 128;
  a.mlp_width = 53248;
  return a;
}

/// GPT-2's small shape as in Wolfe's listing: untied head.
Arch wolfe(bool bias) {
  Arch a = test::tiny_gpt();
  a.layers = 12;
  a.hidden = a.embedding_width = 768;
  a.vocabulary = 50257;
  a.position_rows = 1024;
  a.heads = a.kv_heads = 12;
  a.head_dim = 64;
  a.mlp_width = 3072;
  a.tied_head = false;
  a.qkv_bias = a.attention_out_bias = a.mlp_bias = a.head_bias = bias;
  return a;
}

}  // namespace

// ---- Goon, first stage (F is the expansion there)

TEST_CASE("Goon, first stage (2.2): GPT-3's parameters match the listing's leading and additional terms", "[seed]") {
  const Fraction leading = seed_parameters(96, 12288, 4, 50257);
  CHECK(leading == Fraction(174'563'733'504));
  const Count rest = Count{2048} * 12288 + Count{13} * 96 * 12288 + 2 * 12288;
  CHECK(leading + Fraction(rest) == Fraction(174'604'259'328));
  CHECK(gpt2_parameters(96, 12288, 49152, 50257, 2048) == 174'604'259'328);
}

TEST_CASE("Goon, first stage §1.1.4: an MLP has 2FD^2 weights and (F + 1) D biases", "[seed]") {
  CHECK(dense_mlp_parameters(test::gpt3()) == Count{2} * 4 * 12288 * 12288 + Count{5} * 12288);
}

TEST_CASE("Goon, first and second stage (2.1): the MLP caches (2F + 1) BSD values; the printed formula omits the D",
          "[seed]") {
  SeedActivations s{3, 16, 1, 24, 4, 4, 1};
  CHECK(seed_mlp_activations(s) == Fraction((2 * 4 + 1) * 3 * 16 * 24 + 3 * 16 * 24));  // plus a mask
}

TEST_CASE("Goon, first stage §2.1: single precision takes 16 bytes per parameter, and a GiB is 2^30 bytes", "[seed]") {
  CHECK(state_preset("adam_fp32")->total() == 4 + 4 + 8);
  CHECK(state_bytes(*state_preset("adam_fp32"), Count{1} << 26) == Bytes(Count{1} << 30));
}

// ---- Goon, second stage

TEST_CASE("Goon, second stage: mixed precision increases states by a sixth, or by an eighth with gradients", "[seed]") {
  const StatePreset fp32 = *state_preset("adam_fp32"), mixed = *state_preset("adam_mixed_fp32_grads");
  CHECK(Fraction(Exact(mixed.weights + mixed.optimizer), fp32.weights + fp32.optimizer) == Fraction(Exact(7), 6));
  CHECK(Fraction(Exact(mixed.total()), fp32.total()) == Fraction(Exact(9), 8));
}

// ---- Wolfe

TEST_CASE(
    "Wolfe: the listings have 4d^2 + 4d parameters per attention, 8d^2 + 5d per MLP and 4d for norms; biases are 9d",
    "[seed]") {
  const Count d = 768;
  CHECK(attention_parameters(wolfe(true)) == 4 * d * d + 4 * d);
  CHECK(attention_parameters(wolfe(false)) == 4 * d * d);
  CHECK(dense_mlp_parameters(wolfe(true)) == 8 * d * d + 5 * d);
  CHECK(dense_mlp_parameters(wolfe(false)) == 8 * d * d);
  CHECK(parameters(wolfe(false)).norm == 12 * 4 * d + 2 * d);
}

TEST_CASE("Wolfe: with its untied head the listed model has 163 M parameters, and GPT-2 has 124 M", "[seed]") {
  CHECK(parameters(wolfe(true)).total() == 163'087'441);
  CHECK(parameters(wolfe(false)).total() == 162'954'240);
  CHECK(wolfe_parameters(12, 768, 50257, 1024, true) == 163'087'441);
  CHECK(wolfe_parameters(12, 768, 50257, 1024, false) == 162'954'240);
  CHECK(gpt2_parameters(12, 768, 3072, 50257, 1024) == 124'439'808);
}

TEST_CASE("Wolfe: scores of T tokens cover T^2 query-key pairs and cost 4T^2 d FLOPs per layer", "[seed]") {
  Arch a = wolfe(false);
  a.layers = 1;
  CHECK(forward_flops(a, {.batch = 1, .seq = 100}).core == Flops(4 * 100 * 100 * 768));
}

TEST_CASE("Wolfe: more heads of width d/H leave MHA's parameter count unchanged, but not GQA's", "[seed]") {
  Arch a = wolfe(true);
  const Count before = attention_parameters(a);
  a.heads = a.kv_heads = 24;
  a.head_dim = 32;
  CHECK(attention_parameters(a) == before);
  a.kv_heads = 12;
  CHECK(attention_parameters(a) < before);
}

TEST_CASE("Wolfe: a SwiGLU MLP has three matrices; its width is about 8/3 d in LLaMA-7B and 3.5 d in Llama-3-8B",
          "[seed]") {
  CHECK(dense_mlp_parameters(test::llama3_8b()) == Count{3} * 4096 * 14336);
  CHECK(11008.0 / 4096 == 2.6875);
  CHECK(14336.0 / 4096 == 3.5);
}

TEST_CASE("Wolfe: Gemma-7B reaches its published parameter count only with a gated MLP and two norms per layer",
          "[seed]") {
  Arch a = test::llama3_8b();
  a.layers = 28;
  a.hidden = a.embedding_width = 3072;
  a.vocabulary = 256000;
  a.heads = a.kv_heads = 16;
  a.head_dim = 256;
  a.mlp_width = 24576;
  a.tied_head = true;
  CHECK(parameters(a).total() == 8'537'680'896);
  a.norms_per_layer = 4;
  CHECK(parameters(a).total() == 8'537'680'896 + 28 * 2 * 3072);
  a.norms_per_layer = 2;
  a.mlp = MlpKind::plain;
  CHECK(parameters(a).total() == 8'537'680'896 - Count{28} * 3072 * 24576);
}

TEST_CASE("Wolfe: the head processes only the last position in generation", "[seed]") {
  const Arch a = wolfe(false);
  CHECK(forward_flops(a, {.batch = 2, .seq = 100, .head = Head::last}).head == Flops(2 * 2 * 768 * 50257));
  CHECK(forward_flops(a, {.batch = 2, .seq = 100}).head == Flops(Int128{2} * 2 * 100 * 768 * 50257));
}

TEST_CASE("Wolfe: a parallel block halves the all-reduces", "[seed]") {
  TensorParallelLayer l{.batch = 1, .seq = 8, .hidden = 8, .precision = 2, .ranks = 2};
  const Fraction one(Exact(2) * 8 * 8 * 2, 2);
  CHECK(tensor_parallel_train(l) == Fraction(4) * one);
  l.parallel_block = true;
  CHECK(tensor_parallel_train(l) == Fraction(2) * one);
}

TEST_CASE("Wolfe: MQA divides the cache by the number of heads, and K and V take 2D d_h parameters instead of 2D^2",
          "[seed]") {
  Arch a = wolfe(false);
  const Bytes all = kv_bytes_per_token(a, 2);
  const Count weights = attention_parameters(a);
  a.kv_heads = 1;
  CHECK(12 * kv_bytes_per_token(a, 2) == all);
  CHECK(weights - attention_parameters(a) == 2 * 768 * 768 - 2 * 768 * 64);
}

TEST_CASE("Wolfe: learned positions take T d parameters, unlike RoPE and ALiBi", "[seed]") {
  Arch a = wolfe(false);
  CHECK(parameters(a).position == 1024 * 768);
  a.position = GENERATE(Position::rope, Position::alibi, Position::sinusoidal);
  CHECK(parameters(a).position == 0);
}

// ---- Jia

TEST_CASE("Jia §1.3: the loss to minimize is the negative log-likelihood", "[seed]") {
  CHECK(-std::log(0.9) < -std::log(0.1));  // without the minus sign, the worse model has the smaller loss
}

TEST_CASE("Jia §2.2: LayerNorm and RMSNorm of (100, 200, 100, 0) round to the printed values", "[seed]") {
  const Four x{100, 200, 100, 0};
  const Four centered{x[0] - mean(x), x[1] - mean(x), x[2] - mean(x), x[3] - mean(x)};
  CHECK(mean(x) == 100);
  CHECK(rms(centered) == Approx(70.711).epsilon(1e-5));
  CHECK(centered[1] / rms(centered) == Approx(1.41421).epsilon(1e-5));
  CHECK(rms(x) == Approx(122.474).epsilon(1e-5));
  CHECK(x[0] / rms(x) == Approx(0.816497).epsilon(1e-6));
  CHECK(x[1] / rms(x) == Approx(1.632993).epsilon(1e-6));
}

TEST_CASE(
    "Jia §2.4, §2.5: heads of width d/n give 4d^2 weights; Llama-3-8B has 4 queries per key and an MLP of width 3.5 d",
    "[seed]") {
  CHECK(attention_parameters(wolfe(false)) == 4 * 768 * 768);
  const Arch a = test::llama3_8b();
  CHECK(a.heads / a.kv_heads == 4);
  CHECK(dense_mlp_parameters(a) == 3 * a.hidden * a.mlp_width);
}

TEST_CASE("Jia §2.6.1: a decode step costs td + d^2 per layer; the omitted head is 7% of Llama-3-8B's matmul weights",
          "[seed]") {
  const Arch a = test::llama3_8b();
  CHECK(static_cast<double>(head_matmul_parameters(a)) / static_cast<double>(matmul_parameters(a)) ==
        Approx(0.07).epsilon(1e-3));
  Flops steps;
  for (Count t = 1; t <= 64; ++t) steps += decode_flops(a, 1, t);
  // T d^2 and T^2 d: the sum of t is T (T + 1)/2
  CHECK(steps == flops(2, 64, matmul_parameters(a)) + flops(4, 32, 4096, 64 * 65 / 2));
}

TEST_CASE(
    "Jia §2.6.1: memory for the cache is 2 G d_h p L T bytes, linear in T; Llama-3-8B's d is less than its context",
    "[seed]") {
  const Arch a = test::llama3_8b();
  CHECK(kv_cache_bytes(a, 1, 1000, 2) == Bytes(Count{2} * 8 * 128 * 2 * 32 * 1000));
  CHECK(a.hidden < 8192);
}

TEST_CASE("Jia §2.7: each component of Llama-3-405B has the printed parameter count", "[seed]") {
  const Arch a = llama405(128000);
  const ParameterSums s = parameters(a);
  CHECK(a.hidden / a.heads == 128);
  CHECK(a.heads / a.kv_heads == 16);
  CHECK(s.embedding == 2'097'152'000);
  CHECK(s.lm_head == 2'097'152'000);
  CHECK(s.attention == Count{2} * 2'113'929'216 + 2 * 33'822'867'456);
  CHECK(s.mlp == 3 * 109'924'319'232);
  CHECK(s.mlp == 329'772'957'696);
  CHECK(s.norm == 253 * 16384);
  CHECK(s.norm == 4'145'152);
  CHECK(s.total() == 405'845'000'192);
  CHECK(33'822'867'456 == Count{16} * 2'113'929'216);  // factor saved by grouping
  CHECK(static_cast<double>(s.mlp) / static_cast<double>(s.total()) == Approx(0.81256).epsilon(1e-5));
}

TEST_CASE(
    "Jia §2.7: a fourth MLP matrix would give 516 B parameters; 128256 vocabulary rows give the checkpoint's count",
    "[seed]") {
  const Count total = parameters(llama405(128000)).total();
  CHECK(static_cast<double>(total + 109'924'319'232) == Approx(515.8e9).epsilon(1e-4));
  CHECK(parameters(llama405(128256)).total() == 405'853'388'800);
  CHECK(parameters(llama405(128256)).total() - total == 8'388'608);
}
