// Costs of every operator shape, counted by hand for small sizes at which no two terms coincide.

#include "calc/cost/cost.hpp"
#include "calc/cost/held.hpp"

#include <cmath>

#include "calc/block/program.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

Pricing of(Phase phase, AttentionImpl attention = AttentionImpl::flash) {
  Pricing p;
  p.phase = phase;
  p.attention = attention;
  p.cached = phase != Phase::training;
  return p;
}
const Pricing train = of(Phase::training), decode = of(Phase::decode);

/// An attention core softmax(q k') v over one sequence with 6 query heads and 2 KV heads of width 5.
Attention core(Count queries, Count past, Reach reach = {}) {
  return {.sequences = 1,
          .heads = 6,
          .kv_heads = 2,
          .queries = queries,
          .keys = past + queries,
          .qk_dim = 5,
          .v_dim = 5,
          .reach = reach};
}

}  // namespace

TEST_CASE("a matmul costs two FLOPs per weight and row, and twice as many in backward", "[cost]") {
  const Shape s = Linear{.rows = 3, .in = 5, .out = 7, .bias = true};
  const Cost f = forward(s, train), b = backward(s, train);
  CHECK(f.model == Flops(2 * 3 * 5 * 7));
  CHECK(b.model == Flops(4 * 3 * 5 * 7));
  CHECK(f.executed == f.model);
  CHECK(b.executed == b.model);
  CHECK(f.moved.weights == 2 * (5 * 7 + 7));
  CHECK(f.moved.activations == 2 * 3 * (5 + 7));
  CHECK(b.moved.weights == 2 * 5 * 7 + 4 * (5 * 7 + 7));  // reads W; writes its gradient and the bias's in float32
  CHECK(b.moved.activations == 2 * 2 * 3 * (5 + 7));      // reads x once and dy twice, once per matmul; writes dx
}

TEST_CASE("accumulated gradients are read before they are written", "[cost]") {
  Pricing p = train;
  p.accumulate = true;
  CHECK(backward(Linear{.rows = 3, .in = 5, .out = 7}, p).moved.weights == 2 * 5 * 7 + 2 * 4 * 5 * 7);
}

TEST_CASE("a matmul's parameters are its matrix and bias, but a tied matrix is counted with the embedding", "[cost]") {
  Learned l = learned(Linear{.rows = 3, .in = 5, .out = 7, .bias = true});
  CHECK(l.total == 5 * 7 + 7);
  CHECK(l.matmul == 5 * 7);
  CHECK(l.factored == 5 + 7 + 7);
  CHECK(l.idle == 0);
  l = learned(Linear{.rows = 3, .in = 5, .out = 7, .tied = true});
  CHECK(l.total == 0);
  CHECK(l.matmul == 5 * 7);
  CHECK(l.factored == 0);
}

TEST_CASE("all but top_k experts are inactive, and Adafactor factors each expert separately", "[cost]") {
  const Learned l = learned(Linear{.rows = 6, .in = 5, .out = 7, .groups = 11, .top_k = 2, .bias = true});
  CHECK(l.total == 11 * (35 + 7));
  CHECK(l.idle == 9 * (35 + 7));
  CHECK(l.matmul == 11 * 35);
  CHECK(l.matmul_idle == 9 * 35);
  CHECK(l.factored == 11 * (5 + 7 + 7));
}

TEST_CASE("the expected number of active experts grows with the number of tokens, from top_k to all experts",
          "[cost]") {
  CHECK(groups_touched(8, 2, 1) == Approx(2));
  CHECK(groups_touched(8, 2, 2) == Approx(2 + 2 * 6.0 / 8));
  CHECK(groups_touched(8, 8, 1) == Approx(8));
  CHECK(groups_touched(8, 2, 1000000) == Approx(8));
  CHECK(groups_touched(256, 8, 1) == Approx(8).epsilon(1e-13));
  // 3 tokens x 2 of 8 experts: FLOPs follow the tokens, bytes the 8 (1 - (3/4)^3) = 37/8 active experts.
  const Cost c = forward(Linear{.rows = 6, .in = 5, .out = 7, .groups = 8, .top_k = 2}, decode);
  CHECK(c.model == Flops(2 * 6 * 35));
  CHECK(c.moved.weights == Approx(37.0 / 8 * 2 * 35));
}

