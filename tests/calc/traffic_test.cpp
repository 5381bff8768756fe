// Bytes that every kernel moves, with reads and writes counted by hand: 3 sequences of 4 tokens, small prime widths.

#include <string>

#include "calc/cost/cost.hpp"
#include "calc/cost/held.hpp"
#include "calc/memory.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

Pricing of(Phase phase, AttentionImpl attention = AttentionImpl::flash) {
  Pricing p;
  p.phase = phase;
  p.attention = attention;
  p.cached = phase != Phase::training;
  return p;
}
const Pricing train = of(Phase::training), prefill = of(Phase::prefill), decode = of(Phase::decode);

/// 6 query heads over 2 KV heads, keys of width 7, values of width 5.
Attention core(Count past = 0) {
  return {.sequences = 3, .heads = 6, .kv_heads = 2, .queries = 4, .keys = past + 4, .qk_dim = 7, .v_dim = 5};
}
/// In bf16: q (12 rows, 6 heads of width 7) and o (of 5); a token's keys and values (2 heads of width 7 and 5).
constexpr double queries_and_outputs = 2 * 12 * 6 * (7 + 5), token = 2 * 2 * (7 + 5), scores = 2 * 12 * 6 * 4;

double moved(PointwiseKind kind, bool back) {
  const Shape s = Pointwise{.kind = kind, .rows = 3, .width = 5, .top_k = 2};
  return (back ? backward(s, train) : forward(s, train)).moved.activations / 15;
}

}  // namespace

TEST_CASE("a training core moves q, k, v and o once forward, and twice as many bytes backward", "[cost][traffic]") {
  CHECK(forward(core(), train).moved.activations == queries_and_outputs + 12 * token);
  CHECK(backward(core(), train).moved.activations == 2 * (queries_and_outputs + 12 * token));
  CHECK(forward(core(), train).moved.cache == 0);
  CHECK(forward(core(), train).moved.weights == 0);
  CHECK(backward(core(), train).moved.weights == 0);
}

TEST_CASE("a naive core moves its scores four times forward and seven times backward", "[cost][traffic]") {
  const Pricing naive = of(Phase::training, AttentionImpl::naive);
  CHECK(forward(core(), naive).moved.activations == queries_and_outputs + 12 * token + 4 * scores);
  CHECK(backward(core(), naive).moved.activations == 2 * (queries_and_outputs + 12 * token) + 7 * scores);
}

TEST_CASE("a prefill writes its tokens to the cache and reads the whole cache", "[cost][traffic]") {
  CHECK(forward(core(), prefill).moved.cache == 12 * token);
  CHECK(forward(core(), prefill).moved.activations == queries_and_outputs + 12 * token);
  CHECK(forward(core(10), prefill).moved.cache == 3 * 14 * token);
  CHECK(forward(core(10), prefill).moved.activations == queries_and_outputs + 12 * token);
  Attention windowed = core(10);
  windowed.reach = {5};  // its first and last query each see 5 tokens, but different ones
  CHECK(forward(windowed, prefill).moved.cache == 3 * 14 * token);
}

TEST_CASE("a step that verifies drafts reads the union of the tokens that the drafts attend to",
          "[cost][traffic][mtp]") {
  Attention s = core(10);  // tokens 10 to 13
  CHECK(forward(s, decode).moved.cache == 3 * 14 * token);
  s.reach = {5};  // token 10 attends to tokens 6 to 10
  CHECK(forward(s, decode).moved.cache == 3 * 8 * token);
}

TEST_CASE("a decode step with a window of one token reads that token", "[cost][traffic]") {
  Attention s = core(10);
  s.queries = 1;
  s.keys = 11;
  s.reach = {1};
  CHECK(forward(s, decode).moved.cache == 3 * token);
  CHECK(forward(s, decode).model == Flops(2 * 3 * 6 * (7 + 5)));
}

TEST_CASE("a decode step with chunks reads only the tokens of its chunk", "[cost][traffic]") {
  Attention s = core(10);
  s.queries = 1;
  s.reach = {4, true};
  for (const auto& [keys, read] : {std::pair<Count, int>{4, 4}, {5, 1}, {8, 4}, {9, 1}, {11, 3}}) {
    s.keys = keys;
    CHECK(forward(s, decode).moved.cache == 3 * read * token);
    CHECK(forward(s, decode).model == read * Flops(2 * 3 * 6 * (7 + 5)));
  }
}

