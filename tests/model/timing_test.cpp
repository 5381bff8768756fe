// Timings and predictions cover the same runs and micro-batches.

#include "validate/timing.hpp"

#include "learn/learner.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"
#include "tests/model/emulated.hpp"
#include "validate/suite.hpp"

using namespace llmcalc;
using namespace llmcalc::validate;

namespace {

const Timing& row(const std::vector<Timing>& all, const std::string& what, const std::string& op) {
  for (const Timing& t : all)
    if (t.what == what && t.op == op) return t;
  FAIL("there is no time of " << what << ", " << op);
  return all.front();
}

}  // namespace

TEST_CASE("predicted and measured times of a step cover all of its micro-batches", "[timing]") {
  const Device device = load_hardware("h100").cluster.device;
  const Case one = make_case(validate::LevelChoice(factors().size(), 0));
  Case many = one;
  many.plan.global_batch = 32 * one.plan.micro_batch;
  const std::vector<Timing> of_one = timed_training(one, device, 5, {}), of_many = timed_training(many, device, 5, {});
  CHECK(row(of_many, "forward", "mlp.up").predicted == Approx(32 * row(of_one, "forward", "mlp.up").predicted));
  // Later micro-batches also read the gradients that they add to.
  CHECK(row(of_many, "backward", "mlp.up").predicted > 32 * row(of_one, "backward", "mlp.up").predicted);
  CHECK(row(of_many, "step", "").measured > 8 * row(of_one, "step", "").measured);
  CHECK(row(of_many, "forward", "mlp.up").measured > 8 * row(of_one, "forward", "mlp.up").measured);
}

TEST_CASE("attention time is predicted with the rate of the core that ran it", "[timing]") {
  Device device = load_hardware("h100").cluster.device;
  device.achieved.present = true;
  device.achieved.flash = for_each_format(CoreRates{FlopsPerSecond(1e12), FlopsPerSecond(1e12)});
  device.achieved.plain = for_each_format(CoreRates{FlopsPerSecond(1e6), FlopsPerSecond(2e6)});
  Case rope{"small", model::small_arch(16, 32), {}};
  rope.arch.head_dim = 16;
  rope.plan.seq = 32;
  rope.plan.weight_precision = rope.plan.precision = dtypes::bf16;
  Case alibi = rope;
  alibi.arch.position = Position::alibi;  // not supported on tensor cores
  for (const test::MakeBackend make : test::gpus()) {
    const Where where{[make](model::Number n) { return make(n, false); }, false};
    const auto predicted = [&](const Case& c, const char* way) {
      return row(timed_training(c, device, 1, where), way, "attn.core").predicted;
    };
    CHECK(predicted(alibi, "forward") == Approx(1e6 * predicted(rope, "forward")));
    CHECK(predicted(alibi, "backward") == Approx(5e5 * predicted(rope, "backward")));
  }
}
