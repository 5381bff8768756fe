#include "calc/textbook/activations.hpp"

#include "calc/textbook/seeds.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::textbook;

namespace {

/// The block of the seed and of Korthikanti: MHA, plain MLP of 4D, dropout everywhere.
LayerActivations seed_layer(Count batch, Count seq, Count hidden, Count heads, Count precision) {
  return {.batch = batch,
          .seq = seq,
          .hidden = hidden,
          .heads = heads,
          .kv_heads = heads,
          .head_dim = hidden / heads,
          .mlp_width = 4 * hidden,
          .precision = precision,
          .attention_dropout = true,
          .hidden_dropout = true,
          .softmax = SoftmaxStore::seed};
}

constexpr Count b = 3, s = 16, d = 24, a = 4;

}  // namespace

TEST_CASE("with dropout, a layer saves the bytes of Goon's formula under both softmax storage options", "[textbook]") {
  const Count p = GENERATE(2, 4);
  LayerActivations l = seed_layer(b, s, d, a, p);
  const SeedActivations seed{
      .batch = b, .seq = s, .layers = 1, .hidden = d, .heads = a, .expansion = 4, .precision = p};
  CHECK(layer_activations(l) == seed_activations(seed));
  l.softmax = SoftmaxStore::minimal;
  CHECK(layer_activations(l) == seed_activations(seed));
}

TEST_CASE("without dropout, Goon's formula counts the scores twice although one copy suffices", "[textbook]") {
  LayerActivations l = seed_layer(b, s, d, a, 2);
  l.attention_dropout = false;
  const Fraction twice = layer_activations(l);
  l.softmax = SoftmaxStore::minimal;
  CHECK(layer_activations(l) + Fraction(2 * a * s * b * s) == twice);
}

TEST_CASE("Korthikanti's table equals Goon's formula for a tensor-parallel block at two bytes per value",
          "[textbook]") {
  const Count t = GENERATE(1, 2, 4);
  const bool sp = GENERATE(false, true);
  LayerActivations l = seed_layer(b, s, d, a, 2);
  l.tensor_parallel = t;
  l.sequence_parallel = sp;
  const KorthikantiLayer k{
      .seq = s, .batch = b, .hidden = d, .heads = a, .tensor_parallel = t, .sequence_parallel = sp};
  const SeedActivations seed{b, s, 1, d, a, 4, 2, t, sp};
  CHECK(layer_activations(l) == korthikanti_layer(k));
  CHECK(seed_activations(seed) == korthikanti_layer(k));
  l.stored = Recompute::selective;
  CHECK(layer_activations(l) == korthikanti_layer(k, Recompute::selective));
  l.stored = Recompute::full;
  CHECK(layer_activations(l) == korthikanti_layer(k, Recompute::full));
}

TEST_CASE("Korthikanti's table gives 34 + 5as/h, 10 + 24/t, 34/t and 2", "[textbook]") {
  const Count sbh = s * b * d;
  KorthikantiLayer k{.seq = s, .batch = b, .hidden = d, .heads = a};
  CHECK(korthikanti_layer(k) == Fraction(34 * sbh + 5 * a * s * s * b));
  k.tensor_parallel = 4;
  CHECK(korthikanti_layer(k) == Fraction(10 * sbh + 6 * sbh + 5 * a * s * s * b / 4));
  CHECK(korthikanti_layer(k, Recompute::selective) == Fraction(16 * sbh));
  k.sequence_parallel = true;
  CHECK(korthikanti_layer(k, Recompute::selective) == Fraction(Exact(34 * sbh), 4));
  CHECK(korthikanti_layer(k, Recompute::full) == Fraction(2 * sbh / 4));
}

