// Parameters of every variant, counted by hand for small prime sizes.

#include "calc/parameters.hpp"

#include "calc/cost/cost.hpp"
#include "calc/textbook/textbook.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

TEST_CASE("a block's parameters are its matrices, biases and norms", "[cost][parameters]") {
  // D 13, 3 heads of width 5 over 1 KV head, F 17, V 19
  Arch a = prime_gqa();
  Parameters p = parameters(a);
  CHECK(p.embedding == 19 * 13);
  CHECK(p.lm_head == 19 * 13);
  CHECK(p.attention == 2 * 13 * 15 + 2 * 13 * 5);
  CHECK(p.mlp == 2 * 13 * 17);
  CHECK(p.norm == 3 * 2 * 13);
  CHECK(p.position == 0);
  CHECK(p.total == p.embedding + p.attention + p.mlp + p.norm + p.lm_head);
  CHECK(p.active == p.total);
  CHECK(p.non_embedding == p.attention + p.mlp + p.norm);
  CHECK(p.matmul == p.attention + p.mlp + p.lm_head);
  a.qkv_bias = a.attention_out_bias = a.mlp_bias = a.head_bias = true;
  p = parameters(a);
  CHECK(p.attention == 2 * 13 * 15 + 2 * 13 * 5 + (15 + 5 + 5) + 13);
  CHECK(p.mlp == 2 * 13 * 17 + 17 + 13);
  CHECK(p.lm_head == 19 * 13 + 19);
  CHECK(p.matmul == parameters(prime_gqa()).matmul);
}

TEST_CASE("norm parameters depend on the kind and placement of the norms", "[cost][parameters]") {
  Arch a = prime_gated();
  const auto norms = [&](NormKind k) {
    a.norm = k;
    return parameters(a).norm;
  };
  CHECK(norms(NormKind::layer_norm) == 3 * 26);
  CHECK(norms(NormKind::layer_norm_no_bias) == 3 * 13);
  CHECK(norms(NormKind::rms_norm) == 3 * 13);
  CHECK(norms(NormKind::weight_free) == 0);
  a.norm = NormKind::rms_norm;
  a.norm_placement = NormPlacement::both;
  a.norms_per_layer = 4;
  CHECK(parameters(a).norm == 5 * 13);
  a.norm_placement = NormPlacement::pre;
  a.block = BlockKind::parallel;
  a.norms_per_layer = 1;
  CHECK(parameters(a).norm == 2 * 13);
  a.norms_per_layer = 2;
  a.final_norm = false;
  a.embedding_norm = true;
  CHECK(parameters(a).norm == 3 * 13);
}

TEST_CASE("qk-norms and sinks count as attention parameters", "[cost][parameters]") {
  const Count bare = parameters(prime_gated()).attention;
  const auto more = [&](QkNorm q) {
    Arch a = prime_gated();
    a.qk_norm = q;
    return parameters(a).attention - bare;
  };
  CHECK(more(QkNorm::weight_free) == 0);
  CHECK(more(QkNorm::per_head) == 2 * 5);
  CHECK(more(QkNorm::per_head_bias) == 4 * 5);
  CHECK(more(QkNorm::full) == (3 + 1) * 5);
  CHECK(more(QkNorm::full_bias) == 2 * (3 + 1) * 5);
  Arch a = prime_gated();
  a.attention_sinks = true;
  CHECK(parameters(a).attention - bare == 3);
}

TEST_CASE("latent attention counts its projections and their norms", "[cost][parameters]") {
  Arch a = prime_latent();
  const Count kv = 13 * (7 + 2) + 7 + 7 * 3 * (5 + 3), out = 3 * 3 * 13;
  CHECK(parameters(a).attention == 13 * 11 + 11 + 11 * 3 * 7 + kv + out);
  CHECK(cache_elements_per_token(a) == 7 + 2);
  a.latent.q_rank = 0;
  CHECK(parameters(a).attention == 13 * 3 * 7 + kv + out);
}

TEST_CASE("a mixture of experts counts router, experts and shared experts, but no correction bias",
          "[cost][parameters]") {
  Arch a = prime_moe();
  const Count expert = 3 * 13 * 11, shared = 3 * 13 * 6 + 13, router = 13 * 7;
  CHECK(parameters(a).mlp == router + 7 * expert + shared);
  CHECK(parameters(a).total - parameters(a).active == 5 * expert);
  CHECK(parameters(a).matmul - parameters(a).matmul_active == 5 * expert);
  a.moe.router_correction = true;
  CHECK(parameters(a) == parameters(prime_moe()));
  a.moe.router_bias = a.moe.expert_bias = true;
  CHECK(parameters(a).mlp == router + 7 + 7 * (expert + 11 + 11 + 13) + shared);
  CHECK(parameters(a).total - parameters(a).active == 5 * (expert + 11 + 11 + 13));
}

TEST_CASE("linear attention counts five matrices and a norm", "[cost][parameters]") {
  Arch a = prime_gated();
  a.linear_layers = LayerSet::all(1);
  CHECK(parameters(a).attention == 5 * 13 * 15 + 15);
  CHECK(cache_elements_per_token(a) == 0);
}

TEST_CASE("a narrow embedding table adds two projections, and a tied table is also the head", "[cost][parameters]") {
  Arch a = prime_gqa();
  a.embedding_width = 7;
  a.position = Position::learned;
  a.position_rows = 23;
  Parameters p = parameters(a);
  CHECK(p.embedding == 19 * 7 + 2 * 7 * 13);
  CHECK(p.position == 23 * 13);
  CHECK(p.lm_head == 19 * 7);
  a.tied_head = true;
  CHECK(parameters(a).lm_head == 0);
  CHECK(parameters(a).total == p.total - 19 * 7);
  CHECK(parameters(a).matmul == p.matmul);
}

TEST_CASE("learned activations count as MLP parameters", "[cost][parameters]") {
  Arch a = prime_gqa();
  a.activation = Activation::xielu;
  CHECK(parameters(a).mlp == 2 * 13 * 17 + 2);
}

TEST_CASE("published closed-form parameter counts match the operators", "[textbook][parameters]") {
  CHECK(parameters(gpt3_175b()).total == textbook::gpt2_parameters(96, 12288, 49152, 50257, 2048));
  CHECK(parameters(gpt3_175b()).total == 174604259328);
  CHECK(parameters(llama2_7b()).total == textbook::llama_parameters(32, 4096, 32, 32, 128, 11008, 32000, false));
  CHECK(parameters(llama31_70b()).total == 70553706496);
}

TEST_CASE("Adafactor factors each matrix separately", "[cost][parameters]") {
  // q 13+15, k and v 13+5, out 15+13, up 13+17, down 17+13, table and head 19+13, three norms of 26
  CHECK(parameters(prime_gqa()).factored == 28 + 2 * 18 + 28 + 30 + 30 + 2 * 32 + 3 * 26);
}
