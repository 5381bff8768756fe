// Residual streams under AltUp, the alternating updates of Gemma 3n: weights, tensors and their gradients.

#include "calc/block/altup.hpp"

#include "calc/block/segment_builder.hpp"
#include "calc/memory.hpp"
#include "calc/operator/liveness.hpp"
#include "calc/parameters.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/calc/stored_check.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// Three layers of hidden size 64 with 4 residual streams, a LAuReL rank of 5, and per-layer inputs of width 7.
Arch alternating() {
  Arch a = even();
  a.streams = 4;
  a.altup = true;
  a.laurel_rank = 5;
  a.norm_placement = NormPlacement::both;
  a.norms_per_layer = 4;
  a.per_layer = {.rows = 23, .width = 7};
  return a;
}

constexpr Count D = 64, n = 4, tokens = 3;
constexpr Step training{.sequences = 1, .queries = tokens, .training = true};

}  // namespace

TEST_CASE("an AltUp layer predicts, runs the first stream, corrects, and adds a per-layer input to the others",
          "[engine][altup]") {
  CHECK(names(first_block(alternating(), training)) ==
        "altup.norm altup.router altup.act altup.predict_weights altup.predict attn.norm laurel.down laurel.up "
        "laurel.norm laurel.add attn.q attn.k attn.v attn.rope attn.core attn.out attn.post_norm attn.add laurel.sum "
        "mlp.norm mlp.gate mlp.up mlp.act mlp.mul mlp.down mlp.post_norm mlp.add altup.result_norm altup.result_router "
        "altup.result_act altup.correct_weights altup.correct altup.first altup.scale per_layer.gate per_layer.act "
        "per_layer.mul per_layer.project per_layer.norm altup.share");
}

// Per layer: a router and its norm, used twice, 4 x (16 + 4) mixing weights, a scale per channel, and LAuReL's low-rank
// branch with its norm. Per model: projections of three streams after the embedding and before the head.
TEST_CASE("AltUp adds a router, mixing weights and scales per layer, and projections at both ends", "[engine][altup]") {
  Arch without = alternating();
  without.streams = 1;
  without.altup = false;
  without.laurel_rank = 0;
  const Count layer = D * n + D + n * (n * n + n) + D, low = 2 * D * 5 + D;
  const Parameters p = parameters(alternating()), q = parameters(without);
  CHECK(p.total == q.total + 3 * (layer + low) + 2 * 3 * D * D);
  CHECK(p.lm_head == q.lm_head + 3 * D * D);
  CHECK(p.embedding == q.embedding + 3 * D * D);
}

TEST_CASE("tensors saved under AltUp match the stored-tensor table, with and without recomputation",
          "[textbook][altup]") {
  test::check_stored(alternating(), tokens);
}

TEST_CASE("AltUp passes all streams to the next layer, and peak breakdowns sum to the peaks", "[liveness][altup]") {
  const Arch a = alternating();
  const Pricing p = pricing({.seq = tokens, .micro_batch = 1, .global_batch = 1}, Phase::training);
  const OpList ops = first_block(a, training);
  const Liveness l = liveness(ops, p, tokens * n * D);
  const WorstMoments w = worst_moments(ops, p, tokens * n * D);
  CHECK(w.forward.total() == l.forward);
  CHECK(w.backward.total() == l.backward);
  CHECK(l.output == Bytes(2 * tokens * n * D));
}

// x, wide = x W (100 columns), y = wide W', sum = x + y, product = sum x. While y's backward computes the gradient of
// wide, the gradients of x and y, the input, x and wide are live.
TEST_CASE("the gradient of a sum is reused for its second input if the first input already has a gradient",
          "[liveness][altup]") {
  Arch a;
  a.hidden = 4;
  const Step one{.sequences = 1, .queries = 1, .training = true};
  SegmentBuilder list(a, one);
  constexpr Component part = Component::mlp;
  const TensorId x = list.linear("x", part, Split::tokens, block_input, 4, 4, false);
  const TensorId wide = list.linear("wide", part, Split::tokens, x, 4, 100, false);
  const TensorId y = list.linear("y", part, Split::tokens, wide, 100, 4, false);
  const TensorId sum = list.pointwise("sum", part, PointwiseKind::add, Split::tokens, x, y, 4);
  list.pointwise("product", part, PointwiseKind::multiply, Split::tokens, sum, x, 4);
  const Pricing p = pricing({.seq = 1, .micro_batch = 1, .global_batch = 1}, Phase::training);
  CHECK(liveness(list.ops(), p, 4).backward == Bytes(2 * (4 + 4 + 100 + 4 + 4 + 100)));
}
