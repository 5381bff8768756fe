// Pipeline time: bubbles of equal stages match the papers, and no time is counted in two parts of a step.

#include <algorithm>

#include "calc/textbook/parallel.hpp"
#include "tests/calc/cluster_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

constexpr double t_forward = 3, t_input = 4, t_weight = 2;

PassPrice pass(double seconds) {
  PassPrice p;
  p.bound.compute = p.bound_work.matmul = Seconds(seconds);
  return p;
}

/// Layers that each take t_forward, t_input and t_weight seconds, without embedding, head or parameters.
Prices equal_layers(Count layers) {
  Arch a = even();
  a.layers = layers;
  Prices p = price(a, {.seq = 8, .global_batch = 1}, {}, device(1e12, 1e11).device);
  for (LayerPrice& row : p.rows) {
    const bool layer = row.segment == SegmentKind::block;
    row.forward = pass(layer ? t_forward : 0);
    row.backward_input = pass(layer ? t_input : 0);
    row.backward_weight = pass(layer ? t_weight : 0);
    row.learned = row.experts = row.tied = {};
    row.summed = 0;
  }
  return p;
}

constexpr Count layers = 72;

StepTime run(const Layout& l, Count m, const Prices& prices = equal_layers(layers)) {
  Plan p;
  p.seq = 8;
  p.global_batch = mul(m, l.dp);
  Cluster c = device(1e12, 1e11, 1e300);
  c.levels[0].ranks = 0;
  return assemble(prices, p, l, c).bound;
}

/// Times of a stage of equal layers.
textbook::StageTimes stage(const Layout& l) {
  const double n = static_cast<double>(layers / l.pp);
  return {.forward = n * t_forward,
          .backward = n * (t_input + t_weight),
          .weight_part = n * t_weight,
          .overlapped = n / 2 * (t_forward + t_input + t_weight)};
}

}  // namespace

TEST_CASE("with equal stages, pipeline stalls match the papers exactly and there is no imbalance",
          "[cluster][bubble]") {
  const auto check = [](const Layout& l, textbook::Schedule s, Count m) {
    INFO(text_of(l) << " " << m);
    const StepTime t = run(l, m);
    CHECK(t[Part::bubble].value == Approx(textbook::bubble_seconds(s, l.pp, stage(l), l.chunks)).epsilon(1e-12));
    CHECK(t[Part::imbalance].value <= 1e-12 * t.total().value);
    CHECK(t[Part::matmul].value == Approx(static_cast<double>(m * layers / l.pp) * (t_forward + t_input + t_weight)));
  };
  for (const Count p : {2, 3, 4, 8})
    for (const Count m : {8, 24, 96}) {
      check({.pp = p, .schedule = Schedule::gpipe}, textbook::Schedule::gpipe, m);
      check({.pp = p}, textbook::Schedule::one_f_one_b, m);
      check({.pp = p, .schedule = Schedule::zb_h1}, textbook::Schedule::zb_h1, m);
      if (m >= 2 * p) check({.pp = p, .schedule = Schedule::zb_h2}, textbook::Schedule::zb_h2, m);
      if (m % p == 0 && m > p)
        check({.pp = p, .chunks = 3, .schedule = Schedule::interleaved}, textbook::Schedule::interleaved, m);
    }
}

TEST_CASE("equal DualPipe stages stall for (P/2 - 1) (F&B + B - 3 W) if F equals the input part of B",
          "[cluster][bubble]") {  // README of github.com/deepseek-ai/DualPipe; B: whole backward
  Prices prices = equal_layers(layers);
  for (LayerPrice& row : prices.rows)
    if (row.segment == SegmentKind::block) row.forward = pass(t_input);
  for (const Count p : {4, 6, 8})
    for (const Count m : {2 * p, 4 * p}) {
      const Layout l{.pp = p, .chunks = 2, .schedule = Schedule::dualpipe};
      const double n = static_cast<double>(layers / p);
      const textbook::StageTimes chunk{.forward = n * t_input,
                                       .backward = n * (t_input + t_weight),
                                       .weight_part = n * t_weight,
                                       .overlapped = n * (2 * t_input + t_weight)};
      CHECK(run(l, m, prices)[Part::bubble].value ==
            Approx(textbook::bubble_seconds(textbook::Schedule::dualpipe, p, chunk)).epsilon(1e-12));
    }
}

TEST_CASE("the bubble is Narayanan's fraction of the work, (P - 1)/(v m)",
          "[cluster][bubble]") {  // arXiv:2104.04473, 2.2
  for (const Count v : {1, 2, 3}) {
    const Layout l{.pp = 4, .chunks = v, .schedule = v > 1 ? Schedule::interleaved : Schedule::one_f_one_b};
    for (const Count m : {8, 16, 64}) {
      const StepTime t = run(l, m);
      CHECK(t[Part::bubble] / t[Part::matmul] == Approx(textbook::bubble_ratio(4, m, v).value()).epsilon(1e-12));
      CHECK(t[Part::bubble] / t.total() == Approx(textbook::bubble_ratio(4, m, v, true).value()).epsilon(1e-12));
    }
  }
}

