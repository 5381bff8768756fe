// An optimizer step: its parts add up for every option.

#include "calc/train.hpp"

#include "calc/block/program.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/calc/estimates.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

const Cluster h100 = device(989.4e12, 3.35e12, 450e9);

Plan plan(Count micro = 1, Count global = 1) {
  Plan p;
  p.seq = 512;
  p.micro_batch = micro;
  p.global_batch = global;
  return p;
}
double seconds(const Arch& a, const Plan& p) {
  const StepTime t = train(a, p, h100).bound;
  return (t.total() - t[Part::optimizer]).value;
}

}  // namespace

TEST_CASE("under the step roofline a compute-bound step takes the time of its executed FLOPs", "[contract][train]") {
  for (const Recompute r : {Recompute::none, Recompute::selective, Recompute::full})
    for (const AttentionImpl impl : {AttentionImpl::naive, AttentionImpl::flash}) {
      Plan p = plan(4, 4);
      p.seq = 4096;
      p.roofline = Roofline::step;
      p.recompute = r;
      p.attention = impl;
      const TrainEstimate e = train(llama31_8b(), p, h100);
      CHECK(bound(limits(e.bound)) == Bound::compute);
      CHECK((e.bound.total() - e.bound[Part::optimizer]).value ==
            Approx(static_cast<double>(e.flops.executed.value) / 989.4e12));
    }
}

TEST_CASE("step time is proportional to the number of micro-batches, plus gradient accumulation", "[contract][train]") {
  const Plan one = plan(2, 2), four = plan(2, 8);
  const double added = seconds(even(), four) - 4 * seconds(even(), one);
  CHECK(added > 0);
  // Each gradient is read one more time per micro-batch if the operator is memory-bound.
  CHECK(added <= 4 * 4.0 * static_cast<double>(parameters(even()).total + 1024 * 64) / 3.35e12 * 1.0001);
  CHECK(train(even(), four, h100).bound[Part::optimizer].value ==
        train(even(), one, h100).bound[Part::optimizer].value);
}

TEST_CASE("an optimizer moves its states, gradients and weights", "[cost][train]") {
  const Arch a = even();
  const Count n = parameters(a).total;
  const auto moved = [&](Plan p) { return optimizer_traffic(training_states(a, p), p); };
  Plan p = plan();
  CHECK(moved(p) == Bytes(30 * n));  // 12 read and written, 4 read, 2 written
  p.gradient_bytes = 2;
  CHECK(moved(p) == Bytes(28 * n));
  p.gradient_bytes = 6;
  CHECK(moved(p) == Bytes(30 * n));  // of the 6 bytes, only the 4-byte float32 sum is read
  const States both = training_states(a, p);
  CHECK(both.weights + both.gradients + both.optimizer == Bytes(20 * n));  // 2 + 6 + 12
  p.gradient_bytes = 2;
  p.master = false;  // float32 moments; the weights are read directly
  CHECK(moved(p) == Bytes((2 * 8 + 2 + 2 + 2) * n));
  p.optimizer = Optimizer::sgd;
  CHECK(moved(p) == Bytes((2 + 2 + 2) * n));
  p.optimizer = Optimizer::momentum;
  CHECK(moved(p) == Bytes((2 * 4 + 2 + 2 + 2) * n));
  p = plan();  // no copy of float32 weights
  p.weight_precision = dtypes::fp32;
  CHECK(moved(p) == Bytes((2 * 8 + 4 + 4 + 4) * n));
}

