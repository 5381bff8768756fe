// Layers that read more than their input: keys and values of another layer, an input of their own (Gemma 3n, Gemma 4).

#include <algorithm>

#include "calc/arch/handed_on.hpp"
#include "calc/layout.hpp"
#include "calc/memory.hpp"
#include "calc/operator/liveness.hpp"
#include "calc/parameters.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// One layer of D 13 with an input of width 7 from a table of 23 rows, and a factor.
Arch with_input() {
  Arch a = prime_gated();
  a.per_layer = {.rows = 23, .width = 7};
  a.output_scale = true;
  return a;
}

/// Two layers of 16 heads of 8 over 8 KV heads; the second reads keys and values of the first.
Arch sharing() {
  Arch a = even();
  a.layers = 2;
  LayerMixer second;
  static_cast<Mixer&>(second) = a;
  second.shared_kv = true;
  second.layers.insert(1);
  a.mixers.push(second);
  return a;
}

constexpr Step training{.sequences = 1, .queries = 3, .training = true};
Pricing training_price() { return pricing({.seq = 3, .micro_batch = 1, .global_batch = 1}, Phase::training); }

const LayerKind& second_kind(const LayerKinds& kinds) { return kinds[1]; }

}  // namespace

TEST_CASE("an input per layer adds a table, a projection and a norm once, two matrices and a norm per layer",
          "[engine][per_layer]") {
  const Count once = 23 * 7 + 13 * 7 + 7, layer = 2 * 13 * 7 + 13, factor = 1;
  CHECK(parameters(with_input()).total == parameters(prime_gated()).total + once + layer + factor);
}

TEST_CASE("inputs of layers are kept once, by the embedding, and are alive beside every block", "[engine][per_layer]") {
  const Liveness l = liveness(embedding_ops(with_input(), training), training_price(), 0);
  CHECK(l.carried == Bytes(2 * 3 * 7));
  CHECK(l.output == Bytes(2 * 3 * 13));
  CHECK(l.kept == Bytes(8 * 3 + 2 * 3 * 2 * 7 + 4 * 3));  // ids, the projection, the sum, a statistic per token
  const Prices p = price_prefill(with_input(), {.batch = 1}, {}, {}, 64);
  CHECK(pass_workspace(p) == p.layer(0).alive.forward + Bytes(2 * 64 * 7));
}

TEST_CASE("layers that share keys and values project, cache and keep none", "[engine][per_layer]") {
  const Arch a = sharing();
  const LayerKinds kinds = layer_kinds(a);
  REQUIRE(kinds.size() == 2);
  CHECK(parameters(a).attention == 2 * (2 * 64 * 128) + 2 * 64 * 64);
  CHECK(cache_elements_per_token(a) == 2 * 8 * 8);
  CHECK(cache_bytes(a, {}, 100) == Bytes(100 * 2 * 8 * 8 * 2));
  const OpList own = block_ops(a, *kinds.begin(), training), shared = block_ops(a, second_kind(kinds), training);
  const Pricing p = training_price();
  CHECK(liveness(own, p, 3 * 64).kept - liveness(shared, p, 3 * 64).kept == Bytes(2 * 3 * 8 * 8 * 2));
}

TEST_CASE(
    "gradients of keys and values that a layer hands on are there before its backward begins, and its worst "
    "moments say so",
    "[engine][per_layer]") {
  Arch a = sharing();
  a.mlp_width = 1;  // so that the worst moment is the core's
  const LayerKinds kinds = layer_kinds(a);
  const OpList ops = block_ops(a, kinds[0], training);
  const Liveness l = liveness(ops, training_price(), 3 * 64);
  CHECK(l.awaited == Bytes(2 * 3 * 8 * 8 * 2));
  const WorstMoments w = worst_moments(ops, training_price(), 3 * 64);
  CHECK(w.forward.total() == l.forward);
  CHECK(w.backward.total() == l.backward);
  LayerKind alone = kinds[0];
  alone.hands_on_kv = false;
  CHECK(liveness(block_ops(a, alone, training), training_price(), 3 * 64).awaited == Bytes());
}

TEST_CASE("what a layer hands on is alive until its last reader has run", "[engine][per_layer]") {
  Arch a = sharing();
  a.layers = 4;  // layers 2 and 3 have keys and values of their own, which nothing reads
  const std::vector<HandedOn> all = handed_on(layer_kinds(a));
  REQUIRE(all.size() == 1);
  CHECK(all[0].source == 0);
  CHECK((all[0].first_reader == 1 && all[0].last_reader == 1));
  CHECK((!all[0].passes(0) && all[0].passes(1) && !all[0].passes(2)));
  CHECK(kv_source(layer_kinds(a), 1) == 0);
  CHECK(kv_source(layer_kinds(a), 2) == -1);
}

TEST_CASE("a prompt holds what layers hand on, and a decoding step reads the cache", "[engine][per_layer]") {
  const Arch a = sharing();
  const Prices prompt = price_prefill(a, {.batch = 1}, {}, {}, 64);
  const Prices step = price_decode(a, {.batch = 1}, {}, {}, 64);
  CHECK(pass_workspace(prompt) >= prompt.layer(1).alive.forward + Bytes(2 * 64 * 8 * 8 * 2));
  CHECK(step.layer(0).alive.carried == Bytes());
}

TEST_CASE("ranks share the heads of keys and values of another layer without an exchange", "[engine][per_layer]") {
  const Arch a = sharing();
  const LayerKinds kinds = layer_kinds(a);
  CHECK(names(cut(block_ops(a, second_kind(kinds), training), {.tp = 2})) ==
        "attn.norm +attn.q attn.q attn.rope attn.core attn.out +attn.out attn.add mlp.norm +mlp.gate mlp.gate mlp.up "
        "mlp.act mlp.mul mlp.down +mlp.down mlp.add");
}

TEST_CASE("a pipeline does not pass on what later layers read, and is refused", "[engine][per_layer]") {
  CHECK(flaw(sharing(), {.pp = 2}) == LayoutFlaw::pipeline_state);
  CHECK(flaw(with_input(), {.pp = 2}) == LayoutFlaw::pipeline_state);
  CHECK(flaw(even(), {.pp = 2}) == LayoutFlaw::none);
}
