// Compressed attention and residual streams: parameters, scores, caches, saved tensors, and sharding.

#include "calc/block/compressed.hpp"

#include "calc/cost/cost.hpp"
#include "calc/cost/held.hpp"
#include "calc/infer.hpp"
#include "calc/memory.hpp"
#include "calc/parameters.hpp"
#include "calc/textbook/flops.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// The block of layer i; each layer is a separate kind.
OpList layer(const Arch& a, std::size_t i, const Step& s, const Layout& l = {}) {
  return cut(block_ops(a, layer_kinds(a)[i], s), l);
}
const Step training{.sequences = 2, .queries = 8, .training = true};

}  // namespace

TEST_CASE("query-key pairs with pooled keys match a brute-force count", "[cost][textbook][compressed]") {
  using textbook::Fraction;
  for (Count queries = 1; queries <= 9; ++queries)
    for (Count past = 0; past <= 9; ++past)
      for (const Count ratio : {1, 2, 5})
        for (const Count most : {0, 1, 3}) {
          CAPTURE(queries, past, ratio, most);
          const Attention core{.pooled = ratio};
          Count exact = 0;
          for (Count i = past; i < past + queries; ++i) {
            Count seen = 0;  // groups that end before or at the token
            for (Count g = 0; g < past + queries; ++g) seen += (g + 1) * ratio <= i + 1 ? 1 : 0;
            CHECK(core.pooled_seen(i) == seen);
            exact += most == 0 ? seen : std::min(seen, most);
          }
          const Pairs pairs{AttentionFlops::causal_exact, {}, {most}, ratio, true};
          CHECK(twice_pairs(queries, past, pairs) == 2 * exact);
          for (const auto& c : choices<AttentionFlops>)
            CHECK(Fraction(2) * textbook::pooled_pairs<Fraction>(c.value, queries, past + queries, ratio, most) ==
                  Fraction(twice_pairs(queries, past, {c.value, {}, {most}, ratio, true})));
        }
}

// D 64: low rank 24, 16 heads of width 8, keys of width 8; outputs of 4 groups of width 32 through rank 10; pools of 2
// x 64 x o + ratio x o + 8.
TEST_CASE("compressed attention has one key head, pooled keys and a low-rank output projection", "[parameters]") {
  const Arch a = even_compressed();
  const Count each = 64 * 24 + 24 + 24 * 128 + 64 * 8 + 8 + 4 * 32 * 10 + 4 * 10 * 64;
  const Count chosen = 2 * 64 * 16 + 2 * 16 + 8, pooled = 2 * 64 * 8 + 4 * 8 + 8;
  const Count index = 24 * 2 * 4 + 64 * 2 + 2 * 64 * 8 + 2 * 8 + 4;
  CHECK(parameters(a).attention == 3 * each + chosen + pooled + index);
  CHECK(parameters_of(a, "attn.pool") == chosen + pooled);
  CHECK(parameters_of(a, "attn.index") == index);
}

// 2 streams of 64. Each half has a 128 x 8 matrix, a bias of 8 and 3 scales; 128 x 2 + 2 + 1 precede the head.
TEST_CASE("residual streams are mixed before and after each sub-layer and summed before the head",
          "[parameters][block]") {
  const Arch a = even_compressed();
  const Parameters p = parameters(a);
  CHECK(p.norm == 3 * 2 * 64 + 64 + 3 * 2 * (128 * 8 + 8 + 3));
  CHECK(p.lm_head == 512 * 64 + 128 * 2 + 2 + 1);
  const OpList ops = layer(a, 0, training);
  CHECK(names(ops).starts_with("attn.stream_weights attn.gather attn.norm attn.q_down"));
  CHECK(names(ops).find("attn.out attn.spread mlp.stream_weights mlp.gather mlp.norm") != std::string::npos);
  CHECK(out_elements(ops[ops.size() - 1].shape) == 16 * 128);
  CHECK(out_elements(shape_of<Pointwise>(embedding_ops(a, training), "embedding.repeat")) == 16 * 128);
}