TEST_CASE("a lookup reads its tokens' rows, and its parameters are the table", "[cost]") {
  const Shape s = Lookup{3, 19, 13};
  CHECK(forward(s, train).model == Flops());
  CHECK(forward(s, train).moved.weights == 2 * 3 * 13);
  CHECK(forward(s, train).moved.activations == 2 * 3 * 13);
  CHECK(backward(s, train).moved.weights == 4 * 3 * 13);
  CHECK(learned(s).total == 19 * 13);
  CHECK(learned(s).matmul == 0);
  CHECK(learned(s).factored == 19 + 13);
}

TEST_CASE("a norm reads and writes its rows and counts no model FLOPs", "[cost]") {
  const Shape s = Norm{.rows = 3, .width = 13, .weights = 26, .centered = true};
  CHECK(forward(s, train).model == Flops());
  CHECK(forward(s, train).moved.activations == 2 * 2 * 3 * 13);
  CHECK(forward(s, train).moved.weights == 2 * 26);
  CHECK(backward(s, train).moved.activations == 3 * 2 * 3 * 13);
  CHECK(held(s, train).saved == Bytes(3 * 8));  // mean and deviation
  CHECK(held(Norm{3, 13, 13, false}, train).saved == Bytes(3 * 4));
}

TEST_CASE("attention pairs match a brute-force count for every window and past length", "[cost]") {
  for (Count queries = 1; queries <= 7; ++queries)
    for (Count past = 0; past <= 9; ++past)
      for (Count window = 0; window <= 18; ++window) {
        CAPTURE(queries, past, window);
        Count exact = 0, growing = 0, full = 0;
        for (Count i = 1; i <= queries; ++i) {
          const Count seen = past + i, most = window == 0 ? past + queries : window;
          exact += std::min(seen, most);
          growing += seen <= most ? 1 : 0;  // causal_half: half a pair less for each row longer than the row before it
          full += std::min(past + queries, most);
        }
        CHECK(twice_pairs(queries, past, {window}, AttentionFlops::causal_exact) == 2 * exact);
        CHECK(twice_pairs(queries, past, {window}, AttentionFlops::causal_half) == 2 * exact - growing);
        CHECK(twice_pairs(queries, past, {window}, AttentionFlops::full) == 2 * full);
      }
}

TEST_CASE("attention pairs within chunks match a brute-force count, and each chunk counts as a sequence", "[cost]") {
  for (Count queries = 1; queries <= 9; ++queries)
    for (Count past = 0; past <= 9; ++past)
      for (Count chunk = 1; chunk <= 19; ++chunk) {
        CAPTURE(queries, past, chunk);
        const Reach reach{chunk, true};
        Count exact = 0, full = 0;
        for (Count i = past; i < past + queries; ++i)
          for (Count j = 0; j < past + queries; ++j) {
            const bool same = i / chunk == j / chunk;
            exact += same && j <= i;
            full += same;
            CHECK((same && j <= i) == (j >= reach.first(i) && j <= i));
            if (j <= i) CHECK(same == (i < reach.end(j, past + queries)));
          }
        CHECK(twice_pairs(queries, past, reach, AttentionFlops::causal_exact) == 2 * exact);
        CHECK(twice_pairs(queries, past, reach, AttentionFlops::causal_half) == 2 * exact - queries);
        CHECK(twice_pairs(queries, past, reach, AttentionFlops::full) == 2 * full);
      }
}

TEST_CASE("chunks of 8192 score half as many pairs as a window of 8192 at 131,072 tokens", "[cost]") {
  // 16 chunks of 8192 x 8193 / 2 pairs. The window has as many for its first 8192 tokens, and 8192 for each of the
  // other 122,880.
  CHECK(twice_pairs(131072, 0, {8192, true}, AttentionFlops::causal_exact) == 16 * (8192 * 8193));
  CHECK(twice_pairs(131072, 0, {8192}, AttentionFlops::causal_exact) == 8192 * 8193 + 2 * 122880 * 8192);
}

TEST_CASE("an attention core costs four FLOPs per pair, head and channel", "[cost]") {
  Pricing p = train;
  const Shape s = core(4, 0);
  CHECK(forward(s, p).model == Flops(4 * 6 * 5 * 16));
  p.convention = AttentionFlops::causal_exact;
  CHECK(forward(s, p).model == Flops(4 * 6 * 5 * 10));
  p.convention = AttentionFlops::causal_half;
  CHECK(forward(s, p).model == Flops(4 * 6 * 5 * 8));
  CHECK(backward(s, p).model == Flops(2 * 4 * 6 * 5 * 8));
}

