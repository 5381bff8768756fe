/// Figures of Goon's third stage, recomputed, with the correct value for each misprint. docs/seeds.md has the same list
/// as tables. Test names refer to Goon's equations and sections.

#include <cmath>

#include "calc/links/collective.hpp"
#include "calc/run.hpp"
#include "calc/textbook/textbook.hpp"
#include "tests/calc/textbook_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::textbook;

namespace {

constexpr double gib = 1024.0 * 1024 * 1024;
double in_gib(Bytes b) { return static_cast<double>(b.value) / gib; }
double real(Flops f) { return static_cast<double>(f.value); }

/// GPT-3 as in Goon §2.6; one sequence.
SeedActivations gpt3_activations(Count seq, Count precision, Count tensor_parallel = 1) {
  return {1, seq, 96, 12288, 96, 4, precision, tensor_parallel};
}

/// Falcon-40B as in Goon §8: MHA, D 8192, L 60.
constexpr Count falcon_params = 40'000'000'000, falcon_hidden = 8192, falcon_layers = 60, falcon_seq = 2048;

}  // namespace

TEST_CASE("Goon §1: a word is 1.3 tokens, and a reader reads four tokens per second", "[seed]") {
  CHECK(tokens_per_word == 1.3);
  CHECK(reading_tokens_per_second() == Approx(4.008).epsilon(1e-3));  // footnote 32 prints 4
}

TEST_CASE("Goon §1.1: the tables have (V + K) D parameters once, not (V + S) D per layer", "[seed]") {
  const ParameterSums s = parameters(test::gpt3());
  CHECK(s.embedding == 617'558'016);
  CHECK(s.embedding + s.position == 642'723'840);
  CHECK(100.0 * 642'723'840 / 617'558'016 - 100 == Approx(4.1).epsilon(0.01));
}

TEST_CASE("Goon §1.2: two LayerNorms per layer have 4D parameters, not 2D, and a final norm adds 2D", "[seed]") {
  CHECK(parameters(test::gpt3()).norm == 96 * 4 * 12288 + 2 * 12288);
}

TEST_CASE("Goon §1.3: attention has 4D^2 weights and 4D biases, and MQA has 2D^2 + 2D d_h weights", "[seed]") {
  Arch a = test::gpt3();
  const Count d = 12288;
  CHECK(attention_parameters(a) == 4 * d * d + 4 * d);
  a.qkv_bias = a.attention_out_bias = false;
  CHECK(attention_parameters(a) == 4 * d * d);
  a.kv_heads = 1;  // footnote 7
  CHECK(attention_parameters(a) == 2 * d * d + 2 * d * 128);
}

TEST_CASE("Goon §1.4 and footnote 18: the MLP has 2ED^2 weights, twice as many as attention, and (E + 1) D biases",
          "[seed]") {
  Arch a = test::gpt3();
  const Count d = 12288;
  CHECK(dense_mlp_parameters(a) == 2 * 4 * d * d + 5 * d);
  a.mlp_bias = a.qkv_bias = a.attention_out_bias = false;
  CHECK(dense_mlp_parameters(a) == 2 * attention_parameters(a));
}

