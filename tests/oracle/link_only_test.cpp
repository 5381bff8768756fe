// Hardware on which only one link takes time: a step's time is the bytes that Megatron-LM, ZeRO or GPipe sends, divided
// by the link's bandwidth.

#include "calc/train.hpp"
#include "presets/hardware_file.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

/// 64 devices with negligible compute and memory time, connected by a link of `bandwidth` bytes per second.
Cluster link_alone(double bandwidth) {
  const json::Value file = json::parse(
      R"({"name": "link-alone", "memory": {"capacity": "1 TiB", "bandwidth": "1e9 TB/s"},
          "matmul": {"bf16": "1e9 TFLOP/s", "fp32": "1e9 TFLOP/s"},
          "link": {"ranks": 64, "bandwidth": ")" +
          std::to_string(bandwidth) + R"( B/s"}, "source": "a test"})",
      "link-alone");
  return read_hardware_file(file, "link-alone").cluster;
}

constexpr double rate = 1e9;
constexpr double seq = 512, batch = 2, width = 64, element = 2;  // test::even(), bf16

Arch layers(Count n) {
  Arch a = test::even();
  a.layers = n;
  return a;
}
double step(const Arch& a, const Layout& l, Count micro_batches) {
  Plan p;
  p.seq = 512;
  p.micro_batch = 2;
  p.global_batch = 2 * micro_batches * l.dp;
  p.gradient_bytes = 2;
  return train(a, p, l, link_alone(rate)).bound.total().value;
}
/// Time added per layer, measured by adding two layers.
double of_a_layer(const Layout& l, Count micro_batches) {
  return (step(layers(6), l, micro_batches) - step(layers(4), l, micro_batches)) / 2;
}
double parameters_of_a_layer() {
  // Queries and outputs 64 x 128, keys and values 64 x 64 each, three matrices 64 x 128, two norms of 64.
  return 2 * 64 * 128 + 2 * 64 * 64 + 3 * 64 * 128 + 2 * 64;
}

}  // namespace

TEST_CASE("tensor parallelism runs four all-reduces of the residual stream per layer", "[oracle][train]") {
  // Shoeybi et al. 2019, section 3: f and g, one each in attention and MLP, forward and backward. A ring moves
  // 2 (t - 1)/t of a message over each rank's link.
  for (const Count t : {2, 4, 8})
    for (const Count m : {1, 3}) {
      const double n = static_cast<double>(t), message = batch * seq * width * element;
      const double expected = static_cast<double>(m) * 4 * 2 * (n - 1) / n * message / rate;
      CHECK(of_a_layer({.tp = t}, m) == Approx(expected).epsilon(1e-6));
      // Sequence parallelism replaces each by a reduce-scatter and an all-gather (Korthikanti et al. 2022), and
      // re-gathers each of a layer's two saved shards for the weight gradients.
      const double again = static_cast<double>(m) * 2 * (n - 1) / n * message / rate;
      // Once per step the ranks sum the gradients of two norms of 64 (Megatron-LM, finalize_model_grads.py).
      const double norms = 2 * (n - 1) / n * 2 * width * element / rate;
      CHECK(of_a_layer({.tp = t, .sp = true}, m) == Approx(expected + again + norms).epsilon(1e-6));
    }
}

TEST_CASE("ZeRO-3 moves three times the weights of a layer, and ZeRO-1 twice", "[oracle][train]") {
  // Rajbhandari et al. 2020, section 7: a reduce-scatter of gradients and an all-gather of weights; stage 3 gathers
  // them twice. All are exposed, since work takes no time. Gradients here have 2 bytes.
  for (const Count d : {2, 8}) {
    const double n = static_cast<double>(d), one = (n - 1) / n * 2 * parameters_of_a_layer() / rate;
    CHECK(of_a_layer({.dp = d, .zero = Zero::optimizer}, 1) == Approx(2 * one).epsilon(1e-6));
    CHECK(of_a_layer({.dp = d, .zero = Zero::weights}, 1) == Approx(3 * one).epsilon(1e-6));
    CHECK(of_a_layer({.dp = d}, 1) == Approx(2 * one).epsilon(1e-6));  // an all-reduce is both
  }
}

TEST_CASE("a micro-batch in a pipeline crosses every stage boundary twice", "[oracle][train]") {
  // The residual stream forward and its gradient backward; with a single micro-batch, one after the other.
  for (const Count p : {2, 4}) {
    const double expected = 2 * static_cast<double>(p - 1) * batch * seq * width * element / rate;
    CHECK(step(layers(4), {.pp = p}, 1) == Approx(expected).epsilon(1e-6));
  }
}
