// Host offload: bytes counted by a second method, transfers one at a time, and laws for every plan.

#include "calc/training/offload.hpp"

#include <algorithm>
#include <cmath>

#include "calc/step/step_events.hpp"
#include "tests/calc/cluster_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

Ratio some_fraction(Cases& cases) {
  constexpr std::array all{Ratio{}, Ratio{1, 1}, Ratio{1, 2}, Ratio{1, 4}, Ratio{3, 10}, Ratio{1, 1'000'000}};
  return all[static_cast<std::size_t>(cases.below(all.size()))];
}
Offload some_offload(Cases& cases) { return {some_fraction(cases), some_fraction(cases), some_fraction(cases)}; }
/// A case with a host whose link may be slow and whose memory bandwidth may be unknown.
ClusterCase any_offloaded(Cases& cases) {
  ClusterCase c = cases.any();
  if (cases.coin()) c.cluster = cases.clusters(1e7);  // collectives take longer than work
  c.cluster.device.host.link = BytesPerSecond(static_cast<double>(cases.one_of({10'000'000, 1'000'000'000})));
  c.cluster.device.host.memory = BytesPerSecond(static_cast<double>(cases.one_of({0, 20'000'000, 2'000'000'000})));
  c.plan.offload = some_offload(cases);
  c.plan.master = cases.coin();
  return c;
}
ClusterCase without(ClusterCase c) {
  c.plan.offload = {};
  return c;
}
TrainEstimate run(const ClusterCase& c) { return train(c.arch, c.plan, c.layout, c.cluster); }

/// A fraction of the bytes, rounded down. Byte counts are too small here to need 128-bit arithmetic.
Bytes part(Bytes all, Ratio f) { return Bytes(all.value * f.numerator / f.denominator); }

Memory memory_of(const ClusterCase& c, const Prices& prices, const Partition& cut, Count rank) {
  return stage(prices, c.plan, c.layout, cut, rank).memory;
}

/// Work and transfers of a layer in arbitrary units.
struct Passing {
  double compute, reduce, down;
};
/// Times until all gradients are on the host, from the end of backward and from the start of reductions; units run from
/// the last to the first.
struct Landed {
  double after_backward, after_reduction_begins;
};
Landed landed(const std::vector<Passing>& units) {
  double now = 0, network = 0, host = 0, free_network = 0, free_host = 0;
  for (std::size_t i = units.size(); i-- > 0;) {
    const Passing& u = units[i];
    now += u.compute;
    network = std::max(network, now) + u.reduce;
    host = std::max(host, network) + u.down;
    free_network += u.reduce;  // all gradients are ready at once
    free_host = std::max(free_host, free_network) + u.down;
  }
  return {host - now, free_host};
}

}  // namespace

TEST_CASE("the device stores no offloaded bytes, except for copies of gradients and buffers", "[offload][memory]") {
  Cases cases(91);
  int stages = 0;
  for (int i = 0; i < 1500; ++i) {
    const ClusterCase c = any_offloaded(cases), whole = without(c);
    INFO(i << ": " << text_of(c.layout));
    const Prices prices = price(c.arch, c.plan, c.layout, c.cluster.device);
    const Partition cut = partition(prices, c.plan, c.layout, c.cluster);
    for (Count r = 0; r < c.layout.pp; ++r, ++stages) {
      const Memory a = memory_of(c, prices, cut, r), b = memory_of(whole, prices, cut, r);
      const Offload& o = c.plan.offload;
      REQUIRE(a.weights == b.weights - part(b.weights, o.weights));
      REQUIRE(a.optimizer == b.optimizer - part(b.optimizer, o.optimizer));
      const bool there = c.layout.zero >= Zero::gradients;
      REQUIRE(a.gradients == (there ? b.gradients - part(b.gradients, o.optimizer) : b.gradients));
      // The rank's parameters: the host holds gradients of the offloaded fraction, and weights without a master copy.
      const Count own = b.optimizer.value / (c.plan.master ? 12 : 8);
      const Bytes gradients = part(Bytes(own * c.plan.gradient_bytes), o.optimizer);
      const Bytes updated = part(Bytes(2 * own), o.optimizer), at_host = part(Bytes(2 * own), o.weights);
      const Bytes weights = c.plan.master || updated <= at_host ? Bytes() : updated - at_host;
      const Bytes states = a.weights + a.optimizer + (there ? a.gradients : Bytes());
      const Bytes all = b.weights + b.optimizer + (there ? b.gradients : Bytes());
      const Bytes activations = a.host - (all - states) - weights - (there ? Bytes() : gradients);
      // With several chunks or separate weight gradients, the peak without host offload may be at a different time.
      if (c.layout.pp == 1 || (c.layout.chunks == 1 && !splits_backward(c.layout.schedule)))
        REQUIRE(a.activations + activations == b.activations);
      REQUIRE((o.activations.numerator > 0 || activations == Bytes()));
      REQUIRE(a.total - a.transit - a.workspace - states - a.activations ==
              b.total - b.workspace - all - b.activations);
      REQUIRE(a.peak <= b.peak + a.transit);
      REQUIRE((o.any() || (a.host == Bytes() && a.transit == Bytes() && a.peak == b.peak)));
    }
  }
  CHECK(stages > 3000);
}

TEST_CASE("a device holds the part of each layer that is not offloaded, all of the running layer, and one in transit",
          "[offload][memory]") {
  Cases cases(92);
  for (int i = 0; i < 500; ++i) {
    ClusterCase c = any_offloaded(cases);
    c.layout = {};
    c.plan.global_batch = c.plan.micro_batch;
    c.plan.offload = {.activations = some_fraction(cases), .optimizer = {}, .weights = {}};
    if (cases.coin()) {
      c.plan.recompute = Recompute::full;
      c.plan.recompute_method = RecomputeMethod::block;
      c.plan.recompute_layers = cases.below(c.arch.layers + 1);
    }
    const Ratio f = c.plan.offload.activations;
    const Prices prices = price(c.arch, c.plan, {}, c.cluster.device);
    const bool all_recomputed = c.plan.recompute == Recompute::full && !recomputes_block(c.plan);
    Bytes here = prices.embedding().alive.saved, host, most, on_way;
    for (Count layer = 0; layer < c.arch.layers; ++layer) {
      const Liveness& l = prices.layer(kind_index(prices.kinds, layer)).alive;
      const bool again = all_recomputed || (recomputes_block(c.plan) && layer < c.plan.recompute_layers);
      most = std::max({most, here + (again ? l.forward + l.output : l.forward), here + l.backward});
      const Bytes saved = again ? l.input : l.saved;
      here += saved - part(saved, f);
      host += part(saved, f);
      on_way = std::max(on_way, part(saved, f));
    }
    const auto ends = [&](const LayerPrice& head, bool last) {  // with the gradient of the next module's input
      const Bytes gradient = last ? Bytes() : prices.mtp()[0].alive.input;
      most = std::max(most, here + head.alive.backward + gradient);
      here += head.alive.saved + head.logits;
    };
    ends(prices.head(), c.plan.mtp == 0);
    Bytes logits = prices.head().logits;
    for (Count module = 0; module < c.plan.mtp; ++module) {
      const Liveness &input = prices.mtp()[0].alive, &l = prices.mtp()[1].alive;
      here -= input.input;  // saved by the preceding head
      most = std::max({most, here + input.forward, here + input.backward});
      here += input.saved;
      most = std::max({most, here + (all_recomputed ? l.forward + l.output : l.forward), here + l.backward});
      here += all_recomputed ? l.input : l.saved;
      ends(prices.mtp()[2], module + 1 == c.plan.mtp);
      logits += prices.mtp()[2].logits;
    }
    const Memory m = training_memory(prices, c.plan, {});
    REQUIRE(m.host == host);
    REQUIRE(m.transit == on_way);
    REQUIRE(m.activations == here - logits);
    REQUIRE(m.logits == logits);
    REQUIRE(m.peak == m.weights + m.gradients + m.optimizer + on_way + most);
  }
}

TEST_CASE("with weights on the host, the device holds the largest pair of neighboring units", "[offload][memory]") {
  Plan p;
  p.seq = 64;
  p.global_batch = 1;
  p.offload.weights = {1, 1};
  const Arch a = even();  // separate head and table
  const Prices prices = price(a, p, {}, {});
  const Bytes layer = prices.layer(0).weights, outside = std::max(prices.embedding().weights, prices.head().weights);
  const Memory m = training_memory(prices, p, {});
  CHECK(m.weights == Bytes());
  CHECK(m.transit == std::min(m.host, std::max(layer, outside) + layer));
  CHECK(m.host == Bytes(2 * m.parameters));
  Plan groups = p;
  groups.recompute = Recompute::full;
  groups.recompute_layers = 2;
  CHECK(training_memory(a, groups).transit == std::min(m.host, std::max(2 * layer, outside) + layer));
  // Shards are copied into their places in the gathered weights.
  const Memory sharded = training_memory(a, p, {.dp = 2, .zero = Zero::weights});
  CHECK(sharded.transit == Bytes());
  CHECK(sharded.gathered > Bytes());
  CHECK(sharded.host == Bytes(2 * ceil_div(m.parameters, 2)));
}

TEST_CASE("the exposed part of a layer's transfers is their excess over the layer's compute", "[offload][train]") {
  Plan p;
  p.seq = 64;
  p.micro_batch = 2;
  p.global_batch = 6;
  const Arch a = even();
  const Layout sharded{.zero = Zero::gradients};
  Cluster c = device(1e12, 1e11);
  for (const Offload& o : {Offload{.activations = {1, 2}, .optimizer = {1, 1}, .weights = {1, 4}},
                           Offload{.activations = {1, 4}, .optimizer = {}, .weights = {}},
                           Offload{.activations = {1, 4}, .optimizer = {}, .weights = {1, 2}},
                           Offload{.activations = {}, .optimizer = {}, .weights = {1, 1}}})
    for (const double rate : {1e7, 1e9, 1e10, 1e12})
      for (const double overlap : {1.0, 0.5}) {
        c.device.host.link = BytesPerSecond(rate);
        p.overlap = overlap;
        p.offload = o;
        const Prices prices = price(a, p, sharded, c.device);
        const auto exposed = [&](double bytes, Seconds work) {
          const double t = bytes / rate, w = work.value;
          return std::max(0.0, t - w) + (1 - overlap) * std::min(t, w);
        };
        double host = 0;
        for (const LayerPrice& row : prices.rows) {
          const bool block = row.segment == SegmentKind::block;
          const double n = static_cast<double>(row.learned.total), weights = 2 * n * o.weights.value();
          const double saved = block ? static_cast<double>(row.alive.saved.value) * o.activations.value() : 0;
          const double gradients = 4 * n * o.optimizer.value();
          host += static_cast<double>(row.layers) *
                  (exposed(std::max(weights, saved), row.forward.bound.total()) +
                   exposed(std::max((block ? weights : 0) + saved, gradients),
                           row.backward_input.bound.total() + row.backward_weight.bound.total()));
        }
        // Three micro-batches. Then updated weights move to the side that stores them: to the device if the host
        // updated them, to the host if the device did. This overlaps with the device's update.
        const TrainEstimate e = assemble(prices, p, sharded, c);
        const double n = static_cast<double>(e.memory.parameters);
        const double way = 2 * n * std::abs(o.optimizer.value() - o.weights.value()) / rate;
        const double update = (1 - o.optimizer.value()) * n * (2 * 12 + 4 + 2) / 1e11;
        CHECK(e.bound[Part::optimizer].value == Approx(update).margin(1e-15));
        CHECK(e.bound[Part::offload].value ==
              Approx(3 * host + std::max(0.0, way - update)).epsilon(1e-5).margin(1e-12));
      }
}

TEST_CASE("a rank's gradients go to the host once per step, and under ZeRO only the rank's shard of them",
          "[offload][train]") {
  Plan p;
  p.seq = 64;
  p.global_batch = 4;
  p.offload.optimizer = {1, 2};
  Cluster c = device(1e12, 1e11, 1e10);
  c.device.host.link = BytesPerSecond(1e9);
  for (const Arch& a : {even(), even_moe()})
    for (const Zero z : {Zero::none, Zero::optimizer, Zero::gradients, Zero::weights}) {
      const Layout l{.ep = a.has_experts() ? 2 : 1, .dp = 4, .zero = z};
      const Prices prices = price(a, p, l, c.device);
      const RowTimes t = row_times(prices, p, l, c, Efficiency::full);
      for (std::size_t i = 0; i < prices.rows.size(); ++i) {
        const Count own = prices.rows[i].learned.total - prices.rows[i].experts.total,
                    experts = prices.rows[i].experts.total;
        const Count n = z == Zero::none ? own + experts : (own + 3) / 4 + (experts + 1) / 2;
        const Seconds down(z >= Zero::gradients ? 0 : static_cast<double>(4 * n / 2) / 1e9);
        CHECK(t.rows[i].down == down);
      }
    }
}

TEST_CASE("device and host update their parts concurrently", "[offload][train]") {
  Plan p;
  p.seq = 64;
  p.global_batch = 1;
  const Arch a = even();
  Cluster c = device(1e12, 1e11);
  c.device.host = {BytesPerSecond(1e9), BytesPerSecond(2e10)};
  const double n = static_cast<double>(training_memory(a, p).parameters);
  const double all = n * (2 * 12 + 4 + 2);  // states read and written, gradients read, weights written
  CHECK(train(a, p, {}, c).bound[Part::optimizer].value == Approx(all / 1e11));
  p.offload.optimizer = {1, 4};
  const States s = training_states(a, p);
  const UpdateSeconds u = update_seconds(s, p, bound_rates(c.device, p));
  CHECK(u.device.value == Approx(0.75 * all / 1e11));
  CHECK(u.host.value == Approx(0.25 * all / 2e10));
  CHECK(u.weights.value == Approx(0.25 * 2 * n / 1e9));
  CHECK(u.total({}, 1).value == Approx(std::max(u.host, u.weights).value));
  CHECK(u.total({}, 0).value == Approx((u.host + u.weights).value));
  CHECK(u.total(Seconds(1), 1) == Seconds(1) + std::max(u.host, u.weights));
  // Weights that the device updates and the host stores move to the host afterward. If the device has no copy, they
  // also move to the device beforehand.
  p.offload = {.activations = {}, .optimizer = {1, 4}, .weights = {3, 4}};
  CHECK(update_seconds(s, p, bound_rates(c.device, p)).weights.value == Approx(0.5 * 2 * n / 1e9));
}

TEST_CASE("gradients go to the host after their layer's reduction, one layer after another", "[offload][chunk_time]") {
  Cases cases(93);
  const auto spent = [](double s) {
    Spent all;
    all[Part::matmul] = Seconds(s);
    return all;
  };
  for (int i = 0; i < 2000; ++i) {
    Plan p;
    p.seq = 8;
    p.global_batch = 1;
    const Arch a = cases.arch(3 + cases.below(9));
    const Prices prices = price(a, p, {}, {});
    RowTimes times;
    times.lands = true;
    const auto some = [&] { return static_cast<double>(cases.below(9)); };
    for (std::size_t k = 0; k < prices.rows.size(); ++k) {
      RowTime& t = times.rows.push({});
      t.backward_input = spent(some());
      t.backward_weight = spent(some());
      t.reduce = Seconds(some());
      t.down = Seconds(some());
    }
    const bool shared = cases.coin(), apart = cases.coin();
    std::vector<Passing> units;
    const auto push = [&](const RowTime& t) {
      units.push_back({(apart ? t.backward_weight.total() : t.backward()).value, t.reduce.value, t.down.value});
    };
    push(times.embedding());
    for (Count l = 0; l < a.layers; ++l) push(times.layer(kind_index(prices.kinds, l)));
    push(times.head());
    const Layout layout{.pp = apart ? 2 : 1, .dp = shared ? 2 : 1, .schedule = Schedule::zb_h1};
    const ChunkSeconds t = chunk_seconds(prices, times, layout, whole_model(prices.kinds));
    const Landed by_hand = landed(units);
    REQUIRE(t.landing.value == Approx(by_hand.after_backward).margin(1e-12));
    REQUIRE(t.passing.value == Approx(by_hand.after_reduction_begins).margin(1e-12));
    double down = 0;
    for (const Passing& u : units) down += u.down;
    REQUIRE(t.down.value == Approx(down));
  }
}

TEST_CASE("with host offload, the makespan of a step's tasks equals the sum of the step's time parts",
          "[offload][events]") {
  Cases cases(94);
  int offloaded = 0, updated = 0;
  for (int i = 0; i < 1500; ++i) {
    const ClusterCase c = any_offloaded(cases);
    INFO(i << ": " << text_of(c.layout));
    const Prices prices = price(c.arch, c.plan, c.layout, c.cluster.device);
    const TrainEstimate e = assemble(prices, c.plan, c.layout, c.cluster);
    Timeline timeline;
    PipelineTasks tasks;
    const Seconds end = add_step(timeline, tasks, step_seconds(prices, c.plan, c.layout, c.cluster, e.partition));
    REQUIRE(end.value == Approx(e.bound.total().value).epsilon(1e-12));
    for (const Seconds part : e.bound.parts) REQUIRE(part.value >= 0);
    StepWorkspace room;
    const RowTimes rows = row_times(prices, c.plan, c.layout, c.cluster, Efficiency::full);
    REQUIRE(step_seconds(prices, c.plan, c.layout, c.cluster, e.partition, rows, Efficiency::full, room).value ==
            Approx(end.value).epsilon(1e-12));
    for (const Task& t : timeline.tasks()) {
      offloaded += t.kind == TaskKind::offload_gradients ? 1 : 0;
      updated += t.kind == TaskKind::update_on_host ? 1 : 0;
    }
  }
  CHECK(offloaded > 1000);
  CHECK(updated > 1000);
}

TEST_CASE("a faster host never slows a step", "[offload][train]") {
  Cases cases(95);
  for (int i = 0; i < 700; ++i) {
    ClusterCase c = any_offloaded(cases);
    c.layout.schedule =
        automatic(c.layout.schedule) ? Schedule::one_f_one_b : c.layout.schedule;  // an order independent of times
    if (c.layout.schedule == Schedule::one_f_one_b) c.layout.chunks = 1;
    if (!Cases::sound(c)) continue;
    INFO(i << ": " << text_of(c.layout));
    c.cluster.device.host.memory = BytesPerSecond(2e7);
    const Seconds slow = run(c).bound.total();
    ClusterCase link = c, memory = c;
    link.cluster.device.host.link = 3 * link.cluster.device.host.link;
    memory.cluster.device.host.memory = BytesPerSecond(9e7);
    REQUIRE(run(link).bound.total().value <= slow.value * (1 + 1e-12));
    REQUIRE(run(memory).bound.total().value <= slow.value * (1 + 1e-12));
    ClusterCase best = c;
    best.cluster.device.host = {BytesPerSecond(1e30), BytesPerSecond(1e30)};
    REQUIRE(run(best).bound[Part::offload].value <= 1e-12);
  }
}