TEST_CASE("Goon §1.5 and §1.6: a GPT with a tied head has (4 + 2E) LD^2 + (9 + E) LD + (V + K) D + 2D parameters",
          "[seed]") {
  CHECK(gpt2_parameters(3, 32, 128, 101, 16) == 41'920);
  CHECK(parameters(test::gpt3()).lm_head == 0);
}

TEST_CASE("Goon (1.11): the loss averages logarithms, and perplexity is an inverse geometric mean of probabilities",
          "[seed]") {
  const double p = 0.5, q = 0.125;
  const double loss = -(std::log(p) + std::log(q)) / 2;
  CHECK(loss == Approx(std::log(4)));
  CHECK(-(p + q) / 2 < 0);                                // as printed, without the logarithm
  CHECK(std::exp(loss) == Approx(1 / std::sqrt(p * q)));  // footnote 14
}

TEST_CASE(
    "Goon (2.1), (2.3), (2.4): weights, gradients and Adam states take 16 bytes per parameter, 18 in mixed precision",
    "[seed]") {
  const StatePreset fp32 = *state_preset("adam_fp32"), mixed = *state_preset("adam_mixed_fp32_grads");
  CHECK(fp32.weights == 4);
  CHECK(fp32.optimizer == 2 * fp32.weights);
  CHECK(mixed.weights == 2);
  CHECK(mixed.optimizer == 6 * mixed.weights);
  CHECK(mixed.gradients == fp32.gradients);  // ZeRO's implementation keeps 2, one with both buffers 6
  CHECK(fp32.total() == 16);
  CHECK(mixed.total() == 18);
}

TEST_CASE("Goon (2.2): the leading term is 0.38% below GPT-3's parameter count and 26% below Llama-3-8B's", "[seed]") {
  const Fraction gpt3 = seed_parameters(96, 12288, 4);
  CHECK(gpt3 == Fraction(173'946'175'488));
  CHECK(100 * (174'604'259'328 / gpt3.value() - 1) == Approx(0.38).epsilon(0.01));
  const Fraction llama = seed_parameters(32, 4096, {Exact(7), 2});
  CHECK(llama == Fraction(5'905'580'032));
  CHECK(llama.value() / 8'030'261'248 == Approx(0.735).epsilon(1e-3));
  CHECK(128256.0 / (4096 * 32) == Approx(0.98).epsilon(0.005));  // V/DL, the term assumed to be small
}

TEST_CASE("Goon §2.1.3: activations are linear in the batch and quadratic in the sequence", "[seed]") {
  SeedActivations s = gpt3_activations(1024, 2);
  const Fraction one = seed_activations(s);
  s.batch = 2;
  CHECK(seed_activations(s) == Fraction(2) * one);
  s.batch = 1;
  s.seq = 2048;
  CHECK(seed_activations(s).value() > 2 * one.value());
  // the excess is in the scores: 5 A L (2048^2 - 2 x 1024^2)
  CHECK(seed_activations(s) == Fraction(2) * one + Fraction(Count{5} * 96 * 96 * 2 * 1024 * 1024));
}

TEST_CASE("Goon (2.5): attention saves 5D + 2AS values per token, and its dropout masks take one byte per element",
          "[seed]") {
  const SeedActivations s{1, 2048, 1, 12288, 96, 4, 1};
  CHECK(seed_attention_activations(s) == Fraction(2048 * (5 * 12288 + 2 * 96 * 2048 + 12288 + 96 * 2048)));
  CHECK(seed_attention_activations(gpt3_activations(2048, 2)) == Fraction(219'848'638'464));
}

TEST_CASE("Goon (2.6) and §2.1.3: the MLP saves 19BDLS, the norms 2pBDLS, and the head's part is not small", "[seed]") {
  CHECK(seed_mlp_activations(gpt3_activations(2048, 2)) == Fraction(Count{19} * 12288 * 96 * 2048));
  CHECK(seed_norm_activations(gpt3_activations(2048, 2)) == Fraction(Count{4} * 12288 * 96 * 2048));
  const Fraction logits = logits_activations(1, 8192, 128256, 4);
  CHECK(logits.value() / (34.0 * 8192 * 4096 * 32) == Approx(0.115).epsilon(2e-3));  // Llama-3-8B
}

TEST_CASE("Goon (2.7), (2.8): a layer saves 34D + 5AS bytes per token in 16 bits, and 66D + 9AS, not 15AS, in 32 bits",
          "[seed]") {
  const Count bls = Count{96} * 2048;
  CHECK(seed_activations(gpt3_activations(2048, 2)) == Fraction(bls * (34 * 12288 + 5 * 96 * 2048)));
  CHECK(seed_activations(gpt3_activations(2048, 4)) == Fraction(bls * (66 * 12288 + 9 * 96 * 2048)));
}

TEST_CASE(
    "Goon (2.9): the break-even batch follows from 9AS, and its activation savings equal the extra bytes of states",
    "[seed]") {
  const Count d = GENERATE(4096, 12288), a = 32, s = 512, layers = 7;
  const Fraction batch = mixed_precision_break_even_batch(d, a, s);
  const SeedActivations four{1, s, layers, d, a, 4, 4}, two{1, s, layers, d, a, 4, 2};
  const Fraction saved = batch * (seed_activations(four) + Fraction(-1) * seed_activations(two));
  const Count more = state_preset("adam_mixed_fp32_grads")->total() - state_preset("adam_fp32")->total();
  CHECK(saved == Fraction(more) * seed_parameters(layers, d, 4));
  const Fraction with_15(Exact(24) * d * d, Exact(32) * d * s + Exact(10 * a) * s * s);
  CHECK_FALSE(with_15 == batch);
}

TEST_CASE("Goon §2.1.3: mixed precision saves memory from a batch of about one sequence upward", "[seed]") {
  CHECK(mixed_precision_break_even_batch(12288, 96, 2048) == Fraction(Exact(3), 2));
  CHECK(mixed_precision_break_even_batch(8192, 128, 2048) == Fraction(Exact(3), 5));
  CHECK(mixed_precision_break_even_batch(4096, 32, 512) == Fraction(4));
}

TEST_CASE("Goon §2.2: a layer runs two all-reduces forward and two backward", "[seed]") {
  const Count bytes = 2 * 3 * 8 * 2;
  const Fraction one(Exact(2) * bytes * 3, 4);
  CHECK(tensor_parallel_train({.batch = 2, .seq = 3, .hidden = 8, .precision = 2, .ranks = 4}) == Fraction(4) * one);
}

TEST_CASE("Goon (2.11): the outputs of a row-parallel matmul are summed across ranks, not concatenated", "[seed]") {
  // t (1,4) times O (4,2); each of two ranks has half of t and half of O's rows
  const double t[] = {2, 3, 5, 7}, o[][2] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}};
  const auto product = [&](int first, int last, int column) {
    double sum = 0;
    for (int i = first; i < last; ++i) sum += t[i] * o[i][column];
    return sum;
  };
  for (const int column : {0, 1}) CHECK(product(0, 2, column) + product(2, 4, column) == product(0, 4, column));
  CHECK(product(0, 4, 0) == 85);  // each rank's result has the full width, so there is no concatenation
}

TEST_CASE("Goon footnote 22: the loss needs every shard of the vocabulary", "[seed]") {
  const double shard0 = std::exp(1.0) + std::exp(2.0), shard1 = std::exp(0.5) + std::exp(3.0), gold = 2;
  const double loss = std::log(shard0 + shard1) - gold, ignoring = std::log(shard0) - gold;
  CHECK(loss > ignoring + 1);
}

TEST_CASE("Goon (2.12), (E.1): each of eight ranks stores an eighth of the matrices", "[seed]") {
  CHECK(seed_parameters(96, 12288, 4, 0, 8) == Fraction(21'743'271'936));
}

TEST_CASE("Goon (2.13), (2.14), §2.3: tensor parallelism reduces 34 to 10 + 24/T, and sequence parallelism to 34/T",
          "[seed]") {
  SeedActivations s = gpt3_activations(2048, 2, 8);
  const Count bls = Count{96} * 2048;
  CHECK(seed_activations(s) == Fraction(bls * (13 * 12288 + 5 * 96 / 8 * 2048)));
  CHECK(seed_attention_activations(s) == Fraction(bls * ((3 + 1) * 12288 + 5 * 96 / 8 * 2048)));
  CHECK(seed_mlp_activations(s) == Fraction(bls * (2 + 3) * 12288));
  s.sequence_parallel = true;
  CHECK(Fraction(8) * seed_activations(s) == seed_activations(gpt3_activations(2048, 2)));
  // the inputs, sharded across ranks, are re-gathered: 2 (T-1)/T BSDp per layer
  TensorParallelLayer l{.batch = 1, .seq = 2048, .hidden = 12288, .precision = 2, .ranks = 8};
  const Fraction without = tensor_parallel_train(l);
  l.sequence_parallel = true;
  CHECK(tensor_parallel_train(l) == without + Fraction(2 * 7 * (2048 * 12288 * 2 / 8)));
}

TEST_CASE("Goon (2.16), (2.17): GPT-3's states are 2926 GiB, twice the printed 1463 GiB", "[seed]") {
  const Gpt3CaseStudy right = gpt3_case_study(Gpt3States::corrected), printed = gpt3_case_study(Gpt3States::printed);
  CHECK(right.params == 174'563'733'504);
  CHECK(in_gib(right.states()) == Approx(2926.35).epsilon(1e-5));
  CHECK(in_gib(right.weights) == Approx(325.15).epsilon(1e-5));
  CHECK(in_gib(right.gradients) == Approx(650.30).epsilon(1e-5));
  CHECK(in_gib(right.optimizer) == Approx(1950.90).epsilon(1e-5));
  CHECK(std::floor(in_gib(printed.states())) == 1463);
  CHECK(std::floor(in_gib(printed.weights)) == 162);
  CHECK(std::floor(in_gib(printed.gradients)) == 325);
  CHECK(std::floor(in_gib(printed.optimizer)) == 975);
}

TEST_CASE("Goon §2.6: the token embedding has 0.35% of GPT-3's parameters", "[seed]") {
  CHECK(100.0 * 617'558'016 / 174'563'733'504 == Approx(0.354).epsilon(1e-3));
}

TEST_CASE("Goon (2.18): activations take 3.7e-2 GiB per token, and the scores exceed the rest above 870 tokens",
          "[seed]") {
  const Gpt3CaseStudy g = gpt3_case_study(Gpt3States::corrected);
  CHECK(g.linear_per_token == Bytes(40'108'032));
  CHECK(g.quadratic_per_token2 == Bytes(46'080));
  CHECK(in_gib(g.linear_per_token) == Approx(3.735e-2).epsilon(1e-4));
  CHECK(activation_crossover_seq(12288, 96).value() == Approx(870.4));  // 10^3 is printed
}

TEST_CASE("Goon (2.19): the activations of 2048 tokens take 0.09 times the bytes of the states, not 0.2 times",
          "[seed]") {
  CHECK(gpt3_case_study(Gpt3States::corrected).activation_ratio(2048) == Approx(0.0877).epsilon(1e-3));
  CHECK(gpt3_case_study(Gpt3States::printed).activation_ratio(2048) == Approx(0.1753).epsilon(1e-3));
  CHECK(3e-2 * 2048 * (1 + 2.048) / 1463 == Approx(0.128).epsilon(2e-3));  // from the printed (2.18)
}

TEST_CASE("Goon (2.20): at T = 8 a rank holds 366 GiB of states, and 375 with the table unsharded", "[seed]") {
  const Gpt3CaseStudy right = gpt3_case_study(Gpt3States::corrected);
  CHECK(in_gib(right.states()) / 8 == Approx(365.8).epsilon(1e-4));
  CHECK(in_gib(right.sharded_states) == Approx(374.85).epsilon(1e-5));
  CHECK(in_gib(gpt3_case_study(Gpt3States::printed).sharded_states) == Approx(187.4).epsilon(2e-4));
  CHECK(right.sharded_linear.value() / gib == Approx(1.428e-2).epsilon(1e-3));
  CHECK(right.sharded_quadratic.value() / gib == Approx(5.364e-6).epsilon(1e-3));
}

TEST_CASE("Goon §3.1: the matmuls of a layer take 8BSD^2, 4BDS^2 and 4EBSD^2 FLOPs", "[seed]") {
  const Count b = 2, s = 2048, d = 12288;
  const ForwardFlops f = forward_flops(test::gpt3(), {.batch = b, .seq = s, .head = Head::none});
  CHECK(f.linear == 96 * (flops(8, b, s, d, d) + flops(4, 4, b, s, d, d)));
  CHECK(f.core == 96 * flops(4, b, d, s, s));
  CHECK(1 - (2.0 * d - 1) / (2.0 * d) < 5e-5);  // (2m - 1) n for 2mn
}

TEST_CASE("Goon §3: at S = D the attention core adds a sixth to the 2BSN FLOPs of the linear layers", "[seed]") {
  const ForwardFlops f = forward_flops(test::gpt3(), {.batch = 1, .seq = 12288, .head = Head::none});
  CHECK(6 * f.core == f.linear);
  CHECK(attention_flops_share(12288, 12288, 4) == Fraction(Exact(1), 7));
  CHECK(flops_crossover_seq(12288, 4) == 6 * 12288);
}

TEST_CASE("Goon §3.1: backward takes 4tIJ FLOPs, exactly twice forward", "[seed]") {
  CHECK(linear_backward_flops(2048, 12288, 49152) == 2 * flops(2, 2048, 12288, 49152));
}

TEST_CASE(
    "Goon (3.2), (3.3), footnote 26: a GPT-3 sequence costs 2.2e15 FLOPs, 2.8% above 6NS, without the head's 6BDSV",
    "[seed]") {
  const Flops total = seed_train_flops(1, 96, 2048, 12288, 4);
  CHECK(total == Flops(2'196'824'232'296'448));
  CHECK(real(total) / real(six_nd(173'946'175'488, 2048)) == Approx(1.0278).epsilon(1e-4));
  const Flops head = forward_flops(test::gpt3(), {.batch = 1, .seq = 2048}).head;
  CHECK(head == flops(2, 2048, 12288, 50257));
  CHECK(real(3 * head) / real(total) == Approx(0.0035).epsilon(0.02));
}

TEST_CASE("Goon (3.4): training GPT-3 on 300e9 tokens takes 3.13e23 FLOPs", "[seed]") {
  CHECK(six_nd(173'946'175'488, 300'000'000'000) == 600'000'000 * flops(3, 173'946'175'488, 1000));
  CHECK(real(six_nd(173'946'175'488, 300'000'000'000)) == Approx(3.131e23).epsilon(1e-4));
}

TEST_CASE("Goon (3.5): with FLOPs per batch instead of per token, MFU is too large by a factor of the number of tokens",
          "[seed]") {
  const FlopsPerSecond peak(312e12);
  const double per_batch = real(seed_train_flops(8, 96, 2048, 12288, 4)), tokens = 8 * 2048;
  CHECK(mfu(per_batch, 100, 8, peak) / mfu(per_batch / tokens, 100, 8, peak) == Approx(tokens));
}

TEST_CASE("Goon (6.1) and §6: the cache takes 2pBDLS/T bytes and exceeds the weights beyond 6D tokens, not D",
          "[seed]") {
  CHECK(seed_kv_cache(1, 2048, 8192, 60, 2) == Fraction(4'026'531'840));
  CHECK(seed_kv_cache(200, 2048, 8192, 60, 2, 4) == Fraction(201'326'592'000));
  const Count tokens = cache_crossover_tokens(8192, 4);
  CHECK(tokens == 6 * 8192);
  CHECK(seed_kv_cache(1, tokens, 8192, 60, 2) == Fraction(2) * seed_parameters(60, 8192, 4));
}

TEST_CASE("Goon §7: a decode step costs 2BN + 4BLDS FLOPs with the cache, and 2BSN plus attention without it",
          "[seed]") {
  Arch a = test::gpt3();
  const Count n = matmul_parameters(a);
  CHECK(decode_flops(a, 3, 2048) == flops(6, n) + flops(3, 4, 96, 12288, 2048));
  CHECK(forward_flops(a, {.batch = 3, .seq = 2048}).linear + forward_flops(a, {.batch = 3, .seq = 2048}).head ==
        flops(6, 2048, n));
}

TEST_CASE("Goon (7.2), which is blank: decode starts at an intensity of B and saturates below the ridge point",
          "[seed]") {
  const auto falcon = [](Count batch) {
    return seed_decode_intensity(falcon_params, batch, falcon_layers, falcon_hidden, falcon_seq, 2);
  };
  CHECK(falcon(1) == Approx(1).epsilon(0.01));
  CHECK(falcon(1'000'000'000) ==
        Approx(seed_decode_intensity_limit(falcon_params, falcon_layers, falcon_hidden, falcon_seq, 2)));
  CHECK(falcon(1'000'000'000) == Approx(20.9).epsilon(2e-3));
  CHECK(falcon(1'000'000'000) < 156);
}

TEST_CASE("Goon footnote 31: Falcon-40B has 8 KV heads of 64, and a sequence's cache takes 0.234 GiB", "[seed]") {
  Arch a;
  a.layers = 60;
  a.heads = 128;
  a.kv_heads = 8;
  a.head_dim = 64;
  CHECK(in_gib(kv_cache_bytes(a, 1, 2048, 2)) == Approx(0.234375));
}

TEST_CASE(
    "Goon (8.1): the printed 80 GiB of weights are nominal, and the printed 4 GiB of cache per sequence are 3.75 GiB",
    "[seed]") {
  CHECK(2 * seed_parameters(60, 8192, 4).value() / gib == 90);
  CHECK(2.0 * falcon_params / gib == Approx(74.5).epsilon(1e-3));
  CHECK(2 * 41'835'970'560.0 / gib == Approx(77.9).epsilon(1e-3));  // the published checkpoint
  CHECK(seed_kv_cache(1, 2048, 8192, 60, 2).value() / gib == 3.75);
}

TEST_CASE("Goon §8: two hundred sequences need eleven devices of 80 GiB, and four devices hold 61 sequences",
          "[seed]") {
  const Count g = Count{1} << 30;
  const auto fit = [g](Count devices, Count weights, Count sequence) {  // a sequence's cache in quarters of a GiB
    return max_batch({.memory = 80 * g, .devices = devices, .weights = weights * g}, sequence * g / 4 / 2048, 2048);
  };
  // 90 GiB of weights and 3.75 per sequence, by the formula of (8.1): 230 / 3.75 = 61.3
  CHECK(fit(4, 90, 15) == 61);
  CHECK(fit(10, 90, 15) < 200);
  CHECK(fit(11, 90, 15) >= 200);
  CHECK(fit(4, 80, 16) == 60);  // the printed 80 + 4B
}

TEST_CASE("Goon §8: at B = 200, four A100 take 113 ms to read memory and 16 ms to compute", "[seed]") {
  const double params = 48.318e9;  // 12 L D^2
  const double flops = 200 * (2 * params + 4.0 * 60 * 8192 * 2048), read = (90 + 3.75 * 200) * gib;
  CHECK(flops / (4 * 312e12) == Approx(0.0161).epsilon(3e-3));
  CHECK(read / (4 * 2.0e12) == Approx(0.1127).epsilon(1e-3));
  CHECK(flops / read == Approx(22.3).epsilon(2e-3));
  CHECK(2 * 200.0 * falcon_params / (4 * 312e12) == Approx(0.0128).epsilon(2e-3));  // 13 ms is printed
  CHECK(1 / 0.0128 == Approx(78.0).epsilon(2e-3));  // tokens/s per sequence; 75 is printed
  CHECK(4 * 2.0e12 / read == Approx(8.9).epsilon(5e-3));
  CHECK(flops / 200 / (3.75 * gib) == Approx(25).epsilon(1e-3));  // unlimited B
}

TEST_CASE("Goon (A.1): GPT-3 satisfies the approximation's assumptions on V, K and L", "[seed]") {
  const Arch a = test::gpt3();
  CHECK(a.vocabulary > 4 * a.hidden);
  CHECK(a.position_rows > 20 * a.layers);
  CHECK(a.layers > 8);
}

TEST_CASE("Goon App. B: an all-reduce's load grows with the ranks through a chief, and stays below two around a ring",
          "[seed]") {
  const auto load = [](CollectiveAlgorithm a, Count n) {
    return collective_schedule(CollectiveOp::all_reduce, a, n)->load.value();
  };
  CHECK(load(CollectiveAlgorithm::naive, 100) == 198);
  CHECK(load(CollectiveAlgorithm::ring, 100) == Approx(1.98));
}

TEST_CASE("Goon App. C.1: the printed intensities use decimal units, although the table states TiB", "[seed]") {
  constexpr double tib = 1024 * gib;
  CHECK(ridge_point(312e12, 1.6e12) == Approx(195));
  CHECK(ridge_point(312e12, 1.6 * tib) == Approx(177.4).epsilon(1e-3));
  CHECK(ridge_point(312e12, 1.555e12) == Approx(200.6).epsilon(1e-3));  // A100-40, datasheet
  CHECK(ridge_point(312e12, 2.0e12) == Approx(156));
  CHECK(ridge_point(312e12, 2.0 * tib) == Approx(141.9).epsilon(1e-3));
  CHECK(ridge_point(312e12, 2.039e12) == Approx(153.0).epsilon(1e-3));  // A100-80, datasheet
  CHECK(ridge_point(130e12, 1.1e12) == Approx(118.2).epsilon(1e-3));
  CHECK(ridge_point(130e12, 1.1 * tib) == Approx(107.5).epsilon(1e-3));
  CHECK(ridge_point(130e12, 1.134e12) == Approx(114.6).epsilon(1e-3));  // V100S PCIe, the card of that row
  CHECK(ridge_point(125e12, 0.9e12) == Approx(138.9).epsilon(1e-3));    // V100 SXM2
}

TEST_CASE("Goon (D.1): the printed matmul intensity lacks a factor of 2, and decode is far below the ridge point",
          "[seed]") {
  CHECK(seed_matmul_intensity(1, 2048, 12288, 2) == 1536);
  CHECK(seed_matmul_intensity(1, 1, 8192, 2) == Approx(0.9998).epsilon(1e-4));
  CHECK(seed_matmul_intensity(1, 1'000'000'000, 8192, 2) == Approx(8192 / 2));
}

TEST_CASE("Goon App. D.1: an element-wise operation reads and writes each element, so its intensity is C/2p",
          "[seed]") {
  CHECK(elementwise_intensity(10, 2, 2) == 10 / (2.0 * 2));
  CHECK(roofline_seconds(312e12, 2e12, 312e12, 2e12) == 1);  // times are not additive
}

TEST_CASE("Goon (D.2), (D.3), (D.4): decode intensity is of order B, and attention's saturates at 1 + 2D/S", "[seed]") {
  CHECK(seed_decode_mlp_intensity(1, 8192, 2) == Approx(1).epsilon(1e-3));
  CHECK(seed_decode_mlp_intensity(1'000'000'000, 8192, 2) == Approx(8192 / 2));
  CHECK(seed_decode_attention_intensity(1, 8192, 1, 2) == Approx(1).epsilon(1e-3));
  CHECK(seed_decode_attention_intensity(1'000'000'000, 8192, 2048, 2) == Approx(1 + 2 * 8192.0 / 2048));
}

TEST_CASE(
    "Goon App. D.2: 156 or 195 sequences saturate an A100, depending on its bandwidth, while about 200 are printed",
    "[seed]") {
  CHECK(critical_batch(ridge_point(312e12, 2.0e12), 2) == Approx(156));
  CHECK(critical_batch(ridge_point(312e12, 1.6e12), 2) == Approx(195));
}
