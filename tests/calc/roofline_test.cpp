// Cost on a device: bottleneck and time.

#include "calc/roofline.hpp"

#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

const Pricing train{};
Cost cost_of(Count flop, double weights, double cache, double activations) {
  return {.model = Flops(static_cast<Int128>(flop)),
          .executed = Flops(static_cast<Int128>(flop)),
          .moved = {weights, cache, activations}};
}
const Rates rates{.compute = FlopsPerSecond(100), .memory = BytesPerSecond(10)};

/// An operator of the given shape in an MLP; its tensors do not matter here.
Op op_of(const Shape& shape) { return {"mlp.up", shape, Component::mlp, Split::column, 1, block_input, 1}; }

}  // namespace

TEST_CASE("an operator takes the longer of its compute and its memory time", "[cost][roofline]") {
  Time t = op_time(cost_of(1000, 20, 20, 20), op_rates(rates));  // 10 s against 6 s
  CHECK(t.compute.value == 10);
  CHECK(t.memory.value == 0);
  CHECK(bound(t) == Bound::compute);
  t = op_time(cost_of(500, 20, 20, 20), op_rates(rates));  // 5 s against 6 s
  CHECK(t.compute.value == 0);
  CHECK(t.memory.value == 6);
  CHECK(bound(t) == Bound::memory);
}

TEST_CASE("an operator's time includes its launch overhead", "[cost][roofline]") {
  Rates r = rates;
  r.launch = Seconds(3);
  const Time t = op_time(cost_of(100, 0, 0, 1), op_rates(r));
  CHECK(t.latency.value == 3);
  CHECK(t.total().value == 4);
  CHECK(bound(t) == Bound::latency);
}

TEST_CASE("executed FLOPs, not FLOPs by convention, determine the time", "[cost][roofline]") {
  Cost c = cost_of(1000, 0, 0, 0);
  c.executed = Flops(200);
  CHECK(op_time(c, op_rates(rates)).total().value == 2);
}

TEST_CASE("the step roofline treats the whole pass as one operator, without launches and activations",
          "[cost][roofline]") {
  // y = x W, 3 x 5 by 5 x 7: 210 FLOPs, 2 x 35 bytes of W, 2 x 3 x 12 of x and y: 2.1 s against 14.2 s.
  const Op s = op_of(Linear{.rows = 3, .in = 5, .out = 7});
  const Cost once = forward(s, train);
  Rates r = rates;
  CHECK(op_time(once, op_rates(r)).memory.value == Approx(14.2));
  r.launch = Seconds(3);
  CHECK(step_time(Seconds(2 * 2.1), 2 * once, r).memory.value == Approx(2 * 7.0));
  CHECK(step_time(Seconds(2 * 2.1), 2 * once, r).latency.value == 0);
  CHECK(step_time(Seconds(15), 2 * once, r).compute.value == 15);
}

TEST_CASE("an estimate uses measured efficiencies and a bound does not", "[contract][roofline]") {
  Device d = device(100, 10, 1000).device;
  d.achieved.present = true;
  d.achieved.matmul.fill(0.5);
  d.achieved.memory = 0.8;
  d.achieved.links.inside = d.achieved.links.between = 0.25;
  d.achieved.launch = Seconds(2);
  Plan p;
  CHECK(has_estimate(d, p));
  CHECK(estimated_rates(d, p).compute.value == 50);
  CHECK(estimated_rates(d, p).memory.value == 8);
  CHECK(estimated_rates(d, p).links.inside == 0.25);
  CHECK(estimated_rates(d, p).launch.value == 2);
  CHECK(bound_rates(d, p).compute.value == 100);
  CHECK(bound_rates(d, p).launch.value == 0);
  p.efficiency = 0.9;
  CHECK(estimated_rates(d, p).compute.value == 90);
  CHECK_FALSE(has_estimate(device(100, 10).device, Plan{}));
}

TEST_CASE("an operator's time includes the exposed share of the shorter of its compute and memory time",
          "[cost][roofline]") {
  Rates r = rates;
  r.exposed = 0.75;
  Time t = op_time(cost_of(1000, 20, 20, 20), op_rates(r));  // 10 s against 6 s
  CHECK(t.compute.value == 10);
  CHECK(t.memory.value == 4.5);
  t = op_time(cost_of(500, 20, 20, 20), op_rates(r));  // 5 s against 6 s
  CHECK(t.compute.value == 3.75);
  CHECK(t.memory.value == 6);
  CHECK(bound(t) == Bound::memory);
}

