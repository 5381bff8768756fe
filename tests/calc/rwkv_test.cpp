// RWKV-7: parameters, saved and shared tensors, sequence states, and sharding across ranks.

#include "calc/arch/cross_layer.hpp"
#include "calc/cost/cost.hpp"
#include "calc/cost/held.hpp"
#include "calc/memory.hpp"
#include "calc/operator/liveness.hpp"
#include "calc/parallel/tensor.hpp"
#include "calc/parameters.hpp"
#include "calc/textbook/inference.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/calc/stored_check.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// Three layers of D 64: 6 heads of width 10, ranks 5 (decay), 3 (learning rate), 7 (gate) and 2 (values), an MLP
/// of 96. The other layers share the first layer's values.
Arch rwkv() {
  Arch a = even();
  a.attention = AttentionKind::none;
  a.heads = a.kv_heads = 0;
  a.recurrent = {.kind = RecurrentKind::rwkv7,
                 .heads = 6,
                 .head_dim = 10,
                 .key_heads = 6,
                 .key_dim = 10,
                 .rank = 5,
                 .step_rank = 3,
                 .gate_rank = 7,
                 .value_rank = 2};
  a.mlp = MlpKind::plain;
  a.mlp_width = 96;
  a.mlp_shift = true;
  a.norm = NormKind::layer_norm;
  a.position = Position::none;
  LayerMixer first;
  static_cast<Mixer&>(first) = a;
  first.recurrent.value_rank = 0;
  first.layers.insert(0);
  a.mixers.push(first);
  return a;
}

constexpr Count D = 64, W = 60, tokens = 3;
constexpr Step training{.sequences = 1, .queries = tokens, .training = true};
Pricing training_price() { return pricing({.seq = tokens, .micro_batch = 1, .global_batch = 1}, Phase::training); }
OpList layer(const Arch& a, Count i, const Step& step = training) {
  const LayerKinds kinds = layer_kinds(a);
  return block_ops(a, kinds[kind_index(kinds, i)], step);
}

}  // namespace

// Mixing coefficients; r, k, v and out; low-rank projections; biases; k_k, k_a, r_k; head norms. In two layers also the
// value residual.
TEST_CASE("RWKV-7's parameter count matches its modules, and its first layer has no value residual", "[engine][rwkv]") {
  const Parameters p = parameters(rwkv());
  const Count each = 6 * D + 4 * D * W + (5 + 3 + 7) * (D + W) + 2 * W + 3 * W + 2 * W;
  CHECK(p.attention == 3 * each + 2 * (2 * (D + W) + W));
  CHECK(p.mlp == 3 * (2 * D * 96 + D));
  CHECK(p.norm == 3 * 4 * D + 2 * D);
}

TEST_CASE("a token shift reads each token once for all mixing coefficients and caches the last token", "[cost][rwkv]") {
  const Shift s{.sequences = 2, .queries = 3, .width = 5, .mixes = 6};
  const Pricing p{};
  CHECK(learned(Shape(s)).total == 30);
  CHECK(out_elements(s) == 6 * 6 * 5);
  CHECK(forward(s, p).model == Flops());
  CHECK(forward(s, p).moved.activations == 2.0 * 6 * 5 * (1 + 6));
  CHECK(backward(s, p).moved.activations == 2.0 * 6 * 5 * (1 + 6 + 1));
  CHECK(cache_row(s, p).state == Bytes(2 * 5));
  Pricing cached = p;
  cached.cached = true;
  CHECK(forward(s, cached).moved.cache == 2.0 * 2 * 2 * 5);  // read and written, for two sequences
}

TEST_CASE("RWKV-7's state is sharded by heads, and the last tokens of its shifts are on every rank", "[engine][rwkv]") {
  const Arch a = rwkv();
  const auto bytes = [](Count heads) { return Bytes(3 * (4 * heads * 10 * 10 + 2 * 2 * D)); };
  CHECK(cache_bytes(a, {}, 100) == bytes(6));
  CHECK(cache_bytes(a, {}, 100) == cache_bytes(a, {}, 1));
  CHECK(cache_bytes(a, {}, 100, {.tp = 2}) == bytes(3));
  CHECK(textbook::state_bytes_per_sequence(a, 2) == bytes(6));
}