TEST_CASE("a Llama layer with flash attention saves the bytes counted by hand", "[textbook]") {
  // per token, p = 2: norms in and out 4 x 2 x 24; q and output 2 x 2 x 4 x 6; k and v of 2 groups 2 x 2 x 2 x 6;
  // log-sum-exp 4 x 4; gate, act, up, product 4 x 2 x 50; RMSNorm statistics 2 x 4
  const LayerActivations l{.batch = 1,
                           .seq = 10,
                           .hidden = 24,
                           .heads = 4,
                           .kv_heads = 2,
                           .head_dim = 6,
                           .mlp_width = 50,
                           .precision = 2,
                           .gated = true,
                           .layer_norm = false,
                           .flash = true,
                           .norm_stats = true};
  CHECK(layer_activations(l) == Fraction(10 * (192 + 96 + 48 + 16 + 400 + 8)));
}

TEST_CASE("a gated MLP saves four, three or two tensors of its width, and a parallel block one norm fewer",
          "[textbook]") {
  LayerActivations l = seed_layer(1, 1, d, a, 2);
  l.gated = true;
  const Fraction four = layer_activations(l);
  l.glu = GluStore::fused;
  CHECK(layer_activations(l) + Fraction(2 * 96) == four);
  l.glu = GluStore::recompute;
  CHECK(layer_activations(l) + Fraction(2 * 2 * 96) == four);
  l.parallel_block = true;
  CHECK(layer_activations(l) + Fraction(2 * 2 * 96 + 2 * 2 * d) == four);
}

TEST_CASE("KV heads are replicated if ranks outnumber them, and context parallelism shards the sequence",
          "[textbook]") {
  LayerActivations l = seed_layer(1, 8, d, a, 2);
  l.kv_heads = 1;
  l.flash = true;
  l.tensor_parallel = 4;
  const Fraction per_token = Fraction(4 * 2 * d + 2 * d) + Fraction(2 * 6 * 4 + 4 + 2 * 2 * 24);
  CHECK(layer_activations(l) == Fraction(8) * per_token);
  l.context_parallel = 2;
  CHECK(layer_activations(l) == Fraction(4) * per_token);
}

TEST_CASE("the first pipeline stage saves as much as all layers, and more with interleaving", "[textbook]") {
  const KorthikantiLayer k{.seq = s, .batch = b, .hidden = d, .heads = a};
  CHECK(korthikanti_first_stage(k, 96, 8, 1) == Fraction(96) * korthikanti_layer(k));
  CHECK(korthikanti_first_stage(k, 96, 8, 3) == Fraction(96 + 28) * korthikanti_layer(k));  // 96 x 7/24
}

TEST_CASE("the head's rank saves norm input, head input and float32 logits", "[textbook]") {
  const KorthikantiLayer k{.seq = s, .batch = b, .hidden = d, .heads = a, .tensor_parallel = 2};
  CHECK(korthikanti_extras(k, 100, 4) == Fraction(s * b * d * 4 / 2));
  // one rank: a mask of one byte, two inputs of two, logits of four
  CHECK(korthikanti_extras(k, 100, 1) == Fraction((s * b * d + 2 * 2 * s * b * d + 4 * s * b * 100) / 2));
  CHECK(logits_activations(b, s, 100, 4, 2, 3) == Fraction(Exact(4 * b * s * 100), 6));
  CHECK(logits_activations(b, s, 100, 2) == Fraction(2 * b * s * 100));
}

TEST_CASE("an MoE layer saves its dispatched token copies, and more with a capacity factor", "[textbook]") {
  MoeActivations m{.batch = 1,
                   .seq = 2,
                   .hidden = 10,
                   .experts = 8,
                   .top_k = 2,
                   .width = 7,
                   .shared_experts = 1,
                   .shared_width = 3,
                   .precision = 2};
  const Count copies = 2 * (2 * 10 * 2 + 4 * 2 * 7);
  CHECK(moe_activations(m) == Fraction(2 * (8 * 8 + copies + 4 * 2 + 4 * 2 * 3)));
  m.capacity = {Exact(3), 2};
  CHECK(moe_activations(m) == Fraction(2 * (8 * 8 + copies * 3 / 2 + 4 * 2 + 4 * 2 * 3)));
}