TEST_CASE("a window of one token caches one token per layer", "[cost][traffic]") {
  Arch a = test::even();
  a.local = {.reach = {1}, .layers = LayerSet::all(3)};
  CHECK(cache_bytes(a, {}, 100) == Bytes(3 * 2 * 8 * (8 + 8)));
}

TEST_CASE("an expanded latent core reads expanded keys and values, and writes latent rows", "[cost][traffic]") {
  Attention latent = core();
  latent.kv_heads = 6;
  latent.latent_dim = 9;
  latent.rope_dim = 2;
  const Cost c = forward(latent, prefill);
  CHECK(c.moved.cache == 0);
  CHECK(c.moved.activations == queries_and_outputs + 12 * 3 * token + 2 * 12 * 9);
  latent.expanded_cache = true;  // reads the cached tensors
  CHECK(forward(latent, prefill).moved.cache == 12 * 3 * token);
  CHECK(forward(latent, prefill).moved.activations == queries_and_outputs + 12 * 3 * token);
}

TEST_CASE("sinks are read, and their gradient is written or accumulated", "[cost][traffic]") {
  Attention s = core();
  s.sinks = true;
  CHECK(forward(s, train).moved.weights == 2 * 6);
  CHECK(backward(s, train).moved.weights == 2 * 6 + 4 * 6);
  Pricing more = train;
  more.accumulate = true;
  CHECK(backward(s, more).moved.weights == 2 * 6 + 2 * 4 * 6);
  CHECK(learned(Shape(s)).total == 6);
  CHECK(learned(Shape(s)).factored == 6);
  CHECK(learned(Shape(core())).total == 0);
}

TEST_CASE("linear attention reads and updates a float32 state in inference, but not in training", "[cost][traffic]") {
  const Shape s = LinearAttention{3, 6, 4, 5, 6, 5};
  CHECK(forward(s, train).model == Flops(4 * 12 * 6 * 5 * 5));
  CHECK(forward(s, train).executed == Flops(4 * 12 * 6 * 5 * 5));
  CHECK(backward(s, train).model == Flops(8 * 12 * 6 * 5 * 5));
  CHECK(backward(s, train).executed == Flops((8 + 2) * 12 * 6 * 5 * 5));  // plus the recomputed states
  CHECK(forward(s, train).moved.activations == 2 * 4 * 12 * 6 * 5);       // q, k, v, o
  CHECK(backward(s, train).moved.activations == 2 * 8 * 12 * 6 * 5);      // and their gradients
  CHECK(forward(s, train).moved.cache == 0);
  CHECK(forward(s, decode).moved.cache == 2 * 4 * 3 * 6 * 5 * 5);
}

TEST_CASE("element-wise operators read their inputs and write their outputs once", "[cost][traffic]") {
  CHECK(moved(PointwiseKind::rope, false) == 2 * 2);
  CHECK(moved(PointwiseKind::route, false) == 2 * 2);
  CHECK(moved(PointwiseKind::dispatch, false) == 2 * 2);
  CHECK(moved(PointwiseKind::combine, false) == 2 * (1 + 2));
  CHECK(moved(PointwiseKind::add, true) == 2 * 3);
  CHECK(moved(PointwiseKind::multiply, true) == 2 * 5);
  CHECK(moved(PointwiseKind::gate, true) == 2 * 5);
  CHECK(moved(PointwiseKind::rope, true) == 2 * 2);
  CHECK(moved(PointwiseKind::dropout, true) == 2 * 2 + 1);
  CHECK(moved(PointwiseKind::route, true) == 2 * 2);
  CHECK(moved(PointwiseKind::dispatch, true) == 2 * 2);
  CHECK(moved(PointwiseKind::combine, true) == 2 * (1 + 2 * 2));
}

