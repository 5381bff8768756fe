// Software overheads of a step: bytes, kernels, host time, and exposed collectives.

#include <cmath>

#include "calc/step/step_events.hpp"
#include "tests/calc/cluster_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

double fraction(Cases& cases, double least = 0) {
  return least + (1 - least) * static_cast<double>(cases.below(1000)) / 1000;
}

/// Random software on a random device.
Achieved any_rates(Cases& cases) {
  Achieved a;
  a.present = true;
  a.matmul = for_each_format(fraction(cases, 0.2));
  a.memory = fraction(cases, 0.5);
  a.half_matmul = for_each_format(1e6 * fraction(cases));
  a.exposed = for_each_format(fraction(cases));
  a.launch = Seconds(1e-6 * fraction(cases));
  a.links = {.inside = fraction(cases, 0.3),
             .between = fraction(cases, 0.3),
             .round_inside = Seconds(1e-5 * fraction(cases)),
             .round_between = Seconds(1e-4 * fraction(cases)),
             .start = Seconds(1e-5 * fraction(cases)),
             .trees = cases.coin()};
  a.software = {.elementwise = 3 * fraction(cases),
                .norm = 10 * fraction(cases),
                .scores = 2 * fraction(cases),
                .permuted = 4 * fraction(cases),
                .kernels = {.naive_core = 6, .norm = 4, .rope = 3, .route = 8},
                .loops_experts = cases.coin(),
                .experts = fraction(cases, 0.4),
                .naive_products = fraction(cases, 0.3),
                .kernel = Seconds(cases.coin() ? 1e-6 * fraction(cases) : 0),
                .collective = Seconds(1e-6 * fraction(cases)),
                .step = Seconds(1e-3 * fraction(cases)),
                .hidden_tensor = cases.coin() ? fraction(cases) : 0,
                .hidden_by_weights = cases.coin() ? fraction(cases) : 0,
                .hidden_overlapped = fraction(cases),
                .waits_to_send = fraction(cases),
                .waits_to_send_chunks = fraction(cases)};
  return a;
}

ClusterCase any_case(Cases& cases) {
  ClusterCase c = cases.any();
  if (cases.coin()) c.plan.attention = AttentionImpl::naive;
  c.cluster.device.achieved = any_rates(cases);
  return c;
}
TrainEstimate run(const ClusterCase& c) { return train(c.arch, c.plan, c.layout, c.cluster); }

/// One device that runs one micro-batch.
ClusterCase alone() {
  ClusterCase c{even(), {}, {}, device(1e12, 1e11, 1e9, 0)};
  c.plan.seq = 64;
  c.plan.global_batch = 1;
  c.cluster.device.achieved.present = true;
  return c;
}

}  // namespace

TEST_CASE("no software makes a step faster than its bound", "[software]") {
  Cases cases(61);
  for (int i = 0; i < 1500; ++i) {
    const ClusterCase c = any_case(cases);
    INFO(i << ": " << text_of(c.layout));
    const TrainEstimate e = run(c);
    REQUIRE(e.estimated);
    REQUIRE(e.estimate.total().value >= (1 - 1e-12) * e.bound.total().value);
  }
}

TEST_CASE("a faster device or link never makes an estimate slower", "[software]") {
  Cases cases(64);
  int tried = 0;
  for (int i = 0; i < 1500; ++i) {
    const ClusterCase c = any_case(cases);
    if (ranks(c.layout, Group::pipeline) > 1) continue;  // layers move between stages
    ++tried;
    INFO(i << ": " << text_of(c.layout));
    const double now = run(c).estimate.total().value;
    const auto not_slower = [&](const auto& change) {
      ClusterCase faster = c;
      change(faster.cluster);
      return run(faster).estimate.total().value <= (1 + 1e-12) * now;
    };
    REQUIRE(not_slower([](Cluster& f) { f.device.bandwidth = 2 * f.device.bandwidth; }));
    REQUIRE(not_slower([](Cluster& f) {
      for (FlopsPerSecond& peak : f.device.peaks) peak = 2 * peak;
    }));
    for (std::size_t level = 0; level < c.cluster.levels.size(); ++level)
      REQUIRE(not_slower([&](Cluster& f) { f.levels[level].bandwidth = 2 * f.levels[level].bandwidth; }));
  }
  CHECK(tried > 200);
}

TEST_CASE("the makespan of an estimate's tasks equals the sum of the estimate's time parts", "[software][events]") {
  Cases cases(62);
  for (int i = 0; i < 500; ++i) {
    const ClusterCase c = any_case(cases);
    INFO(i << ": " << text_of(c.layout));
    const Prices prices = price(c.arch, c.plan, c.layout, c.cluster.device);
    const TrainEstimate e = assemble(prices, c.plan, c.layout, c.cluster);
    Timeline timeline;
    PipelineTasks tasks;
    const Seconds end = add_step(timeline, tasks,
                                 step_seconds(prices, c.plan, c.layout, c.cluster, e.partition, Efficiency::estimated));
    REQUIRE(end.value == Approx(e.estimate.total().value).epsilon(1e-12));
  }
}

TEST_CASE("backward collectives overlap with weight gradients, and forward collectives do not", "[software]") {
  ClusterCase c = alone();
  c.layout.tp = 2;
  c.cluster.levels[0].bandwidth = BytesPerSecond(1e12);
  const double waited = run(c).estimate[Part::tp].value;
  c.cluster.device.achieved.software.hidden_by_weights = 0.5;
  const double half = waited - run(c).estimate[Part::tp].value;
  c.cluster.device.achieved.software.hidden_by_weights = 1;
  CHECK(waited - run(c).estimate[Part::tp].value == Approx(2 * half).epsilon(1e-12));
  CHECK(half > 0.2 * waited);  // 2 of a layer's 4 all-reduces are in backward; embedding and loss add some in forward
  CHECK(half < 0.25 * waited);
}