TEST_CASE("a small matmul reaches a lower rate, which depends on the size of each matmul of a pass",
          "[cost][roofline]") {
  Rates r = rates;
  r.half_matmul = 210;
  const Op s = op_of(Linear{.rows = 3, .in = 5, .out = 7});  // 210 FLOPs: half of the rate
  CHECK(reached(s, forward(s, train), train, Direction::forward, r).compute.value == 50);
  CHECK(reached(s, backward_input(s.shape, train), train, Direction::backward_input, r).compute.value == 50);
  CHECK(reached(s, backward_weight(s.shape, train), train, Direction::backward_weight, r).compute.value == 50);
  const Op expert = op_of(Linear{.rows = 6, .in = 5, .out = 7, .groups = 2, .top_k = 2});
  CHECK(reached(expert, forward(expert, train), train, Direction::forward, r).compute.value == 50);
  // One of 8 ranks holds 1 of 8 experts and 6 of the rows that 24 tokens send to 2 experts each: one matmul.
  const Op mine = op_of(Linear{.rows = 6, .in = 5, .out = 7, .groups = 1, .top_k = 2, .expert_ranks = 8});
  CHECK(reached(mine, forward(mine, train), train, Direction::forward, r).compute.value ==
        Approx(100 * 420 / 630.).epsilon(0.01));
  const Op idle = op_of(Linear{.rows = 0, .in = 5, .out = 7, .groups = 1, .top_k = 2, .expert_ranks = 8});
  CHECK(reached(idle, forward(idle, train), train, Direction::forward, r).compute.value == 100);
  CHECK(reached(op_of(Norm{3, 5, 5}), {}, train, Direction::forward, r).compute.value == 100);
}

TEST_CASE("a matmul with rows not aligned to 16 bytes reaches only a fraction of its rate", "[cost][roofline]") {
  Rates r = rates;
  r.unaligned = 0.25;
  r.numbers_in_16_bytes = 8;  // elements of two bytes each
  CHECK_FALSE(r.uniform());
  const auto rate = [&](Count in, Count out) {
    return reached(op_of(Linear{.rows = 3, .in = in, .out = out}), {}, train, Direction::forward, r).compute.value;
  };
  CHECK(rate(768, 50304) == 100);
  CHECK(rate(768, 50257) == 25);
  CHECK(rate(50257, 768) == 25);
  CHECK(rate(4, 8) == 25);
  r.numbers_in_16_bytes = 4;
  CHECK(rate(4, 8) == 100);
}

TEST_CASE("a device's rate for unaligned matmuls depends on the plan's format", "[cost][roofline]") {
  Device d = device(100, 10).device;
  d.achieved.present = true;
  d.achieved.unaligned = for_each_format(0.5);
  Plan p;
  CHECK(estimated_rates(d, p).unaligned == 0.5);
  CHECK(estimated_rates(d, p).numbers_in_16_bytes == 8);
  p.precision = dtypes::fp32;
  CHECK(estimated_rates(d, p).numbers_in_16_bytes == 4);
  CHECK(bound_rates(d, p).unaligned == 1);
}

TEST_CASE("an operator's backward can have a separate launch overhead", "[cost][roofline]") {
  Rates r = rates;
  r.launch = Seconds(3);
  const Op s = op_of(Linear{.rows = 3, .in = 5, .out = 7});
  CHECK(reached(s, forward(s, train), train, Direction::backward_input, r).launch.value == 3);
  r.launch_backward = Seconds(5);
  CHECK(reached(s, forward(s, train), train, Direction::backward_input, r).launch.value == 5);
  CHECK(reached(s, forward(s, train), train, Direction::forward, r).launch.value == 3);
}

TEST_CASE("operators in a recorded CUDA graph have a lower launch overhead, except in prefill", "[cost][roofline]") {
  Rates r = rates;
  r.launch = Seconds(30);
  r.launch_backward = Seconds(50);
  r.recorded = Seconds(3);
  const Op s = op_of(Linear{.rows = 3, .in = 5, .out = 7});
  const auto launch = [&](Phase phase, bool is_backward) {
    const Direction direction = is_backward ? Direction::backward_input : Direction::forward;
    return reached(s, forward(s, train), {.phase = phase}, direction, r).launch.value;
  };
  CHECK_FALSE(r.uniform());
  CHECK(launch(Phase::prefill, false) == 30);
  CHECK(launch(Phase::decode, false) == 3);
  CHECK(launch(Phase::training, false) == 3);
  CHECK(launch(Phase::training, true) == 3);
  r.recorded_backward = Seconds(5);
  CHECK(launch(Phase::training, true) == 5);
}