TEST_CASE("ZB-H2, ZB-2p and ZB-V have no bubble if F, B and W take equal times", "[cluster][bubble]") {
  // arXiv:2401.10241, table 1 and section 4: ranks with independent updates need not finish together.
  Prices p = equal_layers(layers);
  for (LayerPrice& row : p.rows)
    if (row.segment == SegmentKind::block) row.forward = row.backward_input = row.backward_weight = pass(1);
  for (const Schedule s : {Schedule::zb_h2, Schedule::zb_2p, Schedule::zb_v}) {
    const Layout l{.pp = 4, .chunks = fixed_chunks(s), .schedule = s};
    CHECK(run(l, 32, p).total().value == Approx(32 * 3 * layers / 4).epsilon(1e-12));
    CHECK(run(l, 32, p)[Part::bubble].value <= 1e-9);
  }
}

TEST_CASE("with post-update validation, a rank's optimizer step waits only for the rank's own gradients",
          "[cluster][bubble]") {
  // Two stages of one layer, F = B = W = 1, four micro-batches, updates of 2 and 20 s. Rank 0 runs F F F B W F B W B W
  // B W from 0 to 12, rank 1 F B F B F B W F B W W W from 1 to 13: 12 s each, so a step takes 12 + 20 s.
  Prices p = equal_layers(2);
  for (LayerPrice& row : p.rows)
    if (row.segment == SegmentKind::block) row.forward = row.backward_input = row.backward_weight = pass(1);
  const auto with_ends = [&](Count table, Count head) {
    Prices with = p;
    for (LayerPrice& row : with.rows) {
      if (row.segment == SegmentKind::embedding) row.learned.total = table;
      if (row.segment == SegmentKind::head) row.learned.total = head;
    }
    return with;
  };
  const Layout l{.pp = 2, .schedule = Schedule::zb_h2};
  constexpr Count per_second = 100'000'000'000 / 30;  // parameters that Adam updates per second at 30 bytes each
  const auto step = [&](const Prices& prices) { return run(l, 4, prices).total().value; };
  CHECK(step(with_ends(2 * per_second, 20 * per_second)) == Approx(12 + 20).epsilon(1e-9));
  CHECK(step(with_ends(20 * per_second, 2 * per_second)) == Approx(12 + 20).epsilon(1e-9));
}

TEST_CASE("waiting for gathered weights causes no imbalance between equal stages", "[cluster][bubble]") {
  Prices p = equal_layers(layers);
  for (LayerPrice& row : p.rows)
    if (row.segment == SegmentKind::block) row.learned.total = 1000;
  Plan plan;
  plan.seq = 8;
  plan.global_batch = 8 * 2;
  Cluster c = device(1e12, 1e11, 100);  // 7.5 s for a layer's 2000 bytes of weights, and 15 s for its gradients
  c.levels[0].ranks = 0;
  const StepTime t = assemble(p, plan, {.pp = 4, .dp = 2, .zero = Zero::weights}, c).bound;
  CHECK(t[Part::dp].value > 0.3 * t.total().value);
  CHECK(t[Part::imbalance].value <= 1e-12 * t.total().value);
}

TEST_CASE("the imbalance of unequal stages is the slowest stage's work minus the mean", "[cluster][bubble]") {
  Layout l{.pp = 4, .schedule = Schedule::gpipe};
  for (const Count n : {17, 19, 18, 18}) l.stage_layers.push(n);
  constexpr Count m = 16;
  const StepTime t = run(l, m);
  const double layer = t_forward + t_input + t_weight;
  CHECK(t[Part::imbalance].value == Approx(m * (19 - 18) * layer).epsilon(1e-12));
  // GPipe's forwards take m - 1 times the slowest stage plus each stage once, and so do its backwards.
  CHECK(t.total().value == Approx(((m - 1) * 19 + 72) * layer).epsilon(1e-12));
}

TEST_CASE("with a single stage, no schedule adds stalls, imbalance or messages", "[cluster][bubble]") {
  Cases cases(21);
  for (int i = 0; i < 300; ++i) {
    ClusterCase c = cases.any();
    c.layout.pp = 1;
    if (!Cases::sound(c)) continue;
    const StepTime t = train(c.arch, c.plan, c.layout, c.cluster).bound;
    REQUIRE(t[Part::bubble] == Seconds());
    REQUIRE(t[Part::imbalance] == Seconds());
    REQUIRE(t[Part::pp] == Seconds());
    c.layout.schedule = Schedule::dualpipe;
    c.layout.chunks = 1;
    REQUIRE(train(c.arch, c.plan, c.layout, c.cluster).bound.total() == t.total());
  }
}
