// Bytes saved by a block, derived from data flow, compared with closed forms of activation memory plus the terms that
// these omit.

#include "calc/cost/cost.hpp"
#include "calc/operator/liveness.hpp"
#include "calc/textbook/textbook.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

constexpr Count tokens = 6;  // 2 sequences of 3
const Step training{.sequences = 2, .queries = 3, .training = true};

Pricing priced(AttentionImpl attention) {
  Pricing p;
  p.attention = attention;
  p.cached = false;
  return p;
}

using textbook::Exact;
using textbook::Fraction;

textbook::LayerActivations closed(const Arch& a, const Step& s, const Pricing& p) {
  textbook::LayerActivations l;
  l.batch = s.sequences;
  l.seq = s.queries;
  l.hidden = a.hidden;
  l.heads = a.heads;
  l.kv_heads = a.kv_heads;
  l.head_dim = a.head_dim;
  l.mlp_width = a.mlp_width;
  l.precision = p.activation.format().element_bits / 8;
  l.gated = a.mlp == MlpKind::gated;
  l.layer_norm = a.norm == NormKind::layer_norm;
  l.flash = p.attention == AttentionImpl::flash;
  l.norm_stats = p.norm_stats;
  l.attention_dropout = l.hidden_dropout = p.dropout;
  l.parallel_block = a.block == BlockKind::parallel;
  l.softmax = p.softmax_store;
  l.glu = p.glu_store;
  return l;
}

Bytes saved_by(const Arch& a, const Pricing& p) {
  Step s = training;
  s.dropout = p.dropout;
  s.fused_glu = p.glu_store != GluStore::all;
  return liveness(first_block(a, s), p, tokens * a.hidden).saved;
}

/// Checks that the saved bytes equal the closed form plus `extra` bytes per token, which the caller accounts for.
void keeps(const Arch& a, const Pricing& p, Count extra) {
  const Fraction want = textbook::layer_activations(closed(a, training, p)) + Fraction(tokens * extra);
  REQUIRE(want.whole());
  CHECK(saved_by(a, p) == want.numerator.bytes());
}

/// Calls act for every combination of storage options.
template <typename Act>
void for_each_pricing(const Act& act) {
  for (const DType t : {dtypes::bf16, dtypes::fp32})
    for (const AttentionImpl attention : {AttentionImpl::naive, AttentionImpl::flash})
      for (const SoftmaxStore softmax : {SoftmaxStore::seed, SoftmaxStore::minimal})
        for (const GluStore glu : {GluStore::all, GluStore::fused, GluStore::recompute})
          for (const bool statistics : {false, true})
            for (const bool dropout : {false, true}) {
              Pricing p = priced(attention);
              p.activation = t, p.softmax_store = softmax, p.glu_store = glu, p.norm_stats = statistics,
              p.dropout = dropout;
              act(p, t.format().element_bits / 8, statistics);
            }
}

}  // namespace

TEST_CASE("the bytes saved for backward match the closed form under every storage option", "[textbook][liveness]") {
  for_each_pricing([](const Pricing& p, Count, bool) {
    keeps(prime_gqa(), p, 0);
    keeps(prime_gated(), p, 0);
    Arch parallel = prime_gated();
    parallel.block = BlockKind::parallel;
    parallel.norms_per_layer = 1;
    keeps(parallel, p, 0);
  });
}

TEST_CASE("each norm beyond a plain block's two saves its input and statistics", "[textbook][liveness]") {
  for_each_pricing([](const Pricing& p, Count bytes, bool statistics) {
    Arch a = prime_gated();
    a.norm_placement = NormPlacement::post;  // reads x directly, but the sums are saved: as many tensors as pre-norm
    keeps(a, p, 0);
    a.norm_placement = NormPlacement::output;
    keeps(a, p, 0);
    a.norm_placement = NormPlacement::both;
    a.norms_per_layer = 4;
    keeps(a, p, 2 * (bytes * 13 + (statistics ? 4 : 0)));
    a = prime_gated();
    a.block = BlockKind::parallel;
    a.norms_per_layer = 2;
    keeps(a, p, bytes * 13 + (statistics ? 4 : 0));  // same input, one more output
    a = prime_gated();
    a.qk_norm = QkNorm::per_head;
    keeps(a, p, bytes * (15 + 5) + (statistics ? 4 * (3 + 1) : 0));  // q and k before the norm, one statistic per head
  });
}

TEST_CASE("a mixture of experts saves the bytes of its own closed form instead of the dense MLP's",
          "[textbook][liveness]") {
  for_each_pricing([](const Pricing& p, Count bytes, bool) {
    Arch a = prime_moe();
    const auto glu = closed(a, training, p).glu;
    const Count tensors = p.glu_store == GluStore::all ? 4 : p.glu_store == GluStore::fused ? 3 : 2;
    const Fraction moe = textbook::moe_activations({2, 3, 13, 7, 2, 11, 3, 2, bytes, true, glu});
    // The shared experts' gate saves the 13 values that it scales, and its own value.
    const Count dense = tensors * bytes * 17, gate = bytes * (13 + 1);
    const Fraction want = textbook::layer_activations(closed(a, training, p)) + moe + Fraction(tokens * (gate - dense));
    REQUIRE(want.whole());
    CHECK(saved_by(a, p) == want.numerator.bytes());
  });
}

TEST_CASE("latent attention saves low-rank rows and expanded heads", "[cost][liveness]") {
  // x 13, n 13; q: 11 before and after its norm, 3 heads of width 7; kv: 7 + 2 before its norm, 7 after, 3 heads of
  // width 5 + 3; o 9; y 13, m 13; 4 tensors of 17.
  const Count numbers = 13 + 13 + 11 + 11 + 21 + 9 + 7 + 24 + 9 + 13 + 13 + 4 * 17;
  const Count float32 = 3 + 4;  // log-sum-exps; four RMSNorms
  CHECK(saved_by(prime_latent(), priced(AttentionImpl::flash)) == Bytes(tokens * (2 * numbers + 4 * float32)));
}
