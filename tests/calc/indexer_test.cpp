// Attention to keys chosen by an indexer: parameters, scores, caches, saved tensors and collectives.

#include "calc/block/indexer.hpp"

#include "calc/cost/cost.hpp"
#include "calc/cost/held.hpp"
#include "calc/infer.hpp"
#include "calc/memory.hpp"
#include "calc/parallel/tensor.hpp"
#include "calc/parameters.hpp"
#include "calc/textbook/flops.hpp"
#include "calc/training/gradient_flow.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

const Step training{.sequences = 2, .queries = 8, .training = true};

const Op& op_called(const OpList& ops, std::string_view name) {
  return *std::find_if(ops.begin(), ops.end(), [&](const Op& op) { return op.name == name; });
}

}  // namespace

TEST_CASE("selected query-key pairs match a brute-force count, for tokens and for blocks",
          "[cost][textbook][indexer]") {
  for (Count queries = 1; queries <= 9; ++queries)
    for (Count past = 0; past <= 9; ++past)
      for (Count keys = 1; keys <= 4; ++keys)
        for (const Count block : {0, 1, 3}) {
          CAPTURE(queries, past, keys, block);
          const Selection s{block == 0 ? keys : keys * block, block};
          Count exact = 0;
          for (Count i = past; i < past + queries; ++i) {
            Count seen = 0;  // the first `keys` tokens or blocks represent those with the highest scores
            for (Count j = 0; j <= i; ++j)
              seen += block == 0 ? j < keys : j / block < keys && j / block < i / block ? 1 : j / block == i / block;
            exact += block == 0 ? std::min(i + 1, keys) : seen;
            CHECK(s.seen(i) == (block == 0 ? std::min(i + 1, keys) : seen));
          }
          CHECK(twice_chosen_pairs(queries, past, s, AttentionFlops::causal_exact) == 2 * exact);
          for (const auto& c : choices<AttentionFlops>)
            CHECK(textbook::Fraction(2) *
                      textbook::chosen_pairs<textbook::Fraction>(c.value, queries, past + queries, s.keys, s.block) ==
                  textbook::Fraction(twice_chosen_pairs(queries, past, s, c.value)));
        }
}

// D 64, low rank 24: queries 24 x 2 x 4, key 64 x 4, LayerNorm 2 x 4, weights of the heads 64 x 2.
TEST_CASE("a lightning indexer runs between the query projection and RoPE", "[contract][block][indexer]") {
  const Arch a = even_sparse();
  const OpList ops = first_block(a, training);
  CHECK(names(ops).find("attn.q_up attn.kv_down attn.kv_norm attn.index_q attn.index_k attn.index_k_norm "
                        "attn.index_weights attn.index_rope attn.index_scores attn.kv_up") != std::string::npos);
  CHECK(parameters_of(a, "attn.index") == 2 * (24 * 8 + 64 * 4 + 8 + 64 * 2));  // the third layer has no indexer
  CHECK(shape_of<Attention>(ops, "attn.core").selection == Selection{3, 0});
  CHECK(shape_of<Pointwise>(ops, "attn.index_rope").width == (2 + 1) * 8);
}

TEST_CASE("a block indexer reads the layer's input and normalizes queries and key", "[contract][block][indexer]") {
  const Arch a = even_blocks();
  CHECK(parameters_of(a, "attn.index") == 3 * (64 * 2 * 4 + 64 * 4 + 4 + 4));
  const OpList ops = first_block(a, training);
  CHECK(shape_of<Attention>(ops, "attn.core").selection == Selection{6, 3});
  CHECK(shape_of<IndexScores>(ops, "attn.index_scores").heads == 2);
}

TEST_CASE("a token scores all keys and attends only to the selected ones", "[cost][indexer]") {
  const OpList ops = first_block(even_sparse(), {.sequences = 2, .queries = 1, .past = 99, .absorbed = true});
  const Pricing p{.phase = Phase::decode, .convention = AttentionFlops::causal_exact};
  const Cost scores = forward(op_called(ops, "attn.index_scores"), p), core = forward(op_called(ops, "attn.core"), p);
  CHECK(scores.model == Flops(2 * 2 * 2 * 4 * 100));       // sequences, heads of width 4, keys
  CHECK(scores.moved.cache == 2 * 2 * 4 * 100);            // bytes, sequences
  CHECK(core.model == Flops(2 * 2 * 16 * (40 + 32) * 3));  // heads, latent rows of 32 + 8, chosen keys
  CHECK(core.moved.cache == 2 * 2 * 40 * 3);
  CHECK(result_bytes(op_called(ops, "attn.index_scores").shape, p.activation) == Bytes(4 * 2 * 3));  // indices
}