TEST_CASE("the attention core has a separate FLOP rate", "[cost][roofline]") {
  Rates r = rates;
  r.attention = {.forward = FlopsPerSecond(7), .backward = {}};
  r.exposed = 0.5;
  const Op core =
      op_of(Attention{.sequences = 1, .heads = 1, .kv_heads = 1, .queries = 4, .keys = 4, .qk_dim = 2, .v_dim = 2});
  CHECK(reached(core, forward(core, train), train, Direction::forward, r).compute.value == 7);
  CHECK(reached(core, backward(core, train), train, Direction::backward_input, r).compute.value == 7);
  CHECK(reached(core, forward(core, train), train, Direction::forward, r).exposed == 0);
  r.attention.backward = FlopsPerSecond(5);
  CHECK(reached(core, forward(core, train), train, Direction::forward, r).compute.value == 7);
  CHECK(reached(core, backward(core, train), train, Direction::backward_input, r).compute.value == 5);
  CHECK(reached(op_of(Linear{.rows = 3, .in = 5, .out = 7}), {}, train, Direction::forward, r).exposed == 0.5);
  CHECK(reached(op_of(Linear{.rows = 3, .in = 5, .out = 7}), {}, train, Direction::forward, r).compute.value == 100);
}

TEST_CASE("the number of elements in 16 bytes of a format ignores the scales of micro-scaled groups",
          "[cost][roofline]") {
  Device d;
  d.achieved.present = true;
  const auto in_16_bytes = [&](const char* format) {
    Plan p;
    p.precision = *dtype(format);
    return estimated_rates(d, p).numbers_in_16_bytes;
  };
  CHECK(in_16_bytes("bf16") == 8);
  CHECK(in_16_bytes("fp8") == 16);
  for (const char* narrow : {"nvfp4", "mxfp4"}) CHECK(in_16_bytes(narrow) == 32);
  CHECK(in_16_bytes("mxfp8") == 16);
}

TEST_CASE("in inference, activations that fit in the L2 cache move at its bandwidth, but weights do not",
          "[cost][roofline]") {
  Rates r = rates;
  r.cache_bandwidth = BytesPerSecond(40);
  r.cache = Bytes(40);
  const Op s = op_of(Linear{.rows = 3, .in = 5, .out = 7});
  const Pricing prefill{.phase = Phase::prefill};
  CHECK(reached(s, cost_of(1, 20, 10, 40), prefill, Direction::forward, r).memory.value ==
        Approx(70 / (30 / 10. + 40 / 40.)));
  CHECK(reached(s, cost_of(1, 20, 10, 41), prefill, Direction::forward, r).memory.value == Approx(10));
  CHECK(reached(s, cost_of(1, 20, 10, 40), train, Direction::forward, r).memory.value == Approx(10));
  CHECK(reached(s, cost_of(1, 20, 10, 40), train, Direction::backward_input, r).memory.value == Approx(10));
}

TEST_CASE("an operator's memory time is at least the time of its exponentials and other functions",
          "[cost][roofline]") {
  Rates r = rates;
  r.functions = 2;
  const Op act = op_of(Pointwise{.kind = PointwiseKind::activate, .rows = 3, .width = 4});  // 12 or 24 evaluations
  CHECK(reached(act, cost_of(0, 0, 0, 48), train, Direction::forward, r).memory.value == 8);
  CHECK(reached(act, cost_of(0, 0, 0, 72), train, Direction::backward_input, r).memory.value == 6);
  const Op loss = op_of(Loss{2, 5});
  CHECK(reached(loss, cost_of(0, 0, 0, 40), train, Direction::forward, r).memory.value == 8);
  const Op add = op_of(Pointwise{.kind = PointwiseKind::add, .rows = 3, .width = 4});
  CHECK(reached(add, cost_of(0, 0, 0, 48), train, Direction::forward, r).memory.value == 10);
  CHECK(functions(add.shape, false) == 0);
  CHECK(functions(Shape(Norm{3, 5, 5}), true) == 0);
  r.functions = 1e9;
  CHECK(reached(act, cost_of(0, 0, 0, 48), train, Direction::forward, r).memory.value == 10);
}
