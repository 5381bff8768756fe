// Encoders and encoder-decoders: attention pairs, caches and decode steps.

#include "calc/arch/cross_layer.hpp"
#include "calc/infer.hpp"
#include "calc/memory.hpp"
#include "calc/operator/liveness.hpp"
#include "calc/parameters.hpp"
#include "calc/textbook/textbook.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/calc/stored_check.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

Arch encoder() {
  Arch a = even();
  a.bidirectional = true;
  a.head = {.kind = HeadKind::none, .pooler = true};
  a.final_norm = false;
  return a;
}

/// One encoder and two decoder layers: D 64, 16 heads of width 8 over 8 KV heads, MLP 128, 32 relative-position
/// buckets.
Arch encoder_decoder() {
  Arch a = even();
  a.position = Position::relative;
  a.position_rows = 32;
  LayerMixer decoder;
  static_cast<Mixer&>(decoder) = a;
  decoder.cross_attention = true;
  decoder.layers = LayerSet::every(1, 1, 3);
  a.bidirectional = true;
  a.mixers.push(decoder);
  return a;
}

const LayerKind& kind_of(const LayerKinds& kinds, std::size_t i) { return kinds[i]; }
constexpr Step training{.sequences = 2, .queries = 6, .training = true};

}  // namespace

TEST_CASE("every encoder token attends to every token under all FLOP conventions", "[engine][encoder]") {
  const Attention core = shape_of<Attention>(first_block(encoder(), training), "attn.core");
  for (const AttentionFlops c : {AttentionFlops::full, AttentionFlops::causal_half, AttentionFlops::causal_exact})
    CHECK(forward(core, {.convention = c}).model == flops(2, 2, 16, 6 * 6, 8 + 8));
  CHECK(forward(core, {.convention = AttentionFlops::full}).executed == flops(2, 2, 16, 6 * 6, 8 + 8));
}

TEST_CASE("an encoder has no cache, and its head reads the first token of each sequence", "[engine][encoder]") {
  CHECK(encoder().is_encoder());
  CHECK_FALSE(encoder_decoder().is_encoder());
  CHECK(cache_bytes(encoder(), {}, 1000) == Bytes());
  CHECK(names(head_ops(encoder(), training)) == "head.pooler head.pooler_act");
  CHECK(shape_of<Linear>(head_ops(encoder(), training), "head.pooler") ==
        Linear{.rows = 2, .in = 64, .out = 64, .bias = true});
  CHECK(parameters(encoder()).lm_head == 64 * 64 + 64);
}

TEST_CASE("a decoder without a head ends with a norm over all its tokens", "[engine][encoder]") {
  Arch a = even();
  const Parameters with = parameters(a);
  a.head = {.kind = HeadKind::none};
  a.tied_head = false;
  CHECK(names(head_ops(a, training)) == "head.norm");
  CHECK(names(head_ops(a, {.sequences = 2, .queries = 6})) == "head.norm");
  CHECK(shape_of<Norm>(head_ops(a, {.sequences = 2, .queries = 6}), "head.norm").rows == 12);
  CHECK(parameters(a).lm_head == 0);
  CHECK(parameters(a).total == with.total - with.lm_head);
  CHECK(textbook::parameters(a).total() == parameters(a).total);
  check_stored(a, 6);
}

TEST_CASE("an encoder with an MLM head has a dense layer and a norm before its logits", "[engine][encoder]") {
  Arch a = encoder();
  a.head = {.kind = HeadKind::masked_token, .pooler = true, .sentence_pair = true};
  a.tied_head = a.head_bias = true;
  CHECK(parameters(a).lm_head == 2 * (64 * 64 + 64) + 2 * 64 + 2 + 512);
  CHECK(names(head_ops(a, training)) ==
        "head.pooler head.pooler_act head.sentence_pair head.transform head.transform_act head.transform_norm "
        "head.logits head.loss");
}

TEST_CASE("a decoder reads the encoder output by cross attention, and the encoder ends with a norm",
          "[engine][encoder]") {
  const Arch a = encoder_decoder();
  const LayerKinds kinds = layer_kinds(a);
  REQUIRE(kinds.size() == 2);
  CHECK(kind_of(kinds, 0).closes_encoder);
  CHECK(parameters(a).position == 2 * 32 * 16);
  const Count attention = 2 * 64 * 128 + 2 * 64 * 64;
  CHECK(parameters(a).attention == (1 + 2 * 2) * attention);
  CHECK(parameters(a).norm == 64 * (2 + 2 * 3 + 2));
  const std::string decoder = names(block_ops(a, kind_of(kinds, 1), training));
  CHECK(decoder.substr(0, decoder.find(" mlp")) ==
        "attn.norm attn.q attn.k attn.v attn.core attn.out attn.add cross.norm cross.q cross.k cross.v cross.core "
        "cross.out cross.add");
  const OpList encoder = block_ops(a, kind_of(kinds, 0), training);
  CHECK(encoder[encoder.size() - 1].name == "encoder.norm");
}

