// Decode context parallelism: cached tokens sharded over tensor-parallel ranks with the same KV heads.

#include "calc/memory.hpp"
#include "calc/price.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

constexpr Count context = 1000;

Plan batch_of(Count sequences) {
  Plan p;
  p.batch = sequences;
  p.prompt = context;
  return p;
}

/// Bytes of one operation over the ranks that share the cached tokens, in one layer.
Bytes sent(const LayerPrice& layer, CollectiveOp op) {
  Bytes all;
  for (const CollectiveCall& c : layer.forward.collectives)
    if (c.group == Group::cached && c.op == op) all += c.bytes;
  return all;
}

/// Checks a decode step of a layer with and without sharded tokens.
void check_decode(const Arch& arch, const Layout& whole, Count token_ranks) {
  const Plan plan = batch_of(3);
  Layout sharded = whole;
  sharded.dcp = token_ranks;
  CHECK(flaw(arch, sharded) == LayoutFlaw::none);
  CHECK(devices(sharded) == devices(whole));
  const Prices a = price_decode(arch, plan, whole, {}, context), b = price_decode(arch, plan, sharded, {}, context);
  const LayerPrice &before = a.layer(0), &after = b.layer(0);
  CHECK(after.cache.per_token.value * token_ranks == before.cache.per_token.value);
  CHECK(after.forward.cost.moved.cache * static_cast<double>(token_ranks) == before.forward.cost.moved.cache);
  CHECK(after.forward.cost.model == before.forward.cost.model);
  CHECK(after.forward.cost.executed == before.forward.cost.executed);
  CHECK(after.weights == before.weights);
  CHECK(after.whole.forward.total() == before.whole.forward.total());
}

}  // namespace

TEST_CASE("decode context parallelism divides the cache and its traffic, and leaves FLOPs and weights unchanged",
          "[infer]") {
  check_decode(even(), {.tp = 16}, 2);
  check_decode(even_latent(), {.tp = 8}, 8);
  check_decode(even_latent(), {.tp = 8}, 2);
}

TEST_CASE("ranks that share cached tokens gather queries and log-sum-exps and reduce-scatter outputs", "[infer]") {
  // Per rank: 3 sequences, 1 of 16 heads of width 8. Full tensors: 3 x 2 heads x 8 elements of 2 bytes; 4 bytes for
  // each of 2 x 3 x 2 log-sum-exps.
  const Prices p = price_decode(even(), batch_of(3), {.tp = 16, .dcp = 2}, {}, context);
  CHECK(sent(p.layer(0), CollectiveOp::all_gather) == Bytes(96 + 48));
  CHECK(sent(p.layer(0), CollectiveOp::reduce_scatter) == Bytes(96));
  const Prices prompt = price_prefill(even(), batch_of(3), {.tp = 16, .dcp = 2}, {}, context);
  CHECK(sent(prompt.layer(0), CollectiveOp::all_gather) == Bytes());
  CHECK(prompt.layer(0).cache.per_token == Bytes(16));
}

TEST_CASE("only ranks with the same KV heads of full attention share cached tokens", "[infer]") {
  CHECK(flaw(even(), {.tp = 8, .dcp = 2}) == LayoutFlaw::cached_ranks);
  CHECK(flaw(even(), {.tp = 16, .dcp = 4}) == LayoutFlaw::cached_ranks);
  CHECK(flaw(even_latent(), {.tp = 8, .dcp = 3}) == LayoutFlaw::cached_ranks);
  CHECK(flaw(even_sparse(), {.tp = 8, .dcp = 2}) == LayoutFlaw::cached_layers);
  CHECK(flaw(even_compressed(), {.tp = 1, .dcp = 2}) == LayoutFlaw::cached_layers);
  Arch windowed = even();
  windowed.local = {.reach = {.tokens = 8}, .layers = LayerSet::every(0, 2, 3)};
  CHECK(flaw(windowed, {.tp = 16, .dcp = 2}) == LayoutFlaw::cached_layers);
}
