// Bytes sent by a rank per step, derived from step times over links without latency and without overlap.

#include <algorithm>

#include "calc/textbook/parallel.hpp"
#include "tests/calc/cluster_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;
using textbook::Fraction;

namespace {

constexpr double speed = 1e9;

/// One level that connects all ranks.
Cluster one_level() {
  Cluster c = device(1e12, 1e11, speed);
  c.levels[0].ranks = 0;
  return c;
}

Plan plan(Count micro_batch, Count micro_batches, const Layout& l) {
  Plan p;
  p.seq = 64;
  p.micro_batch = micro_batch;
  p.global_batch = mul(micro_batch, micro_batches, l.dp);
  p.overlap = 0;
  return p;
}

double sent(const Arch& a, const Plan& p, const Layout& l, Part part) {
  return speed * train(a, p, l, one_level()).bound[part].value;
}

Count outside(const Arch& a) {
  const Prices prices = price(a, {.seq = 1, .global_batch = 1}, {}, {});
  return prices.embedding().learned.total + prices.head().learned.total;
}

}  // namespace

TEST_CASE("data-parallel bytes per step match the textbook for each ZeRO stage", "[cluster][bytes]") {
  for (const Arch& a : {even(), even_latent(), even_moe(), prime_gated()})
    for (const Count d : {2, 3, 8})
      for (const Count m : {1, 2, 5})
        for (const Count g : {2, 4})
          for (const Zero z : {Zero::none, Zero::optimizer, Zero::gradients, Zero::weights}) {
            const Layout l{.dp = d, .zero = z};
            Plan p = plan(1, m, l);
            p.gradient_bytes = g;
            const Count n = parameters(a).total;
            const double all = textbook::data_parallel_step(n, d, static_cast<int>(z), 2, g, m).value();
            // The embedding and the head are gathered once per micro-batch, for forward only.
            const Count once = z == Zero::weights ? mul(m, 2, outside(a)) : 0;
            INFO(d << " ranks, " << m << " micro-batches, stage " << static_cast<int>(z));
            CHECK(sent(a, p, l, Part::dp) ==
                  Approx(all - Fraction(once).value() * static_cast<double>(d - 1) / static_cast<double>(d))
                      .epsilon(1e-12));
          }
}

TEST_CASE("with 16-bit gradients accumulated in float32, ranks reduce only the float32 gradients", "[cluster][bytes]") {
  for (const Zero z : {Zero::none, Zero::optimizer, Zero::gradients, Zero::weights}) {
    const Layout l{.dp = 4, .zero = z};
    Plan both = plan(1, 3, l);
    both.gradient_bytes = 6;
    CHECK(sent(even(), both, l, Part::dp) == sent(even(), plan(1, 3, l), l, Part::dp));
  }
}

TEST_CASE("weights kept after forward are gathered once per micro-batch", "[cluster][bytes]") {
  const Layout l{.dp = 4, .zero = Zero::weights, .reshard = false};
  const Count n = parameters(even()).total, m = 3;
  CHECK(sent(even(), plan(1, m, l), l, Part::dp) == Approx(0.75 * static_cast<double>(n * m * (2 + 4))).epsilon(1e-12));
}

TEST_CASE("gradients are reduced across context-parallel ranks as across replicas", "[cluster][bytes]") {
  for (const Zero z : {Zero::none, Zero::optimizer, Zero::weights}) {
    const Layout eight{.dp = 8, .zero = z}, both{.cp = 2, .dp = 4, .zero = z};
    CHECK(sent(even(), plan(1, 2, both), both, Part::dp) ==
          Approx(sent(even(), plan(1, 2, eight), eight, Part::dp)).epsilon(1e-12));
  }
}

TEST_CASE("hybrid sharding reduces and gathers inside a group, and all-reduces shards across groups",
          "[cluster][bytes]") {
  const Layout l{.dp = 8, .zero = Zero::optimizer, .hsdp = 4};
  const Count n = parameters(even()).total;
  REQUIRE(n % 4 == 0);
  const double reduced = 0.75 * 4, gathered = 0.75 * 2, over_groups = 2 * 0.5 * 4 / 4;
  CHECK(sent(even(), plan(1, 1, l), l, Part::dp) ==
        Approx((reduced + gathered + over_groups) * static_cast<double>(n)).epsilon(1e-12));
}

TEST_CASE("expert gradients are reduced across the experts' replicas, others across data-parallel ranks",
          "[cluster][bytes]") {
  // 3 layers with 8 experts each, 3 matrices of 64 x 32 per expert. With 4 expert-parallel ranks, each rank has 2
  // experts, and one other rank has the same two.
  const Layout l{.ep = 4, .dp = 8};
  Arch a = even_moe();
  const Count all_experts = 3 * 8 * 3 * 64 * 32, rest = parameters(a).total - all_experts;
  const double experts = 2 * 0.5 * 4 * static_cast<double>(all_experts / 4);
  CHECK(sent(a, plan(1, 1, l), l, Part::dp) ==
        Approx(experts + 2 * 7.0 / 8 * 4 * static_cast<double>(rest)).epsilon(1e-12));
}