TEST_CASE("naive kernels compute all pairs; flash kernels skip masked pairs but recompute scores in backward",
          "[cost]") {
  const Shape s = core(4, 0);
  CHECK(forward(s, train).executed == Flops(4 * 6 * 5 * 10));
  CHECK(backward(s, train).executed == Flops(4 * 6 * 5 * 10 * 5 / 2));
  Attention latent = std::get<Attention>(s);
  latent.qk_dim = 7;  // dv and dp have width 3; dq, dk and the scores 7
  latent.v_dim = 3;
  CHECK(backward(Shape(latent), train).executed == Flops(2 * latent.sequences * latent.heads * 10 * (3 * 7 + 2 * 3)));
  const Pricing naive = of(Phase::training, AttentionImpl::naive);
  CHECK(forward(s, naive).executed == Flops(4 * 6 * 5 * 16));
  CHECK(backward(s, naive).executed == Flops(2 * 4 * 6 * 5 * 16));
  // 7/12 of naive in the limit: half the pairs, and 3.5 times a forward core instead of 3 times.
  const Shape wide = core(1 << 20, 0);
  const auto all = [&](const Pricing& p) {
    return static_cast<double>((forward(wide, p).executed + backward(wide, p).executed).value);
  };
  CHECK(all(train) / all(naive) == Approx(7.0 / 12).epsilon(1e-5));
}

TEST_CASE("a decode core reads keys and values once per KV head with either kernel", "[cost]") {
  for (const AttentionImpl a : {AttentionImpl::naive, AttentionImpl::flash}) {
    const Cost c = forward(core(1, 10), of(Phase::decode, a));
    CHECK(c.model == Flops(4 * 6 * 5 * 11));
    CHECK(c.executed == c.model);
    CHECK(c.moved.cache == 2 * 11 * 2 * (5 + 5));
    const double scores = a == AttentionImpl::naive ? 4 * 2 * 6 * 11 : 0;
    CHECK(c.moved.activations == 2 * 6 * (5 + 5) + 2 * 2 * (5 + 5) + scores);  // q and o, the new k and v
  }
}

TEST_CASE("a decode core with a window reads only the window", "[cost]") {
  const Cost c = forward(core(1, 10, {7}), decode);
  CHECK(c.model == Flops(4 * 6 * 5 * 7));
  CHECK(c.moved.cache == 2 * 7 * 2 * 10);
  CHECK(forward(core(1, 5, {7}), decode).moved.cache == 2 * 6 * 2 * 10);
  CHECK(forward(core(1, 6, {7}), decode).moved.cache == 2 * 7 * 2 * 10);
}

TEST_CASE("an absorbed core reads one latent row per token", "[cost]") {
  const Shape s = Attention{.sequences = 1,
                            .heads = 6,
                            .kv_heads = 1,
                            .queries = 1,
                            .keys = 11,
                            .qk_dim = 9,
                            .v_dim = 7,
                            .latent_dim = 9,
                            .absorbed = true};
  const Cost c = forward(s, decode);
  CHECK(c.model == Flops(2 * 6 * (9 + 7) * 11));  // 2A (2r + d_r): r 7, d_r 2
  CHECK(c.moved.cache == 2 * 11 * 9);
}

TEST_CASE("flash kernels save log-sum-exps; naive kernels save scores, and with dropout also masks", "[cost]") {
  const Shape s = core(4, 0);
  const Count scores = 4 * 6 * 4;
  CHECK(held(s, train).saved == Bytes(4 * 4 * 6));
  Pricing p = of(Phase::training, AttentionImpl::naive);
  CHECK(held(s, p).saved == Bytes(2 * scores));
  p.dropout = true;
  CHECK(held(s, p).saved == Bytes((2 + 2 + 1) * scores));
  p.softmax_store = SoftmaxStore::seed;
  CHECK(held(s, p).saved == Bytes((2 * 2 + 1) * scores));
  p.dropout = false;
  CHECK(held(s, p).saved == Bytes(2 * 2 * scores));
}

TEST_CASE("element-wise operators move bytes but count no model FLOPs", "[cost]") {
  const auto moved = [](PointwiseKind k, bool back, Count top_k = 0) {
    const Shape s = Pointwise{.kind = k, .rows = 3, .width = 5, .top_k = top_k};
    const Cost c = back ? backward(s, train) : forward(s, train);
    CHECK(c.model == Flops());
    CHECK(c.executed == Flops());
    return c.moved.activations / 15;  // bytes per output element
  };
  CHECK(moved(PointwiseKind::add, false) == 2 * 3);
  CHECK(moved(PointwiseKind::activate, false) == 2 * 2);
  CHECK(moved(PointwiseKind::activate, true) == 2 * 3);
  CHECK(moved(PointwiseKind::multiply, false) == 2 * 3);
  CHECK(moved(PointwiseKind::multiply, true) == 2 * 5);
  CHECK(moved(PointwiseKind::gate, false) == 2 * 3);
  CHECK(moved(PointwiseKind::dropout, false) == 2 * 2 + 1);
  CHECK(moved(PointwiseKind::combine, false, 2) == 2 * (1 + 2));
}

