// Layers with additional inputs: keys and values of another layer, or a per-layer input (Gemma 3n, Gemma 4).

#include <algorithm>

#include "calc/arch/cross_layer.hpp"
#include "calc/layout.hpp"
#include "calc/memory.hpp"
#include "calc/operator/liveness.hpp"
#include "calc/parameters.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// One layer of D 13 with a per-layer input of width 7 from a table of 23 rows, and an output scale.
Arch with_input() {
  Arch a = prime_gated();
  a.per_layer = {.rows = 23, .width = 7};
  a.output_scale = true;
  return a;
}

/// Two layers of 16 heads of width 8 over 8 KV heads; the second layer reads keys and values of the first.
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

TEST_CASE("per-layer inputs add a table, projection and norm once, and two matrices and a norm per layer",
          "[engine][per_layer]") {
  const Count once = 23 * 7 + 13 * 7 + 7, layer = 2 * 13 * 7 + 13, factor = 1;
  CHECK(parameters(with_input()).total == parameters(prime_gated()).total + once + layer + factor);
}

TEST_CASE("per-layer inputs are saved once by the embedding and are live during every block", "[engine][per_layer]") {
  const Liveness l = liveness(embedding_ops(with_input(), training), training_price(), 0);
  CHECK(l.carried == Bytes(2 * 3 * 7));
  CHECK(l.output == Bytes(2 * 3 * 13));
  CHECK(l.saved == Bytes(8 * 3 + 2 * 3 * 2 * 7 + 4 * 3));  // ids, the projection, the sum, a statistic per token
  const Prices p = price_prefill(with_input(), {.batch = 1}, {}, {}, 64);
  CHECK(pass_workspace(p) == p.layer(0).alive.forward + Bytes(2 * 64 * 7));
}

TEST_CASE("layers that share another layer's keys and values neither project, cache nor save them",
          "[engine][per_layer]") {
  const Arch a = sharing();
  const LayerKinds kinds = layer_kinds(a);
  REQUIRE(kinds.size() == 2);
  CHECK(parameters(a).attention == 2 * (2 * 64 * 128) + 2 * 64 * 64);
  CHECK(cache_elements_per_token(a) == 2 * 8 * 8);
  CHECK(cache_bytes(a, {}, 100) == Bytes(100 * 2 * 8 * 8 * 2));
  const OpList own = block_ops(a, *kinds.begin(), training), shared = block_ops(a, second_kind(kinds), training);
  const Pricing p = training_price();
  CHECK(liveness(own, p, 3 * 64).saved - liveness(shared, p, 3 * 64).saved == Bytes(2 * 3 * 8 * 8 * 2));
}

TEST_CASE("gradients of shared keys and values are live before their source's backward and count in its peak",
          "[engine][per_layer]") {
  Arch a = sharing();
  a.mlp_width = 1;  // so that the core is the peak
  const LayerKinds kinds = layer_kinds(a);
  const OpList ops = block_ops(a, kinds[0], training);
  const Liveness l = liveness(ops, training_price(), 3 * 64);
  CHECK(l.awaited == Bytes(2 * 3 * 8 * 8 * 2));
  const WorstMoments w = worst_moments(ops, training_price(), 3 * 64);
  CHECK(w.forward.total() == l.forward);
  CHECK(w.backward.total() == l.backward);
  LayerKind alone = kinds[0];
  alone.shares_kv = false;
  CHECK(liveness(block_ops(a, alone, training), training_price(), 3 * 64).awaited == Bytes());
}

TEST_CASE("tensors shared across layers are live until their last reader has run", "[engine][per_layer]") {
  Arch a = sharing();
  a.layers = 4;  // layers 2 and 3 have unshared keys and values
  const std::vector<CrossLayerTensor> all = cross_layer_tensors(layer_kinds(a));
  REQUIRE(all.size() == 1);
  CHECK(all[0].source == 0);
  CHECK((all[0].first_reader == 1 && all[0].last_reader == 1));
  CHECK((!all[0].passes(0) && all[0].passes(1) && !all[0].passes(2)));
  CHECK(kv_source(layer_kinds(a), 1) == 0);
  CHECK(kv_source(layer_kinds(a), 2) == -1);
}

TEST_CASE("a prefill keeps tensors shared across layers, and a decode step reads the cache", "[engine][per_layer]") {
  const Arch a = sharing();
  const Prices prompt = price_prefill(a, {.batch = 1}, {}, {}, 64);
  const Prices step = price_decode(a, {.batch = 1}, {}, {}, 64);
  CHECK(pass_workspace(prompt) >= prompt.layer(1).alive.forward + Bytes(2 * 64 * 8 * 8 * 2));
  CHECK(step.layer(0).alive.carried == Bytes());
}

TEST_CASE("tensor-parallel ranks shard shared keys and values by heads without a collective", "[engine][per_layer]") {
  const Arch a = sharing();
  const LayerKinds kinds = layer_kinds(a);
  CHECK(names(cut(block_ops(a, second_kind(kinds), training), {.tp = 2})) ==
        "attn.norm +attn.q attn.q attn.rope attn.core attn.out +attn.out attn.add mlp.norm +mlp.gate mlp.gate mlp.up "
        "mlp.act mlp.mul mlp.down +mlp.down mlp.add");
}

TEST_CASE("pipeline parallelism is rejected for models that share tensors across layers", "[engine][per_layer]") {
  CHECK(flaw(sharing(), {.pp = 2}) == LayoutFlaw::pipeline_state);
  CHECK(flaw(with_input(), {.pp = 2}) == LayoutFlaw::pipeline_state);
  CHECK(flaw(even(), {.pp = 2}) == LayoutFlaw::none);
}