TEST_CASE("software without overheads reaches the bound", "[software]") {
  Cases cases(63);
  for (int i = 0; i < 300; ++i) {
    ClusterCase c = cases.any();
    c.cluster.device.achieved.present = true;
    const TrainEstimate e = run(c);
    REQUIRE(e.estimate.total().value == Approx(e.bound.total().value).epsilon(1e-12));
  }
}

TEST_CASE("kernel launches on the host overlap with the device, and the slower of the two sets the time",
          "[software]") {
  ClusterCase c = alone();
  const double device_time = run(c).estimate.total().value - run(c).estimate[Part::optimizer].value;
  double kernels_of_pass = 0;
  for_each_operator(c.arch, c.plan, c.layout, training_step(c.plan), [&](const OperatorRow& row) {
    const bool product = std::holds_alternative<Linear>(row.op.shape);  // two gradients
    kernels_of_pass += static_cast<double>(row.segment.repeats) * (product ? 3 : 2);
  });
  c.cluster.device.achieved.software.kernel = Seconds(1);  // far slower than the device
  const StepTime slow = run(c).estimate;
  CHECK(slow.total().value - slow[Part::optimizer].value == Approx(kernels_of_pass).epsilon(1e-6));
  c.cluster.device.achieved.software.kernel = Seconds(1e-15);  // far faster
  CHECK(run(c).estimate.total().value == Approx(run(c).bound.total().value).epsilon(1e-9));
  c.cluster.device.achieved.software.kernel = Seconds(device_time / kernels_of_pass);
  const double both = run(c).estimate.total().value - run(c).estimate[Part::optimizer].value;
  CHECK(both > device_time);
  CHECK(both < 2 * device_time);
}

TEST_CASE("the host's fixed time per step is added once", "[software]") {
  ClusterCase c = alone();
  c.plan.global_batch = 8;
  const double without = run(c).estimate.total().value;
  c.cluster.device.achieved.software.step = Seconds(3);
  CHECK(run(c).estimate.total().value == Approx(without + 3).epsilon(1e-12));
}

TEST_CASE("an element-wise overhead factor of 2 doubles element-wise time, and one below 1 has no effect",
          "[software]") {
  ClusterCase c = alone();
  const StepTime once = run(c).estimate;
  c.cluster.device.achieved.software.elementwise = c.cluster.device.achieved.software.norm = 2;
  const StepTime twice = run(c).estimate;
  CHECK(twice[Part::elementwise].value == Approx(2 * once[Part::elementwise].value).epsilon(1e-12));
  CHECK(twice[Part::matmul] == once[Part::matmul]);
  c.cluster.device.achieved.software.elementwise = c.cluster.device.achieved.software.norm = 0.1;  // below the bound
  CHECK(run(c).estimate[Part::elementwise] == once[Part::elementwise]);
}

TEST_CASE("a collective adds a start-up time and a latency per round, at a fraction of the link bandwidth",
          "[software][exchange]") {
  Cluster c = device(1e12, 1e11, 8e9, 0);
  c.levels[0].ranks = 4;
  c.levels.push({.ranks = 0, .bandwidth = BytesPerSecond(1e9), .latency = Seconds()});
  const Layout l{.dp = 64};
  const CollectiveCall e{.group = Group::data, .op = CollectiveOp::all_reduce, .messages = 3, .bytes = Bytes(3 << 20)};
  LinkRates r{.inside = 0.5,
              .between = 0.25,
              .round_inside = Seconds(1),
              .round_between = Seconds(100),
              .start = Seconds(7),
              .trees = false};
  const double inside = 2 * 3.0 / 4 * (3 << 20) / 4e9, between = 2 * 15.0 / 16 * (3 << 20) / 4 / 0.25e9;
  CHECK(communication_time(e, l, c, r).transfer.value == Approx(inside + between).epsilon(1e-12));
  CHECK(communication_time(e, l, c, r).waits.value == Approx(3 * (7 + 2 * 3 * 1 + 2 * 15 * 100)).epsilon(1e-12));
  r.trees = true;  // 2 (2 log2(16) + 4) = 24 rounds between nodes, not 30
  CHECK(communication_time(e, l, c, r).waits.value == Approx(3 * (7 + 2 * 3 * 1 + 24 * 100)).epsilon(1e-12));
  c.levels[1].latency = Seconds(200);  // the link's stated latency, a lower limit of any rate
  CHECK(communication_time(e, l, c, r).waits.value == Approx(3 * (7 + 2 * 3 * 1 + 30 * 200)).epsilon(1e-12));
}

TEST_CASE("the exposed share of a pipeline message delays each slot", "[software][pipeline]") {
  ClusterCase c{even(), {}, {.pp = 2}, device(1e12, 1e11, 1e9, 0)};
  c.arch.layers = 8;
  c.plan.seq = 64;
  c.plan.global_batch = 64;
  c.layout.stage_layers = {};
  c.cluster.levels[0].ranks = 0;
  c.cluster.device.achieved.present = true;
  const Prices prices = price(c.arch, c.plan, c.layout, c.cluster.device);
  const double send = send_seconds(prices, c.layout, c.cluster, Efficiency::full).value;
  const double without = run(c).estimate.total().value;
  c.cluster.device.achieved.software.waits_to_send = 0.5;
  // 64 micro-batches, plus one slot of each kind while the pipeline fills.
  CHECK(run(c).estimate.total().value == Approx(without + 65 * 2 * 0.5 * send).epsilon(1e-9));
}