TEST_CASE("optimizer states match the formula sheet", "[cost][train]") {
  Plan p = plan();
  const auto held = [&](Optimizer o, bool master) {
    p.optimizer = o;
    p.master = master;
    return optimizer_bytes(p, {.total = 1000, .factored = 17, .adamw = 100});
  };
  CHECK(held(Optimizer::adam, true) == Bytes(12000));
  CHECK(held(Optimizer::adam, false) == Bytes(8000));
  CHECK(held(Optimizer::momentum, true) == Bytes(8000));
  CHECK(held(Optimizer::lion, true) == Bytes(8000));
  CHECK(held(Optimizer::sgd, true) == Bytes(4000));
  CHECK(held(Optimizer::sgd, false) == Bytes(0));
  CHECK(held(Optimizer::adam8bit, false) == Bytes(2000 + 2 * 4 * 4));  // 4 blocks of 256, one partial
  CHECK(held(Optimizer::adam8bit, true) == Bytes(6000 + 32));
  CHECK(held(Optimizer::adafactor, false) == Bytes(4 * 17));
  CHECK(held(Optimizer::muon, false) == Bytes(4 * 900 + 8 * 100));
  CHECK(held(Optimizer::muon, true) == Bytes(4 * 1000 + 4 * 900 + 8 * 100));
}

TEST_CASE("utilization is the model's FLOPs over the peak FLOPs of the ranks", "[contract][train]") {
  Plan p = plan(2, 8);
  p.recompute = Recompute::full;
  const Layout four{.tp = 4};
  const TrainEstimate e = train(even(), p, h100, four);
  const double could = e.bound.total().value * 4 * 989.4e12;
  CHECK(model_utilization(e, e.bound, p, four, h100.device) ==
        Approx(4 * static_cast<double>(e.flops.model_total.value) / could));
  CHECK(hardware_utilization(e, e.bound, p, four, h100.device) ==
        Approx(4 * static_cast<double>(e.flops.hardware_total.value) / could));
  CHECK(e.flops.model_total == training_flops(even(), plan(2, 8)).model_total);  // of the whole model, not of a rank
  CHECK(tokens_per_second(e, e.bound) == Approx(8 * 512 / e.bound.total().value));
}

namespace {

/// Bytes of a message (512 tokens of 64 elements), and seconds per byte of an all-reduce over 8 ranks.
constexpr double message = 2.0 * 512 * 64, ring = 2 * 7.0 / 8 / 450e9;
/// Seconds for 3 layers x 4 messages, one message each for the embedding and the head, and the loss's three with 4
/// bytes per token.
constexpr double in_layers = (14 * message + 3 * 4 * 512) * ring;
/// Total excess of collectives over their layer's work in one direction, over all layers.
double longer_than_work(const Plan& p, const Layout& l) {
  double all = 0;
  const Prices prices = price(even(), p, l, h100.device);
  for (const LayerPrice& row : prices.rows)
    for (const PassPrice* pass : {&row.forward, &row.backward_input}) {
      const WorkTime& w = pass->bound_work;
      const Seconds work = w.matmul + w.attention + w.elementwise;
      const double waits = (communication_time(pass->collectives, l, h100).total() - work).value;
      all += static_cast<double>(row.layers) * std::max(0.0, waits);
    }
  return all;
}
/// in_layers with sequence parallelism, plus the re-gathered inputs of the blocks and the head.
constexpr double in_layers_sp = in_layers + (3 * 2 + 1) * message * ring / 2;

}  // namespace

TEST_CASE("communication time is the sum over blocks, embedding, head and loss", "[cost][train]") {
  Plan p = plan();
  Layout l{.tp = 8};
  const auto spent = [&] { return train(even(), p, h100, l).bound[Part::tp].value; };
  CHECK(spent() == Approx(in_layers));
  p.recompute = Recompute::selective;
  CHECK(spent() == Approx(in_layers));
  p.recompute = Recompute::full;  // two more forward collectives per block
  CHECK(spent() == Approx(in_layers + 3 * 2 * message * ring));
  p.recompute = Recompute::none;
  p.overlap = 1;
  CHECK(spent() == Approx(longer_than_work(p, l)));
  p.overlap = 0;
  l.sp = true;
  // and the gradients of 7 norms' weights, summed once
  CHECK(spent() == Approx(in_layers_sp + 64 * 7 * 4 * ring));
}