TEST_CASE("parameters are read in forward and backward, and their gradients are written", "[cost][traffic]") {
  const Shape xielu = Pointwise{.kind = PointwiseKind::activate, .rows = 3, .width = 5, .weights = 2};
  CHECK(forward(xielu, train).moved.weights == 2 * 2);
  CHECK(backward(xielu, train).moved.weights == 2 * 2 + 4 * 2);
  CHECK(learned(xielu).total == 2);
  CHECK(learned(xielu).factored == 2);
  CHECK(backward(Norm{3, 13, 26, true}, train).moved.weights == 2 * 26 + 4 * 26);
  const Shape matrix = Linear{.rows = 3, .in = 13, .out = 5, .bias = true};
  CHECK(forward(matrix, train).moved.weights == 2 * (65 + 5));
  CHECK(backward(matrix, train).moved.weights == 2 * 65 + 4 * (65 + 5));  // dx = dy W has no bias
  CHECK(forward(matrix, train).moved.activations == 2 * 3 * (13 + 5));
  CHECK(backward(matrix, train).moved.activations == 2 * 2 * 3 * (13 + 5));
  // One token, routed to 2 of 7 experts: two matrices are read and have gradients.
  const Shape experts = Linear{.rows = 2, .in = 13, .out = 5, .groups = 7, .top_k = 2};
  CHECK(forward(experts, train).moved.weights == Approx(2 * 2 * 65));
  CHECK(backward(experts, train).moved.weights == Approx(2 * (2 * 65 + 4 * 65)));
}

TEST_CASE("every component is read in its storage format, and attention norms in the norm format", "[cost][traffic]") {
  Pricing q = decode;
  q.weight[Component::experts] = *dtype("mxfp4");
  q.weight[Component::norm] = dtypes::fp32;
  const Shape matrix = Linear{.rows = 1, .in = 64, .out = 5, .bias = true}, norm = Norm{3, 13, 26, true};
  CHECK(forward(matrix, q, Component::attention).moved.weights == 2 * (64 * 5 + 5));
  CHECK(forward(matrix, q, Component::experts).moved.weights ==
        5 * 2 * 17 + 2 * 5);  // 17 bytes per 32 elements; bias in the compute format
  CHECK(forward(norm, q, Component::attention).moved.weights == 4 * 26);
  CHECK(weight_bytes(norm, stored(norm, Component::attention, q)) == Bytes(4 * 26));
}

TEST_CASE("training stores all weights in one format without groups, whatever the checkpoint's formats",
          "[cost][traffic]") {
  Plan p;
  p.weight_precision = dtypes::fp32;
  CHECK(training_weights(p) == dtypes::fp32);
  p.weight_precision = *dtype("awq");
  CHECK(training_weights(p) == p.precision);
  p.weight_precision = dtypes::fp32;
  p.weight_precision[Component::norm] = dtypes::bf16;
  CHECK(training_weights(p) == p.precision);
  CHECK(pricing(p, Phase::training).weight == WeightFormats(p.precision));
  CHECK(pricing(p, Phase::decode).weight == p.weight_precision);
}

TEST_CASE("tables, norms and biases are read in their storage format", "[cost][traffic]") {
  Pricing q = decode;
  q.weight = *dtype("nf4");  // leaves tables and vectors in the compute format
  REQUIRE_FALSE(q.weight[Component::mlp].format().covers_embedding);
  REQUIRE_FALSE(q.weight[Component::mlp].format().covers_vectors);
  const Shape lookup = Lookup{3, 19, 64}, norm = Norm{3, 13, 26, true};
  CHECK(forward(lookup, q, Component::embedding).moved.weights == 2 * 3 * 64);
  CHECK(forward(lookup, q, Component::position).moved.weights == 2 * 3 * 64);
  CHECK(forward(norm, q, Component::norm).moved.weights == 2 * 26);
  CHECK(backward(norm, q, Component::norm).moved.weights == 2 * 26 + 4 * 26);
  const Shape xielu = Pointwise{.kind = PointwiseKind::activate, .rows = 3, .width = 5, .weights = 2};
  CHECK(forward(xielu, q, Component::mlp).moved.weights == 2 * 2);
  CHECK(backward(xielu, q, Component::mlp).moved.weights == 2 * 2 + 4 * 2);
  Attention sinks = core();
  sinks.sinks = true;
  CHECK(forward(sinks, q, Component::attention).moved.weights == 2 * 6);
  CHECK(backward(sinks, q, Component::attention).moved.weights == 2 * 6 + 4 * 6);
  const Shape head = Linear{.rows = 3, .in = 64, .out = 5, .bias = true};
  CHECK(forward(head, q, Component::lm_head).moved.weights == 2 * (64 + 1) * 5);
  const double packed = 5 * (32 + 4);  // 64 values of 4 bits and their scale, five times
  CHECK(forward(head, q, Component::mlp).moved.weights == packed + 2 * 5);
  CHECK(forward(head, q, Component::attention).moved.weights == packed + 2 * 5);
  CHECK(backward(head, q, Component::mlp).moved.weights == packed + 4 * (64 + 1) * 5);
}