TEST_CASE("RWKV-7's first-layer values are saved once, and their gradient is live until its backward",
          "[engine][rwkv]") {
  const Arch a = rwkv();
  const Pricing p = training_price();
  const Bytes values(2 * tokens * W);
  const Liveness first = liveness(layer(a, 0), p, tokens * D), second = liveness(layer(a, 1), p, tokens * D);
  CHECK(first.carried == values);
  CHECK(first.awaited == values);
  CHECK(second.carried == Bytes());
  CHECK(second.awaited == Bytes());
  // The share, its rank and the mix; the second layer does not save the first's values.
  CHECK(second.saved - first.saved == 2 * values + Bytes(2 * tokens * 2));
  const WorstMoments w = worst_moments(layer(a, 0), p, tokens * D);
  CHECK(w.forward.total() == first.forward);
  CHECK(w.backward.total() == first.backward);
}

TEST_CASE("tensors saved by RWKV-7 match the stored-tensor table, with and without recomputation", "[textbook][rwkv]") {
  test::check_stored(rwkv(), tokens);
}

TEST_CASE("RWKV-7's shared values are live from the first layer to the last, even in a decode step", "[engine][rwkv]") {
  const Arch a = rwkv();
  const std::vector<CrossLayerTensor> all = cross_layer_tensors(layer_kinds(a));
  REQUIRE(all.size() == 1);
  CHECK((all[0].source == 0 && all[0].first_reader == 1 && all[0].last_reader == 2));
  const Prices step = price_decode(a, {.batch = 4}, {}, {}, 64);
  CHECK(step.layer(0).alive.carried == Bytes(2 * 4 * W));
  CHECK(pass_workspace(step) >= step.layer(1).alive.forward + Bytes(2 * 4 * W));
}

TEST_CASE("tensor-parallel ranks replicate token shifts, shard heads and sum replicated weights' gradients",
          "[tensor][rwkv]") {
  const Arch a = rwkv();
  CHECK(names(cut(layer(a, 1), {.tp = 2})) ==
        "attn.norm +rwkv.shift rwkv.shift rwkv.r rwkv.k rwkv.v rwkv.value_down rwkv.value_up rwkv.value_mix "
        "rwkv.decay_down rwkv.decay_act rwkv.decay_up rwkv.step_down rwkv.step_up rwkv.removed_key rwkv.key_gate "
        "rwkv.core rwkv.o_norm rwkv.gate_down rwkv.gate_act rwkv.gate_up rwkv.gate_mul rwkv.out +rwkv.out attn.add "
        "mlp.norm +mlp.shift mlp.shift mlp.up mlp.act mlp.down +mlp.down mlp.add");
  const OpList mine = cut(layer(a, 1), {.tp = 2});
  Count learned_here = 0;
  for (const Op& op : mine) learned_here += learned(op.shape).total;
  const Count whole = 7 * D + D * (5 + 3 + 7 + 2) + 4 * D;  // mixing coefficients, low-rank projections, norms
  const Count cut = 4 * D * W + (5 + 3 + 7 + 2) * W + 3 * W + 5 * W + 2 * D * 96;
  CHECK(learned_here == whole + cut / 2);
  CHECK(summed_over_tensor_ranks(layer(a, 1), {.tp = 2}) == 7 * D + D * (5 + 3 + 7 + 2));
  CHECK(summed_over_tensor_ranks(layer(a, 1), {.tp = 2, .sp = true}) == whole);
}

TEST_CASE("RWKV-7 rejects pipeline and context parallelism, and degrees that do not divide its heads",
          "[layout][rwkv]") {
  CHECK(flaw(rwkv(), {.pp = 2}) == LayoutFlaw::pipeline_state);
  CHECK(flaw(rwkv(), {.cp = 2}) == LayoutFlaw::context_state);
  CHECK(flaw(rwkv(), {.tp = 4}) == LayoutFlaw::heads);
  CHECK(flaw(rwkv(), {.tp = 3}) == LayoutFlaw::none);
}
