// Mixed residual streams (Kimi K3): operators, weights, saved tensors, and live streams and gradients.

#include "calc/block/mixed_residual.hpp"

#include "calc/arch/cross_layer.hpp"
#include "calc/memory.hpp"
#include "calc/operator/liveness.hpp"
#include "calc/parameters.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/calc/stored_check.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

constexpr Count D = 64, tokens = 3, layers = 5;

/// Five layers in blocks of two: layers 0, 2 and 4 begin one.
Arch mixed() {
  Arch a = even();
  a.layers = layers;
  a.residual_block = 2;
  return a;
}

constexpr Step training{.sequences = 1, .queries = tokens, .training = true};
const Plan plan{.seq = tokens, .micro_batch = 1, .global_batch = 1};

/// The operators of the layers that begin a block, or of the other layers.
OpList block_of(bool begins) {
  const LayerKinds kinds = layer_kinds(mixed());
  return block_ops(mixed(), kinds[begins ? 0 : 1], training);
}

}  // namespace

TEST_CASE("a layer that begins a residual block has no add after its attention", "[engine][mixed]") {
  const std::string mixer = "attn.mix attn.norm attn.q attn.k attn.v attn.rope attn.core attn.out ";
  const std::string mlp = "mlp.mix mlp.norm mlp.gate mlp.up mlp.act mlp.mul mlp.down mlp.add";
  CHECK(names(block_of(true)) == mixer + mlp);
  CHECK(names(block_of(false)) == mixer + "attn.add " + mlp);
}

// 2 D for each of 2 mixes in every layer, and for the head's mix.
TEST_CASE("every residual mix has a score vector and a norm vector", "[engine][mixed]") {
  Arch without = mixed();
  without.residual_block = 0;
  CHECK(parameters(mixed()).total == parameters(without).total + (2 * layers + 1) * 2 * D);
}

// Streams before mixers: 1, 2, 2, 3, 3; before MLPs: 2, 2, 3, 3, 4. Means: layers 0, 2, 4 have 2 (sum 6) and 3 (sum 9),
// layers 1 and 3 have 2.5 and 2.5, rounded up.
TEST_CASE("layers of one kind are modeled with their mean number of mixed streams, rounded up", "[engine][mixed]") {
  const auto tensors = [](const OpList& ops, std::size_t mix) {
    for (const Op& op : ops)
      if (const Pointwise* p = std::get_if<Pointwise>(&op.shape); p && p->kind == PointwiseKind::mix && mix-- == 0)
        return p->top_k;
    return Count{0};
  };
  CHECK(tensors(block_of(true), 0) == 2);
  CHECK(tensors(block_of(true), 1) == 3);
  CHECK(tensors(block_of(false), 0) == 3);
  CHECK(tensors(block_of(false), 1) == 3);
  Op mix = block_of(false)[0];
  set_mixed(mix, mixed(), 1);
  CHECK(std::get<Pointwise>(mix.shape).top_k == 2);
}

TEST_CASE("tensors saved by mixed streams match the stored-tensor table, with and without recomputation",
          "[textbook][mixed]") {
  test::check_stored(mixed(), tokens);
}

TEST_CASE("the input of a layer that begins a residual block is shared with all later layers", "[liveness][mixed]") {
  const std::vector<CrossLayerTensor> all = cross_layer_tensors(layer_kinds(mixed()));
  REQUIRE(all.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(all[i].source == static_cast<Count>(2 * i));
    CHECK(all[i].last_reader == layers - 1);
    CHECK(all[i].is_input);
  }
  const Bytes stream(2 * tokens * D);
  const Pricing p = pricing(plan, Phase::training);
  const Liveness begins = liveness(block_of(true), p, tokens * D), others = liveness(block_of(false), p, tokens * D);
  CHECK(begins.carried == stream);
  CHECK(begins.awaited == stream);  // its gradient is live until all later mixes have run
  CHECK(others.carried == Bytes());
  CHECK(others.awaited == Bytes());
  CHECK(begins.saved == others.saved);
}

// A mix and its norm are live in addition to the layer's inputs. The peak is in the last layer: two earlier saved
// streams and its own input. The head mixes four streams of all tokens into one row, and frees them.
TEST_CASE("a pass holds the streams saved before a layer, and the head reads all streams", "[memory][mixed]") {
  const Bytes stream(2 * tokens * D), row(2 * D);
  const Prices prompt = price_prefill(mixed(), plan, {}, {}, tokens);
  const Liveness &begins = prompt.layer(0).alive, &others = prompt.layer(1).alive;
  CHECK(prompt.head().alive.input == 4 * stream);
  CHECK(prompt.head().alive.forward >= 4 * stream + row);
  // Layer 4 begins a block after two saved streams; layer 3 also follows two.
  const Bytes most = std::max(begins.forward, others.forward) + 2 * stream;
  CHECK(pass_workspace(prompt) == std::max(most, prompt.head().alive.forward));
}

// The head's mix produces gradients of three saved streams and of the current one, in addition to the gradient of its
// result.
TEST_CASE("peak memory includes gradients of saved streams from the head's backward on", "[liveness][mixed]") {
  const Pricing p = pricing(plan, Phase::training);
  const OpList ops = head_ops(mixed(), training);
  const WorstMoments w = worst_moments(ops, p, tokens * D);
  CHECK(w.backward.total() == liveness(ops, p, tokens * D).backward);
  Plan all = plan;
  const Memory saved = training_memory(mixed(), all);
  all.recompute = Recompute::full;
  const Memory again = training_memory(mixed(), all);
  CHECK(again.activations < saved.activations);
  CHECK(again.peak < saved.peak);
}

// x = input W with dropout, narrow = x W' (width 1), y = narrow W", sum = x + y. Only the sum owns its gradient, so x
// takes it over. Saved: input, x, narrow and a mask of one byte per value. Peak: y's backward, with the gradients of x
// and narrow.
TEST_CASE("the gradient of a sum is reused for a first input that passed through dropout", "[liveness][mixed]") {
  Arch a;
  a.hidden = 4;
  const Step one{.sequences = 1, .queries = 1, .training = true, .dropout = true};
  SegmentBuilder list(a, one);
  constexpr Component part = Component::mlp;
  const TensorId x = list.linear("x", part, Split::tokens, block_input, 4, 4, false);
  list.dropout("dropout", part, x, 1);
  const TensorId narrow = list.linear("narrow", part, Split::tokens, x, 4, 1, false);
  const TensorId y = list.linear("y", part, Split::tokens, narrow, 1, 4, false);
  list.pointwise("sum", part, PointwiseKind::add, Split::tokens, x, y, 4);
  const Pricing p = pricing({.seq = 1, .micro_batch = 1, .global_batch = 1, .dropout = true}, Phase::training);
  CHECK(liveness(list.ops(), p, 4).backward == Bytes(2 * (4 + 4 + 1) + 4 + 2 * (4 + 1)));
}