TEST_CASE("gradients of both pipeline copies of a tied table are reduced across data-parallel ranks",
          "[cluster][bytes]") {
  Arch a = even();
  a.layers = 4;
  a.tied_head = true;
  for (const Zero z :
       {Zero::none, Zero::weights}) {  // in ZeRO-1, the last rank's gather overlaps with its wait for input
    const Layout two{.pp = 2, .dp = 4, .zero = z};
    const Count m = 3, n = parameters(a).total, table = 512 * 64;
    const double one = textbook::data_parallel_step(n + table, 4, static_cast<int>(z), 2, 4, m).value();
    // mean of the two stages; in ZeRO-3 embedding and head are gathered once
    const Count norm = 64, once = z == Zero::weights ? mul(m, 2, 2 * table + norm) : 0;
    CHECK(sent(a, plan(1, m, two), two, Part::dp) ==
          Approx((one - 0.75 * static_cast<double>(once)) / 2).epsilon(1e-12));
  }
}

TEST_CASE("without overlap, every schedule reduces each copy of a gradient once per step", "[cluster][bytes]") {
  for (const Schedule schedule : pipeline_tests::all_schedules)
    for (const Zero z : {Zero::none, Zero::gradients}) {
      Arch a = even();
      a.layers = 13;
      Layout l{.pp = 4, .dp = 3, .zero = z, .schedule = schedule};
      l.chunks = fixed_chunks(schedule) > 0 ? fixed_chunks(schedule) : 3;
      const Plan p = plan(1, 8, l);
      const bool twice = schedule == Schedule::dualpipe;  // two copies that reduce their gradients
      const Count n = (twice ? 2 : 1) * parameters(a).total;
      const double summed = (z == Zero::none ? 2 : 1) * 2.0 / 3 * 4 * static_cast<double>(n);  // once per step
      const double of_copies = twice ? 4 * static_cast<double>(n) / (z == Zero::none ? 1 : 3) : 0;
      INFO(name(schedule) << " stage " << static_cast<int>(z));
      const double all = 4 * sent(a, p, l, Part::dp);
      if (z == Zero::none) CHECK(all == Approx(summed + of_copies).epsilon(1e-12));
      if (z == Zero::gradients) {  // also gathers weights, partly hidden by waits for input
        CHECK(all >= (summed + of_copies) * (1 - 1e-6));
        CHECK(all <= (summed + of_copies + 2.0 / 3 * 2 * static_cast<double>(n)) * (1 + 1e-6));
      }
    }
}

TEST_CASE("in DualPipe, gradients are reduced between the two copies of each chunk", "[cluster][bytes]") {
  Arch a = even();
  a.layers = 4;
  const Layout l{.pp = 4, .chunks = 2, .schedule = Schedule::dualpipe};
  // A rank reduces the gradients of its two chunks with the rank that holds the other copy of each. Mean over ranks.
  const double held = 2 * static_cast<double>(parameters(a).total) / 4;
  CHECK(sent(a, plan(1, 8, l), l, Part::dp) == Approx(4 * held).epsilon(1e-12));
  const Layout sharded{.pp = 4, .chunks = 2, .dp = 2, .zero = Zero::optimizer, .schedule = Schedule::dualpipe};
  CHECK(sent(a, plan(1, 8, sharded), sharded, Part::dp) <
        sent(a, plan(1, 8, sharded), {.pp = 4, .chunks = 2, .dp = 2, .schedule = Schedule::dualpipe}, Part::dp));
}

TEST_CASE("tensor-parallel bytes per layer match the textbook", "[cluster][bytes]") {
  for (const bool sp : {false, true})
    for (const Count t : {2, 4, 8})
      for (const Recompute r : {Recompute::none, Recompute::full}) {
        const Layout l{.tp = t, .sp = sp};
        const Count m = 3;
        Plan p = plan(2, m, l);
        p.recompute = r;
        Arch more = even();
        more.layers = 7;  // 4 layers more than even(); embedding, head and loss cancel
        double layers = sent(more, p, l, Part::tp) - sent(even(), p, l, Part::tp);
        if (sp)  // gradients of norms, all-reduced once: 4 layers x 2 norms x 64 float32
          layers -= 2 * static_cast<double>(t - 1) / static_cast<double>(t) * 4 * 4 * 2 * 64;
        const textbook::TensorParallelLayer layer{
            .batch = 2, .seq = 64, .hidden = 64, .precision = 2, .ranks = t, .sequence_parallel = sp};
        CHECK(layers ==
              Approx(4 * m * textbook::tensor_parallel_train(layer, r == Recompute::full).value()).epsilon(1e-10));
      }
}