TEST_CASE("the encoder output is saved once for all decoder layers", "[engine][encoder]") {
  const Arch a = encoder_decoder();
  const LayerKinds kinds = layer_kinds(a);
  const Pricing p = pricing({.seq = 6, .micro_batch = 2, .global_batch = 2}, Phase::training);
  const Liveness l = liveness(block_ops(a, kind_of(kinds, 0), training), p, 12 * 64);
  CHECK(l.carried == Bytes(2 * 12 * 64));
  Arch without = a;
  without.final_norm = false;
  const Liveness bare = liveness(block_ops(without, kind_of(kinds, 0), training), p, 12 * 64);
  CHECK(l.saved - bare.saved == Bytes(2 * 12 * 64 + 4 * 12));  // input and statistic of the norm
}

TEST_CASE("gradients accumulated by all layers of a stack are live until backward reaches their source",
          "[engine][encoder]") {
  const Arch a = encoder_decoder();
  const Pricing p = pricing({.seq = 6, .micro_batch = 2, .global_batch = 2}, Phase::training);
  const Liveness l = liveness(embedding_ops(a, training), p, 0);
  const Bytes table(2 * 6 * 6 * 16);  // the table of one stack: an element per pair and head
  CHECK(l.carried == 2 * table);
  CHECK(l.awaited == 2 * table);
  CHECK(l.awaited_by_encoder == table);
  const std::vector<CrossLayerTensor> all = cross_layer_tensors(layer_kinds(a));
  REQUIRE(all.size() == 1);  // the encoder output
  CHECK(all[0].source == 0);
  CHECK(all[0].first_reader == 1);
  CHECK(all[0].last_reader == 2);
}

TEST_CASE("a decode step runs only the decoder, on cached keys and values of the encoder", "[engine][encoder]") {
  const Arch a = encoder_decoder();
  const LayerKinds kinds = layer_kinds(a);
  const Plan plan{.batch = 3, .prompt = 100, .generate = 20};
  const Step step = decode_step(plan, 111);
  CHECK(block_ops(a, kind_of(kinds, 0), step).empty());
  const OpList decoder = block_ops(a, kind_of(kinds, 1), step);
  CHECK(shape_of<Attention>(decoder, "attn.core").keys == 1 + 11);  // the decoder's start token, and 11 more
  CHECK(shape_of<Attention>(decoder, "cross.core").keys == 100);
  CHECK(names(decoder).find("cross.k") == std::string::npos);
  CHECK(cache_bytes(a, plan, 111) == Bytes(2 * (100 + 1 + 11) * 2 * 8 * 8 * 2));
}

TEST_CASE("the prefill encodes the prompt and starts the decoder with one token", "[engine][encoder]") {
  const Arch a = encoder_decoder();
  const LayerKinds kinds = layer_kinds(a);
  const Plan plan{.batch = 3, .prompt = 100, .generate = 20};
  const Step step = prefill_step(plan, 100);
  CHECK(shape_of<Linear>(block_ops(a, kind_of(kinds, 0), step), "attn.q").rows == 300);
  const OpList decoder = block_ops(a, kind_of(kinds, 1), step);
  CHECK(shape_of<Linear>(decoder, "attn.q").rows == 3);
  CHECK(shape_of<Linear>(decoder, "cross.k").rows == 300);
  CHECK(shape_of<Lookup>(embedding_ops(a, step), "embedding.tokens").tokens == 303);
}

TEST_CASE("decode steps of an encoder-decoder match direct pricing at every context length", "[engine][encoder]") {
  const Arch a = encoder_decoder();
  const Plan plan{.batch = 3, .prompt = 100, .generate = 20};
  const DecodeSteps steps(a, plan, {}, {});
  for (const Count context : {101, 110, 120}) CHECK(steps.at(context).flops == decode(a, plan, {}, {}, context).flops);
}

TEST_CASE("tensor-parallel ranks shard heads of self- and cross-attention and of relative-position tables",
          "[engine][encoder]") {
  const Arch a = encoder_decoder();
  const LayerKinds kinds = layer_kinds(a);
  const OpList decoder = cut(block_ops(a, kind_of(kinds, 1), training), {.tp = 2});
  CHECK(shape_of<Attention>(decoder, "cross.core").heads == 8);
  CHECK(shape_of<Linear>(decoder, "cross.k").out == 32);
  CHECK(shape_of<Lookup>(cut(embedding_ops(a, training), {.tp = 2}), "embedding.distances").width == 8);
  CHECK(flaw(a, {.pp = 2}) == LayoutFlaw::pipeline_state);
  CHECK(flaw(a, {.cp = 2}) == LayoutFlaw::context_encoder);
}
