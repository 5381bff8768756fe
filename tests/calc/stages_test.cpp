/// Inference in pipeline stages (calc/pass/stages.hpp).

#include "calc/infer.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/calc/estimates.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

PassEstimate pass_of(double seconds) {
  PassEstimate p{};
  p.bound.compute = p.estimate.memory = Seconds(seconds);
  return p;
}

/// Layers 0 and 1 on one device, 2 to 4 on the next.
PassStages split_after_two(const Cluster& a, const Cluster& b) {
  return PassStages({{{0, 2, true, false}, a}, {{2, 5, false, true}, b}});
}

Arch five_layers() {
  Arch a = even();
  a.layers = 5;
  return a;
}

Layout of_two_stages() {
  Layout l;
  l.pp = 2;
  return l;
}

}  // namespace

TEST_CASE("stages of 2 s and 4 s take 6 s, or (6 + 3 x 4) / 4 = 4.5 s if overlapped in 4 parts", "[stages]") {
  const std::vector<PassEstimate> stages{pass_of(2), pass_of(4)};
  CHECK(in_sequence(stages, 1).estimate.total().value == 6);
  CHECK(in_sequence(stages, 4).estimate.total().value == 4.5);
  CHECK(in_sequence(stages, 4).bound.total().value == 4.5);
}

TEST_CASE("the breakdown of overlapping stages adds up to their time", "[stages]") {
  std::vector<PassSpent> stages(2);
  stages[0].parts[Part::matmul] = Seconds(2);
  stages[1].parts[Part::matmul] = Seconds(3);
  stages[1].engine = Seconds(1);
  CHECK(in_sequence(stages, 1).total().value == 6);
  CHECK(in_sequence(stages, 4).total().value == 4.5);
}

TEST_CASE("on equal devices a decode step takes one device's time plus one message of B h 2 bytes", "[stages]") {
  const Cluster one = device(989.4e12, 3.35e12, 450e9);
  const Arch a = five_layers();
  Plan p;
  p.batch = 3;
  const Layout l = of_two_stages();
  const double alone = decode(a, p, {}, one, 100).bound.total().value;
  const double staged = decode(a, p, l, split_after_two(one, one), 100).bound.total().value;
  const double message = 3.0 * static_cast<double>(a.hidden) * 2 / 450e9;
  CHECK(staged == Approx(alone + message).epsilon(1e-12));
}

TEST_CASE("each layer runs at the bandwidth of the device that holds it", "[stages]") {
  const Cluster fast = device(1e18, 3e12, 1e18), slow = device(1e18, 1e12, 1e18);
  const Arch a = five_layers();
  const Layout l = of_two_stages();
  const auto seconds = [&](const Cluster& first, const Cluster& second) {
    return decode(a, {}, l, split_after_two(first, second), 100).bound.memory.value;
  };
  CHECK(seconds(slow, slow) == Approx(3 * seconds(fast, fast)));
  CHECK(seconds(fast, slow) + seconds(slow, fast) == Approx(seconds(fast, fast) + seconds(slow, slow)));
}

TEST_CASE("a message between different devices uses the slower of their links", "[stages]") {
  const Cluster fast = device(1e18, 1e18, 450e9), slow = device(1e18, 1e18, 45e9);
  const Arch a = five_layers();
  const Layout l = of_two_stages();
  const double message = static_cast<double>(a.hidden) * 2 / 45e9;
  for (const auto& [first, second] : {std::pair{fast, slow}, std::pair{slow, fast}})
    CHECK(decode(a, {}, l, split_after_two(first, second), 100).bound.communication.value == Approx(message));
}

TEST_CASE("the generation time of a pipeline is the sum of its passes", "[stages]") {
  const Cluster one = device(989.4e12, 3.35e12, 450e9), other = device(100e12, 1e12, 450e9);
  const Arch a = five_layers();
  Plan p;
  p.prompt = 50;
  p.generate = 4;
  const Layout l = of_two_stages();
  const PassStages s = split_after_two(one, other);
  double sum = prefill(a, p, l, s, 50).estimate.total().value;
  for (Count context = 51; context < 54; ++context) sum += decode(a, p, l, s, context).estimate.total().value;
  CHECK(infer(a, p, l, s).estimate.total.value == Approx(sum));
}