// In each layer a window of 5 rows of width 8; then pooled rows of width 8 and index keys of width 4 every 2 tokens, or
// pooled rows of width 8 every 4 tokens.
TEST_CASE("pooled keys are cached per group, and window keys only up to the window length", "[memory][compressed]") {
  const Arch a = even_compressed();
  for (const Count context : {5, 8, 103})
    CHECK(cache_bytes(a, {}, context) == Bytes(2 * (3 * 5 * 8 + context / 2 * (8 + 4) + context / 4 * 8)));
  CHECK(cache_bytes(a, {}, 3) == Bytes(2 * (3 * 3 * 8 + 8 + 4)));
  CHECK(cache_bytes_per_token(a, {}) == Bytes(2 * (3 * 8) + 2 * (8 + 4) / 2 + 2 * 8 / 4));
  CHECK(cache_elements_per_token(a) == 3 * 8 + (8 + 4) / 2 + 8 / 4);
}

// Keys and gates of 16 values each for 4 tokens of two overlapping groups, or of 8 each for 4 tokens of one.
TEST_CASE("buffered inputs of the next pooled key use memory in addition to the cache", "[memory][compressed]") {
  const Pricing p{.phase = Phase::decode, .cached = true};
  const CacheRow overlapping = cache_row(Pool{1, 1, 8, 16, 2}, p), alone = cache_row(Pool{1, 1, 8, 8, 4}, p);
  CHECK(overlapping.open == Bytes(2 * 2 * 16 * 4));
  CHECK(alone.open == Bytes(2 * 2 * 8 * 4));
  CHECK(overlapping.of(7) == Bytes(3 * 2 * 8));
  CHECK(alone.of(7) == Bytes(2 * 8));
}

TEST_CASE("a token reads its window and either the selected or all pooled keys", "[cost][compressed]") {
  const Arch a = even_compressed();
  const Step token{.sequences = 1, .queries = 1, .past = 99};
  const Pricing p{.phase = Phase::decode, .convention = AttentionFlops::causal_exact};
  const Count rows[] = {5, 5 + 3, 5 + 100 / 4};
  for (std::size_t i = 0; i < 3; ++i) {
    const Cost c = forward(shape_of<Attention>(layer(a, i, token), "attn.core"), p);
    CHECK(c.model == Flops(2 * 16 * (8 + 8) * rows[i]));
    CHECK(c.moved.cache == static_cast<double>(2 * 8 * rows[i]));
  }
  const Cost scores = forward(shape_of<IndexScores>(layer(a, 1, token), "attn.index_scores"), p);
  CHECK(scores.model == Flops(2 * 2 * 4 * 50));
  CHECK(scores.moved.cache == 2 * 4 * 50);
}

TEST_CASE("tensor-parallel ranks shard heads and output groups, and replicate keys", "[contract][tensor][compressed]") {
  const Arch a = even_compressed();
  const OpList ops = layer(a, 1, training, {2, false});
  CHECK(shape_of<Attention>(ops, "attn.core").heads == 8);
  CHECK(shape_of<Linear>(ops, "attn.out_low").groups == 2);
  CHECK(shape_of<Linear>(ops, "attn.out").in == 20);
  CHECK(shape_of<Linear>(ops, "attn.kv").out == 8);
  CHECK(shape_of<Pool>(ops, "attn.pool") == shape_of<Pool>(layer(a, 1, training), "attn.pool"));
  CHECK(flaw(a, {.tp = 8}) == LayoutFlaw::heads);  // 4 groups
  CHECK(flaw(a, {.cp = 2}) == LayoutFlaw::context_state);
}

TEST_CASE("decode time accounts for pooled keys at every context length", "[infer][compressed]") {
  const Arch a = even_compressed();
  const Plan p{.batch = 2, .prompt = 100, .generate = 100};
  const Cluster c = device(1e12, 1e9);
  const PassCurve curve(a, p, {}, c, 200);
  for (const Count context : {1, 3, 4, 150, 200}) CHECK(curve.at(context).flops == decode(a, p, {}, c, context).flops);
}