TEST_CASE("the number of output elements follows from the operator's shape", "[cost][traffic]") {
  CHECK(out_elements(Lookup{3, 19, 13}) == 3 * 13);
  CHECK(out_elements(Linear{.rows = 3, .in = 13, .out = 5}) == 3 * 5);
  CHECK(out_elements(Norm{3, 13, 26, true}) == 3 * 13);
  CHECK(out_elements(core(10)) == 12 * 6 * 5);
  CHECK(out_elements(LinearAttention{3, 6, 4, 5, 6, 5}) == 12 * 6 * 5);
  CHECK(out_elements(Pointwise{.rows = 3, .width = 5}) == 15);
  CHECK(out_elements(Loss{3, 19}) == 0);
}

TEST_CASE("operators save their own masks, probabilities, gates and token ids", "[cost][traffic]") {
  const auto own = [](PointwiseKind kind) {
    return held(Pointwise{.kind = kind, .rows = 3, .width = 5, .top_k = 2}, train).saved;
  };
  CHECK(own(PointwiseKind::dropout) == Bytes(3 * 5));
  CHECK(own(PointwiseKind::route) == Bytes(2 * 4 * 3 * 5));  // float32: probabilities and gates
  CHECK(own(PointwiseKind::combine) == Bytes(4 * 3 * 2));
  CHECK(own(PointwiseKind::add) == Bytes());
  CHECK(held(Lookup{3, 19, 13}, train).saved == Bytes(8 * 3));
  CHECK(held(core(), train).saved == Bytes(4 * 12 * 6));
  const Pricing naive = of(Phase::training, AttentionImpl::naive);
  CHECK(held(core(), naive).saved == Bytes(2 * 12 * 6 * 4));
  CHECK(held(core(), naive).scratch_backward == Bytes(2 * 12 * 6 * 4));
  CHECK(held(core(), naive).scratch == Bytes());
  CHECK(held(core(10), of(Phase::prefill, AttentionImpl::naive)).scratch == Bytes(2 * 12 * 6 * 14));
  CHECK(held(core(), train).scratch_backward == Bytes());
}

TEST_CASE("a gradient needs its operator's inputs, and flash attention also its output", "[cost][traffic]") {
  const auto needed = [](const Shape& s, const Pricing& p) {
    const Needs n = held(s, p).needs;
    std::string which;
    for (const bool in : n.in) which += in ? 'i' : '-';
    return which + (n.out ? 'o' : '-');
  };
  CHECK(needed(core(), train) == "iiii--o");  // four if queries meet latent rows directly
  CHECK(needed(core(), of(Phase::training, AttentionImpl::naive)) == "iiii---");
  CHECK(needed(LinearAttention{3, 6, 4, 5, 6, 5}, train) == "iiiiii-");
  CHECK(needed(Linear{.rows = 3, .in = 13, .out = 5}, train) == "i------");
  CHECK(needed(Norm{3, 13, 13, false}, train) == "i------");
  CHECK(needed(Shift{3, 4, 5, 6}, train) == "i------");
  CHECK(needed(Lookup{3, 19, 13}, train) == "-------");
  const auto pointwise = [&](PointwiseKind k) { return needed(Pointwise{.kind = k, .rows = 3, .width = 5}, train); };
  CHECK(pointwise(PointwiseKind::multiply) == "ii-----");
  CHECK(pointwise(PointwiseKind::gate) == "ii-----");
  CHECK(pointwise(PointwiseKind::blend) == "iii----");
  CHECK(pointwise(PointwiseKind::bonus) == "iiiii--");
  CHECK(pointwise(PointwiseKind::activate) == "i------");
  CHECK(pointwise(PointwiseKind::combine) == "i------");
  for (const PointwiseKind k :
       {PointwiseKind::add, PointwiseKind::rope, PointwiseKind::dropout, PointwiseKind::route, PointwiseKind::dispatch})
    CHECK(pointwise(k) == "-------");
}
