// Korthikanti et al. 2022 (arXiv:2205.05198): memory by technique for the models of Table 3.

#include "calc/textbook/activations.hpp"
#include "calc/train.hpp"
#include "tests/calc/textbook_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using textbook::Fraction;

namespace {

struct Published {
  const char* name;
  Count heads, hidden, layers, tp, pp, chunks, micro_batch;
};
// 22B, 175B (GPT-3), 530B (MT-NLG), 1T: Table 3.
constexpr std::array models{Published{"22B", 64, 6144, 48, 8, 1, 1, 4}, Published{"175B", 96, 12288, 96, 8, 8, 3, 1},
                            Published{"530B", 128, 20480, 105, 8, 35, 3, 1},
                            Published{"1T", 160, 25600, 128, 8, 64, 1, 1}};
constexpr Count seq = 2048, vocabulary = 51200;

textbook::KorthikantiLayer layer_of(const Published& m, bool sp) {
  return {.seq = seq,
          .batch = m.micro_batch,
          .hidden = m.hidden,
          .heads = m.heads,
          .tensor_parallel = m.tp,
          .sequence_parallel = sp};
}

/// Bytes that the engine saves for one layer on a rank.
Bytes saved(const Published& m, bool sp, Recompute r) {
  Arch a = test::gpt3();
  a.layers = m.layers;
  a.hidden = a.embedding_width = m.hidden;
  a.heads = a.kv_heads = m.heads;
  a.head_dim = m.hidden / m.heads;
  a.mlp_width = 4 * m.hidden;
  a.vocabulary = vocabulary;
  Plan p;
  p.seq = seq;
  p.micro_batch = p.global_batch = m.micro_batch;
  p.attention = AttentionImpl::naive;
  p.softmax_store = SoftmaxStore::seed;
  p.norm_stats = false;
  p.dropout = true;
  p.recompute = r;
  const Prices prices = price(a, p, {.tp = m.tp, .sp = sp}, {});
  const ModelChunk one{.first = 0, .end = 1, .embedding = false, .head = false};
  return saved_bytes(prices, p, one);
}

double share(const Published& m, bool sp, Recompute r) {
  return static_cast<double>(saved(m, sp, r).value) / static_cast<double>(saved(m, false, Recompute::none).value);
}

/// 18 bytes of weights, gradients and optimizer states per parameter of the rank, plus the first stage's activations.
double gigabytes(const Published& m, bool sp, Recompute r) {
  const Count parameters = 12 * m.layers * m.hidden * m.hidden + vocabulary * m.hidden;
  const double states = 18.0 * static_cast<double>(parameters / (m.tp * m.pp));
  const Fraction activations = textbook::korthikanti_first_stage(layer_of(m, sp), m.layers, m.pp, m.chunks, r);
  return (states + activations.value()) / 1e9;
}

}  // namespace

// Figure 7: bytes of activations relative to tensor parallelism only.
TEST_CASE("a layer of each published model saves the bytes that Korthikanti reports for each technique", "[memory]") {
  for (const Published& m : models) {
    INFO(m.name);
    for (const bool sp : {false, true})
      for (const Recompute r : {Recompute::none, Recompute::selective, Recompute::full})
        CHECK(saved(m, sp, r) == textbook::korthikanti_layer(layer_of(m, sp), r).bytes());
    CHECK(share(m, true, Recompute::none) < 0.7);
    CHECK(share(m, false, Recompute::selective) < 0.65);
    CHECK(share(m, true, Recompute::selective) < 0.205);  // a fifth
    CHECK(share(m, true, Recompute::selective) > 0.15);
    CHECK(share(m, false, Recompute::full) < 0.1);
  }
}

// Figure 1: states and activations of a rank compared with the 80 GB of an A100.
TEST_CASE("published models fit an A100 with sequence parallelism and selective recomputation, but not without",
          "[memory]") {
  for (const Published& m : models) {
    INFO(m.name);
    CHECK(gigabytes(m, false, Recompute::none) > 80);
    CHECK(gigabytes(m, true, Recompute::selective) < 80);
  }
}
