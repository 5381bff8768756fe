// Hardware on which only one resource costs time, so that a step's time is a product of a few numbers.

#include "calc/infer.hpp"
#include "calc/train.hpp"
#include "presets/hardware_file.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

/// Hardware with negligible costs, except for the resources in `costs`.
Cluster hardware(const std::string& costs) {
  json::Value file = json::parse(R"({"name": "free", "source": "made up",
    "memory": {"capacity": "80 GiB", "bandwidth": "1e12 TB/s"}, "matmul": {"bf16": "1e15 TFLOP/s"},
    "link": {"ranks": 2, "bandwidth": "1e12 TB/s", "latency": "0 s"},
    "network": {"bandwidth": "1e12 TB/s", "latency": "0 s"}})",
                                 "free.json");
  file.merge_patch(json::parse(costs, "costs"));
  return read_hardware_file(file, "free.json").cluster;
}

// Two layers of width 64: 8 heads of width 8, four matrices of 64 x 64, an MLP of three matrices of 64 x 128, two
// norms; a token embedding and a head of 512 x 64, a final norm.
constexpr double layers = 2, width = 64, products = 4 * 64 * 64 + 3 * 64 * 128, head = 512 * 64;
constexpr double numbers = layers * (products + 2 * width) + 2 * head + width;

Arch model() {
  Arch a;
  a.layers = 2;
  a.hidden = a.embedding_width = 64;
  a.heads = a.kv_heads = 8;
  a.head_dim = 8;
  a.mlp_width = 128;
  a.mlp = MlpKind::gated;
  a.norm = NormKind::rms_norm;
  a.vocabulary = 512;
  a.context = 4096;
  return a;
}

/// A step with 4 micro-batches per replica, each with one sequence of 32 tokens.
constexpr double micro_batch_count = 4, tokens = 32;
Plan plan_of(Count replicas = 1) {
  Plan p;
  p.attention = AttentionImpl::naive;
  p.seq = 32;
  p.global_batch = 4 * replicas;
  return p;
}

double step(const Layout& layout, const std::string& costs) {
  return train(model(), plan_of(layout.dp), layout, hardware(costs)).bound.total().value;
}

}  // namespace

TEST_CASE("if only compute takes time, a step costs 6 FLOPs per weight and token plus 12 S^2 D per layer",
          "[oracle][resources]") {
  const double weights = 6 * tokens * (layers * products + head);
  const double scores = 3 * layers * 2 * (2 * tokens * tokens * width);  // two matmuls, and twice as many backward
  CHECK(step({}, R"({"matmul": {"bf16": "1 TFLOP/s"}})") ==
        Approx(micro_batch_count * (weights + scores) / 1e12).epsilon(1e-6));
}

TEST_CASE("if only memory takes time, a token reads weights and cache, and an update moves 30 B per parameter",
          "[oracle][resources]") {
  const std::string slow = R"({"memory": {"bandwidth": "1 GB/s"}})";
  Plan p = plan_of();
  p.roofline = Roofline::step;
  const double read = numbers - head, cache = layers * 100 * 2 * width;  // one row of the table is negligible
  CHECK(decode(model(), p, {}, hardware(slow), 100).bound.total().value ==
        Approx(2 * (read + cache) / 1e9).epsilon(1e-3));
  const StepTime t = train(model(), plan_of(), {}, hardware(slow)).bound;
  CHECK(t[Part::optimizer].value == Approx(30 * numbers / 1e9).epsilon(1e-6));
}

TEST_CASE("if only one link level takes time, a ring all-reduce moves 2 (n - 1)/n of 4 bytes per parameter",
          "[oracle][resources]") {
  const double gradients = 4 * numbers;
  // Two replicas in a node use its link. Four in two nodes: each GPU reduces half of the gradients over the network.
  CHECK(step({.dp = 2}, R"({"link": {"bandwidth": "1 GB/s"}})") == Approx(2 * 0.5 * gradients / 1e9).epsilon(1e-6));
  CHECK(step({.dp = 4}, R"({"link": {"bandwidth": "1 GB/s"}})") == Approx(2 * 0.5 * gradients / 1e9).epsilon(1e-6));
  CHECK(step({.dp = 4}, R"({"network": {"bandwidth": "1 GB/s"}})") ==
        Approx(2 * 0.5 * gradients / 2 / 1e9).epsilon(1e-6));
  CHECK(step({.dp = 2}, R"({"network": {"bandwidth": "1 GB/s"}})") < 1e-9);
  // ZeRO-1 reduce-scatters gradients of 4 bytes and all-gathers weights of 2.
  CHECK(step({.dp = 2, .zero = Zero::optimizer}, R"({"link": {"bandwidth": "1 GB/s"}})") ==
        Approx(0.5 * 6 * numbers / 1e9).epsilon(1e-6));
}

TEST_CASE("if only messages take time, two stages run two micro-batches in the time of four messages",
          "[oracle][resources]") {
  const double message = 2 * tokens * width / 1e9;
  CHECK(step({.pp = 2}, R"({"link": {"bandwidth": "1 GB/s"}})") == Approx(2 * 2 * message).epsilon(1e-6));
  CHECK(step({.pp = 2}, R"({"link": {"latency": "1 us"}})") == Approx(2 * 2 * 1e-6).epsilon(1e-6));
}

TEST_CASE("if only latency takes time, each all-reduce of a step takes 2 (n - 1) latencies", "[oracle][resources]") {
  CHECK(step({.dp = 2}, R"({"link": {"latency": "1 us"}})") == Approx(2 * (layers + 2) * 1e-6).epsilon(1e-6));
  CHECK(step({.dp = 4}, R"({"network": {"latency": "1 us"}})") == Approx(2 * (layers + 2) * 1e-6).epsilon(1e-6));
  // Tensor parallelism: two all-reduces per layer forward and two backward, one for the table, one for the head's
  // input, and three of the loss: the largest logit, the sum, the target's.
  const double each = 4 * layers + 2 + 3;
  CHECK(step({.tp = 2}, R"({"link": {"latency": "1 us"}})") == Approx(micro_batch_count * each * 2e-6).epsilon(1e-6));
}