TEST_CASE("with sequence parallelism gradients of replicated parameters are summed once per step", "[cost][train]") {
  Arch a = even();
  a.attention_out_bias = a.mlp_bias = true;
  Plan p = plan();
  // 7 norms, and the biases added to each rank's own tokens after the sum: those of attn.out and mlp.down in 3 layers.
  const double numbers = 64 * (7 + 3 * 2);
  CHECK(train(a, p, h100, {.tp = 8, .sp = true}).bound[Part::tp].value - in_layers_sp ==
        Approx(numbers * 4 * 2 * 7 / 8 / 450e9));
}

TEST_CASE("gradients of weights that the heads share are summed across ranks", "[cost][train]") {
  Arch a = even();
  a.qk_norm = QkNorm::per_head;  // each rank has the gradient of its heads
  const Plan p = plan();
  CHECK(train(a, p, h100, {.tp = 8}).bound[Part::tp].value - in_layers == Approx(3.0 * 2 * 8 * 4 * 2 * 7 / 8 / 450e9));
}

TEST_CASE("a step's memory is the sum of its parts", "[contract][train]") {
  for (const Recompute r : {Recompute::none, Recompute::selective, Recompute::full})
    for (const Count ranks : {1, 2, 8})
      for (const Arch& a : {even(), even_moe(), even_latent()}) {
        Plan p = plan(2, 2);
        p.recompute = r;
        const Memory m = training_memory(a, p, {.tp = ranks, .sp = ranks == 8});
        CHECK(m.total == m.weights + m.gradients + m.optimizer + m.activations + m.logits + m.workspace);
        CHECK(m.peak <= m.total);
        CHECK(m.peak >= m.weights + m.gradients + m.optimizer + m.activations);
        CHECK(m.weights == Bytes(2 * m.parameters));
        CHECK(m.gradients == Bytes(4 * m.parameters));
        CHECK(m.optimizer == Bytes(12 * m.parameters));
        CHECK(m.logits == Bytes(4 * 2 * 512 * (512 / ranks)));
      }
}

TEST_CASE("the memory of logits depends on their storage format", "[cost][train]") {
  Plan p = plan(2, 2);
  p.logits.format = LogitFormat::with_gradient;
  CHECK(training_memory(even(), p).logits == Bytes((2 + 4 + 4) * 2 * 512 * 512));
  p.logits.format = LogitFormat::compute;
  for (const auto& [format, bytes] : {std::pair{dtypes::bf16, 2}, {dtypes::fp16, 2}, {dtypes::fp32, 4}}) {
    p.precision = format;
    CHECK(training_memory(even(), p).logits == Bytes(bytes * 2 * 512 * 512));
  }
  p.precision = dtypes::bf16;
  CHECK(training_memory(even(), p, {.tp = 8}).logits == Bytes(2 * 2 * 512 * 512 / 8));
  p.logits = {.chunks = 3};
  CHECK(training_memory(even(), p).logits == Bytes(4 * 342 * 512));  // chunks of 342, 342 and 340 tokens
}

TEST_CASE("logits in the compute format take half as many bytes at the peak", "[cost][train]") {
  Arch a = even();
  a.vocabulary = 50000;  // the head's backward is the peak
  Plan p = plan(2, 2);
  const Memory wide = training_memory(a, p);
  p.logits.format = LogitFormat::compute;
  const Memory narrow = training_memory(a, p);
  const Count tokens = 2 * 512;
  CHECK(narrow.activations == wide.activations + Bytes(4 * tokens));  // log-sum-exps
  CHECK(wide.peak - narrow.peak == Bytes(2 * tokens * 50000));  // log-sum-exps are freed before the head's backward
}

TEST_CASE("activation memory is the sum over layers, embedding and head", "[cost][train]") {
  Plan p = plan();
  p.norm_stats = false;
  // Per token: ids 8; per layer x 64, n 64, q 128, k and v 64 each, o 128, y 64, m 64, 4 x 128, 16 log-sum-exps of 4
  // bytes; the final norm's input and output 64 each.
  const Count layer = 2 * (64 + 64 + 128 + 2 * 64 + 128 + 64 + 64 + 4 * 128) + 4 * 16;
  CHECK(training_memory(even(), p).activations == Bytes(512 * (8 + 3 * layer + 2 * 2 * 64)));
}
