// Bidirectional encoders with windows, with per-layer relative-position tables, and with a first layer without a norm.

#include "calc/memory.hpp"
#include "calc/operator/liveness.hpp"
#include "calc/operator/pairs.hpp"
#include "calc/parameters.hpp"
#include "calc/textbook/textbook.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/calc/stored_check.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

constexpr Step training{.sequences = 2, .queries = 6, .training = true};

/// Three layers, the last two with a window of three tokens; a norm follows the embedding, and no norm precedes the
/// first mixer.
Arch windowed() {
  Arch a = even();
  a.bidirectional = true;
  a.embedding_norm = true;
  a.first_norm = false;
  a.local = {.reach = {3}, .layers = LayerSet::every(1, 1, a.layers)};
  a.head = {.kind = HeadKind::masked_token, .transform_bias = false};
  a.tied_head = a.head_bias = true;
  return a;
}

/// Two encoder layers and one decoder layer, each with a table of 32 relative-position buckets.
Arch with_tables() {
  Arch a = even();
  a.position = Position::relative;
  a.position_rows = 32;
  a.layer_distances = true;
  LayerMixer decoder;
  static_cast<Mixer&>(decoder) = a;
  decoder.cross_attention = true;
  decoder.layers = LayerSet::every(2, 1, 3);
  a.bidirectional = true;
  a.mixers.push(decoder);
  return a;
}

Count pairs_one_by_one(Count tokens, Count window) {
  Count pairs = 0;
  for (Count i = 0; i < tokens; ++i)
    for (Count j = 0; j < tokens; ++j) pairs += (i > j ? i - j : j - i) <= (window - 1) / 2 ? 1 : 0;
  return pairs;
}

}  // namespace

TEST_CASE("a token under a bidirectional window attends to half of the window on each side", "[engine][encoder]") {
  using textbook::Fraction;
  for (const Count tokens : {1, 2, 3, 4, 5, 9, 40})
    for (const Count window : {1, 3, 5, 7, 9, 39, 79, 81, 129}) {
      CAPTURE(tokens, window);
      const Count pairs = pairs_one_by_one(tokens, window);
      for (const AttentionFlops c : {AttentionFlops::full, AttentionFlops::causal_half, AttentionFlops::causal_exact}) {
        CHECK(twice_pairs(tokens, 0, Pairs{.convention = c, .reach = {window}, .both_ways = true}) == 2 * pairs);
        CHECK(textbook::query_key_pairs<Fraction>(c, tokens, tokens, {window, false, true}) == Fraction(pairs));
      }
    }
}

TEST_CASE("with a bidirectional window, flash attention counts only visible pairs, naive attention all pairs",
          "[engine][encoder]") {
  const Arch a = windowed();
  const LayerKinds kinds = layer_kinds(a);
  REQUIRE(kinds.size() == 2);
  const Attention core = shape_of<Attention>(block_ops(a, kinds[1], training), "attn.core");
  CHECK(core.reach == Reach{3});
  const Flops seen = flops(2, 2, 16, 3 * 6 - 2, 8 + 8), all = flops(2, 2, 16, 6 * 6, 8 + 8);
  CHECK(forward(core, {.attention = AttentionImpl::flash}).executed == seen);
  CHECK(forward(core, {.attention = AttentionImpl::flash}).model == seen);
  CHECK(forward(core, {.attention = AttentionImpl::naive}).executed == all);
  const Plan plan{.seq = 6, .micro_batch = 2, .global_batch = 2, .attention = AttentionImpl::flash};
  const textbook::PassShape pass{.batch = 2, .seq = 6};
  CHECK(whole_flops(a, plan, training_step(plan), Phase::training).forward.core ==
        textbook::forward_flops(a, pass).core);
}

TEST_CASE("a first layer that starts without a norm forms a separate layer kind", "[engine][encoder]") {
  Arch a = windowed();
  const LayerKinds kinds = layer_kinds(a);
  CHECK(kinds[0].bare);
  CHECK(kinds[0].count == 1);
  CHECK(names(block_ops(a, kinds[0], training)).starts_with("attn.q attn.k attn.v"));
  CHECK(names(block_ops(a, kinds[1], training)).starts_with("attn.norm attn.q"));
  CHECK(names(block_ops(a, kinds[0], training)).find("mlp.norm") != std::string::npos);
  const Count norms = 64;                                        // RMSNorm of hidden size 64
  CHECK(parameters(a).norm == norms * (1 + 2 * 3 - 1 + 1 + 1));  // embedding, layers, final, head
  CHECK(textbook::parameters(a).total() == parameters(a).total);
  check_stored(a, 6);
  a.first_norm = true;
  CHECK(layer_kinds(a).size() == 2);
  CHECK_FALSE(layer_kinds(a)[0].bare);
}

TEST_CASE("the final norm precedes the dense layer of an MLM head", "[engine][encoder]") {
  CHECK(names(head_ops(windowed(), training)) ==
        "head.norm head.transform head.transform_act head.transform_norm head.logits head.loss");
  CHECK(parameters(windowed()).lm_head == 64 * 64 + 512);  // dense layer without a bias, and the head's bias
}

TEST_CASE("per-layer relative-position biases are looked up before each core, not in the embedding",
          "[engine][encoder]") {
  const Arch a = with_tables();
  const LayerKinds kinds = layer_kinds(a);
  CHECK(names(embedding_ops(a, training)).find("distances") == std::string::npos);
  CHECK(parameters(a).position == 3 * 32 * 16);
  CHECK(textbook::parameters(a).total() == parameters(a).total);
  const OpList block = block_ops(a, kinds[0], training);
  CHECK(names(block).find("attn.v attn.distances attn.core") != std::string::npos);
  CHECK(shape_of<Lookup>(block, "attn.distances") == Lookup{6 * 6, 32, 16});
  const Pricing p = pricing({.seq = 6, .micro_batch = 2, .global_batch = 2}, Phase::training);
  Arch without = a;
  without.position = Position::none;
  without.layer_distances = false;
  const Bytes with = liveness(block, p, 12 * 64).saved;
  CHECK(with - liveness(block_ops(without, kinds[0], training), p, 12 * 64).saved == Bytes(2 * 6 * 6 * 16));
  check_stored(a, 6);
}

TEST_CASE("in a decode step, per-layer relative-position biases are read by the core, not by a lookup",
          "[engine][encoder]") {
  const Arch a = with_tables();
  const LayerKinds kinds = layer_kinds(a);
  const Plan plan{.batch = 3, .prompt = 100, .generate = 20};
  const OpList decoder = block_ops(a, kinds[kinds.size() - 1], decode_step(plan, 111));
  CHECK(names(decoder).find("distances") == std::string::npos);
  CHECK(shape_of<Attention>(decoder, "attn.core").relative);
}

TEST_CASE("per-layer position tables are sharded by heads and allow pipeline parallelism", "[engine][encoder]") {
  Arch a = with_tables();
  CHECK(shape_of<Lookup>(cut(block_ops(a, layer_kinds(a)[0], training), {.tp = 2}), "attn.distances").width == 8);
  a.mixers = {};
  a.head = {.kind = HeadKind::none};
  a.tied_head = false;
  CHECK(flaw(a, {.pp = 3}) == LayoutFlaw::none);
  CHECK(flaw(a, {.cp = 2}) == LayoutFlaw::context_encoder);
}