TEST_CASE("context-parallel bytes per step match the textbook for each method", "[cluster][bytes]") {
  constexpr std::array methods{std::pair{ContextMethod::ring, textbook::ContextMethod::ring},
                               std::pair{ContextMethod::all_gather, textbook::ContextMethod::all_gather},
                               std::pair{ContextMethod::ulysses, textbook::ContextMethod::ulysses}};
  for (const auto& [method, of_textbook] : methods)
    for (const Count c : {2, 4, 8})
      for (const Count m : {1, 3}) {
        const Layout l{.cp = c, .context_method = method};
        const textbook::ContextParallelLayer layer{
            .batch = 2, .seq = 64, .heads = 16, .kv_heads = 8, .head_dim = 8, .precision = 2, .ranks = c};
        INFO(name(method) << " over " << c);
        CHECK(sent(even(), plan(2, m, l), l, Part::cp) ==
              Approx(3 * static_cast<double>(m) * textbook::context_parallel_train(layer, of_textbook).value())
                  .epsilon(1e-12));
      }
}

TEST_CASE("expert-parallel bytes per step match the textbook", "[cluster][bytes]") {
  for (const Count e : {2, 4, 8})
    for (const Count m : {1, 3})
      for (const Recompute r : {Recompute::none, Recompute::full}) {
        const Layout l{.ep = e, .dp = 8};
        Plan p = plan(2, m, l);
        p.recompute = r;
        const double forward = textbook::expert_parallel_forward(2 * 64, 64, 2, e, 2, 2).value();
        const double passes = r == Recompute::full ? 3 : 2;  // backward equals forward, plus the recomputed forward
        CHECK(sent(even_moe(), p, l, Part::ep) == Approx(3 * static_cast<double>(m) * passes * forward).epsilon(1e-12));
      }
}

TEST_CASE("tensor parallelism sends Narayanan's 8 b s h (t-1)/t elements per layer",
          "[cluster][bytes]") {  // arXiv:2104.04473, section 3.2
  const Layout l{.tp = 4};
  Arch more = even();
  more.layers = 4;
  const Plan p = plan(2, 1, l);
  const double layer = sent(more, p, l, Part::tp) - sent(even(), p, l, Part::tp);
  CHECK(layer == Approx(2 * 8 * 2 * 64 * 64 * 3.0 / 4).epsilon(1e-10));  // 2 bytes per element
}

namespace {

/// Step time that a pipeline of equal layers loses to limited message bandwidth, in seconds.
double slower_by_sends(const Layout& l, Count m) {
  Arch a = even();
  a.layers = 8;
  Cluster fast = one_level(), slow = one_level();
  fast.levels[0].bandwidth = BytesPerSecond(1e300);
  const Plan p = plan(2, m, l);
  return (train(a, p, l, slow).bound[Part::pp] - train(a, p, l, fast).bound[Part::pp]).value;
}

}  // namespace

TEST_CASE("a pipeline message has b s h elements, divided among ranks under sequence parallelism", "[cluster][bytes]") {
  // One micro-batch passes through all stages and back: 2 (P - 1) messages.
  const double message = textbook::pipeline_step(2, 64, 64, 2, 1, 1, true).value();
  CHECK(message == 2.0 * 2 * 64 * 64);
  CHECK(slower_by_sends({.pp = 4}, 1) == Approx(2 * 3 * message / speed).epsilon(1e-9));
  CHECK(slower_by_sends({.tp = 2, .sp = true, .pp = 4}, 1) ==
        Approx(2 * 3 * textbook::pipeline_step(2, 64, 64, 2, 1, 1, true, 2).value() / speed).epsilon(1e-9));
}

TEST_CASE("tensor-parallel ranks each send one part of a pipeline message between nodes and all-gather it",
          "[cluster][bytes]") {  // arXiv:2104.04473, section 4.1
  constexpr double slow = speed / 100, message = 2.0 * 2 * 64 * 64;
  Arch a = even();
  a.layers = 8;
  const Layout l{.tp = 2, .pp = 4};
  const Plan p = plan(2, 1, l);
  const auto waits = [&](double bandwidth) {
    Cluster c = one_level();
    c.levels[0].ranks = 2;
    c.levels.push({.ranks = 0, .bandwidth = BytesPerSecond(bandwidth), .latency = {}});
    return train(a, p, l, c).bound[Part::pp].value;
  };
  const double gathers = 2 * 3 * message / 2 / speed;
  CHECK(waits(1e300) == Approx(gathers).epsilon(1e-9));
  CHECK(waits(slow) == Approx(gathers + 2 * 3 * message / 2 / slow).epsilon(1e-9));
}