TEST_CASE("a loss reads logits and writes their gradient in their storage format", "[cost]") {
  const Loss loss{3, 19};
  CHECK(forward(loss, train).moved.activations == 4 * 3 * 19);
  CHECK(backward(loss, train).moved.activations == 8 * 3 * 19);
  CHECK(held(loss, train).saved == Bytes());
  Pricing p = train;
  p.logits = LogitFormat::compute;
  CHECK(forward(loss, p).moved.activations == 2 * 3 * 19);
  CHECK(backward(loss, p).moved.activations == 4 * 3 * 19);
  CHECK(held(loss, p).saved == Bytes(4 * 3));  // a log-sum-exp per row
  p.logits = LogitFormat::with_gradient;       // computed from the float32 copy
  CHECK(forward(loss, p).moved.activations == 4 * 3 * 19);
  CHECK(backward(loss, p).moved.activations == 8 * 3 * 19);
}

TEST_CASE("a head writes logits in their storage format, or in the compute format during generation", "[cost]") {
  const Shape head = Linear{.rows = 3, .in = 5, .out = 19};
  const auto written = [&](const Pricing& p) {
    return forward(head, p, Component::lm_head).moved.activations - 2 * 3 * 5;
  };
  Pricing p = train;
  CHECK(written(p) == 4 * 3 * 19);
  for (const LogitFormat f : {LogitFormat::compute, LogitFormat::with_gradient}) {
    p.logits = f;
    CHECK(written(p) == 2 * 3 * 19);
  }
  CHECK(written(decode) == 2 * 3 * 19);
  CHECK(backward(head, train, Component::lm_head).moved.activations == 2 * 2 * 3 * (5 + 19));
}

// ---- Weights as stored and as read

TEST_CASE("a pass reads exactly the stored bytes of every matrix", "[contract][cost]") {
  // 300 x 100: no format's groups divide both sides evenly, so the test detects the axis along which groups lie.
  Arch a = prime_gqa();
  a.hidden = a.embedding_width = 300;
  a.mlp_width = 100;
  const OpList block = first_block(a, {.sequences = 1});
  for (const Format& f : formats) {
    CAPTURE(std::string(f.name));
    Pricing p = decode;
    p.weight = *dtype(f.name);
    for (const Op& op : block)
      if (op.name == "mlp.up" || op.name == "mlp.down")
        CHECK(forward(op.shape, p).moved.weights ==
              static_cast<double>(weight_bytes(op.shape, stored(op.shape, Component::mlp, p)).value));
  }
}

TEST_CASE("a tied head stores no weights but reads a matrix", "[contract][cost]") {
  Arch a = prime_gqa();
  a.tied_head = true;
  const OpList head = head_ops(a, {.sequences = 1});
  const Op& op = head[1];
  REQUIRE(op.name == "head.logits");
  CHECK(weight_bytes(op.shape, stored(op.shape, op.component, decode)) == Bytes());
  CHECK(forward(op.shape, decode).moved.weights == 2 * 13 * 19);
}

// ---- Overflow

TEST_CASE("FLOPs near 2^128 are exact, and larger ones throw Overflow", "[contract][cost]") {
  // Twice the pairs is S (S + 1), S 2^30; sequences 2^32, heads 2^22, widths 2^11 + 2^11: slightly over 2^126 forward.
  Attention a{.sequences = Count{1} << 32,
              .heads = Count{1} << 22,
              .kv_heads = 1,
              .queries = Count{1} << 30,
              .keys = Count{1} << 30,
              .qk_dim = 1 << 11,
              .v_dim = 1 << 11};
  Pricing p = train;
  p.convention = AttentionFlops::causal_exact;
  const Int128 once = forward(a, p).executed.value;
  CHECK((once == (Int128{1} << 126) + (Int128{1} << 96)));
  CHECK((backward(a, p).executed.value == once / 2 * 5));
  a.heads *= 4;
  CHECK_THROWS_AS(forward(a, p), Overflow);
}