// 3 layers cache latent rows of 40 elements; 2 of the layers also cache a key of 4.
TEST_CASE("an indexer caches its key, except in a layer that reuses another layer's selection", "[memory][indexer]") {
  const Arch a = even_sparse();
  CHECK(cache_elements_per_token(a) == 3 * 40 + 2 * 4);
  for (const Count ranks : {1, 2, 4}) CHECK(cache_bytes_per_token(a, {}, {.tp = ranks}) == Bytes(2 * (3 * 40 + 2 * 4)));
  CHECK(cache_bytes(a, {}, 1000) == Bytes(1000 * 2 * (3 * 40 + 2 * 4)));
}

TEST_CASE("an indexer's backward covers its weights and the selected scores, but not its input",
          "[cost][freeze][indexer]") {
  const OpList ops = first_block(even_sparse(), training);
  const Pricing p{.convention = AttentionFlops::causal_exact};
  for (const char* name : {"attn.index_q", "attn.index_k", "attn.index_weights"}) {
    const Costs c = costs(op_called(ops, name), p);
    CHECK(c.backward_input.model == Flops());
    CHECK(c.backward_weight.model == c.forward.model);
  }
  const Costs scores = costs(op_called(ops, "attn.index_scores"), p);
  CHECK(scores.forward.model == Flops(2 * 2 * 2 * 4 * 36));                // 8 x 9 / 2 pairs
  CHECK(scores.backward_input.model == Flops(2 * 2 * 2 * 2 * 4 * 21));     // 1 + 2 + 6 x 3
  CHECK(scores.backward_input.executed == Flops(3 * 2 * 2 * 2 * 4 * 21));  // including recomputed scores
  CHECK(result_bytes(op_called(ops, "attn.index_scores").shape, p.activation) == Bytes(4 * 16 * 3));
  CHECK(held(op_called(ops, "attn.index_scores"), p).needs.out);
}

TEST_CASE("every tensor-parallel rank runs the whole indexer, without gradient reduction",
          "[contract][tensor][indexer]") {
  const Arch sparse = even_sparse(), dense = even_latent();
  const auto collectives = [](const Arch& a, const Layout& l) {
    Count forward = 0, backward = 0;
    for (const Op& op : first_block(a, training, l))
      if (const Collective* c = std::get_if<Collective>(&op.shape)) {
        forward += c->forward_on ? c->elements : 0;
        backward += c->backward_on ? c->elements : 0;
      }
    return std::pair(forward, backward);
  };
  for (const Count ranks : {2, 4}) {
    CHECK(shape_of<IndexScores>(first_block(sparse, training, {ranks, false}), "attn.index_scores") ==
          shape_of<IndexScores>(first_block(sparse, training), "attn.index_scores"));
    CHECK(shape_of<Linear>(first_block(sparse, training, {ranks, false}), "attn.index_q").out == 8);
    CHECK(collectives(sparse, {ranks, false}) == collectives(dense, {ranks, false}));
    const auto [forward, backward] = collectives(dense, {ranks, true});
    CHECK(collectives(sparse, {ranks, true}) ==
          std::pair(forward + 16 * 64, backward));  // the input's tokens are gathered
  }
}

TEST_CASE("context parallelism is rejected for attention with an indexer", "[contract][indexer]") {
  CHECK(flaw(even_sparse(), {.cp = 2}) == LayoutFlaw::context_state);
  CHECK(flaw(even_blocks(), {.cp = 2}) == LayoutFlaw::context_state);
  CHECK(flaw(even_latent(), {.cp = 2}) == LayoutFlaw::none);
}

TEST_CASE("decode time accounts for selected keys and index keys at every context length", "[infer][indexer]") {
  const Arch a = even_sparse();
  const Plan p{.batch = 2, .prompt = 100, .generate = 100};
  const Cluster c = device(1e12, 1e9);
  const PassCurve curve(a, p, {}, c, 200);
  for (const Count context : {1, 3, 4, 150, 200}) {
    const PassEstimate step = decode(a, p, {}, c, context);
    CHECK(curve.at(context).flops == step.flops);
    CHECK(curve.at(context).bound.total().value == Approx(step.bound.total().value));
  }
}
