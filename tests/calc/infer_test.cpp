// Inference: traffic, times, whole generations, and memory limits.

#include "calc/infer.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "calc/parameters.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/calc/estimates.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

const Cluster h100 = device(989.4e12, 3.35e12, 450e9);
double d(Count n) { return static_cast<double>(n); }

Arch windowed() {
  Arch a = even();
  a.layers = 5;
  a.local = {{37}, LayerSet::every(0, 2, 5)};
  return a;
}

Arch chunked() {
  Arch a = windowed();
  a.local.reach.chunked = true;
  return a;
}

/// Bytes of a dense model that a decode step must read: all weights except the token embedding, a table row per token,
/// and the table as a matrix if it is the head.
double must_read(const Arch& a, const Plan& p) {
  const DType weights = p.weight_precision[Component::mlp];
  const DType table = weights.format().covers_embedding ? weights : p.precision;
  const auto bytes = [&](Count rows) { return d(tensor_bytes(table, rows, a.embedding_width).value); };
  const double held = d(weights_bytes(a, p).value) + (a.tied_head ? bytes(a.vocabulary) : 0);
  return held - bytes(a.vocabulary) + bytes(p.batch);
}

}  // namespace

TEST_CASE("a decode step reads the stored bytes of the weights", "[contract][infer]") {
  Arch a = even();
  a.qkv_bias = a.attention_out_bias = a.mlp_bias = a.head_bias = true;
  for (const bool tied : {false, true})
    for (const Format& f : formats) {
      CAPTURE(std::string(f.name), tied);
      a.tied_head = tied;
      Plan p;
      p.weight_precision = *dtype(f.name);
      p.batch = 3;
      CHECK(decode(a, p, h100, 100).rank.moved.weights == must_read(a, p));
    }
}

TEST_CASE("a decode step reads attention sinks and activation parameters together with the weights",
          "[contract][infer]") {
  Arch a = even();
  a.attention_sinks = true;
  a.mlp = MlpKind::plain;
  a.activation = Activation::xielu;
  Plan p;
  CHECK(decode(a, p, h100, 100).rank.moved.weights == must_read(a, p));
}

TEST_CASE("a decode step reads each cached element once", "[contract][infer]") {
  for (const Arch& a : {even(), even_moe(), even_latent(), windowed()})
    for (const std::string_view t : {"bf16", "fp8", "fp32", "int4", "int8", "q8_0", "nvfp4", "nf4-dq", "q4_k"})
      for (const Count context : {1, 36, 37, 38, 1000}) {
        Plan p;
        p.batch = 3;
        p.kv_precision = *dtype(t);
        CHECK(decode(a, p, h100, context).rank.moved.cache == 3 * d(cache_bytes(a, p, context).value));
      }
}

TEST_CASE("a decode step with expanded latent attention reads the whole cache", "[contract][infer]") {
  Plan p;
  p.mla = Mla::expanded;
  CHECK(decode(even_latent(), p, h100, 100).rank.moved.cache == d(cache_bytes(even_latent(), p, 100).value));
}

TEST_CASE("a prefill reads no more bytes from the cache than it holds", "[contract][infer]") {
  Plan p;
  p.batch = 2;
  for (const Arch& a : {even(), even_moe(), even_latent()})  // expanded keys and values are not cached
    CHECK(prefill(a, p, h100, 100).rank.moved.cache <= 2 * d(cache_bytes(a, p, 100).value));
}

TEST_CASE("a recurrent state is read and written in its storage format", "[contract][infer]") {
  Arch a = even();
  a.linear_layers = LayerSet::all(3);
  Plan p;
  p.batch = 5;
  CHECK(decode(a, p, h100, 100).rank.moved.cache == 2 * 5 * d(cache_bytes(a, p, 100).value));
}

TEST_CASE("without a cache a step recomputes the whole sequence", "[contract][infer]") {
  for (const AttentionImpl impl : {AttentionImpl::naive, AttentionImpl::flash}) {
    Plan p;
    p.kv_cache = false;
    p.attention = impl;
    p.prompt = 50;
    p.generate = 3;
    const PassEstimate one = decode(even(), p, h100, 51), all = prefill(even(), p, h100, 51);
    CHECK(one.flops == all.flops);
    CHECK(one.bound.total().value == all.bound.total().value);
    CHECK(one.rank.moved.cache == 0);
    const InferEstimate e = infer(even(), p, h100);
    CHECK(e.memory.kv_cache == Bytes());
    const double sum = prefill(even(), p, h100, 50).bound.total().value + all.bound.total().value +
                       prefill(even(), p, h100, 52).bound.total().value;
    CHECK(e.bound.total.value == Approx(sum).epsilon(1e-12));
  }
}

TEST_CASE("a windowed layer's cache stops growing at the window's length", "[contract][infer]") {
  Plan p;
  const Count layer = 2 * 8 * 8 * 2;  // K and V, 8 heads of width 8, 16 bits; 2 full and 3 windowed layers
  for (const Count context : {1, 36, 37}) CHECK(cache_bytes(windowed(), p, context) == Bytes(5 * layer * context));
  CHECK(cache_bytes(windowed(), p, 38) == Bytes(layer * (2 * 38 + 3 * 37)));
  CHECK(cache_bytes(windowed(), p, 4000) == Bytes(layer * (2 * 4000 + 3 * 37)));
  CHECK(cache_bytes_per_token(windowed(), p) == Bytes(5 * layer));
  for (const Count context : {36, 37, 38, 4000})  // a chunk stays cached until the next one is as long
    CHECK(cache_bytes(chunked(), p, context) == cache_bytes(windowed(), p, context));
}

TEST_CASE("a decode step at the start of an attention chunk reads the fewest cached tokens", "[contract][infer]") {
  Plan p;
  p.roofline = Roofline::step;
  const auto bytes = [&](Count context) { return decode(chunked(), p, h100, context).rank.moved.cache; };
  const double layer = 2 * 8 * 8 * 2;
  CHECK(bytes(37) == layer * (2 * 37 + 3 * 37));
  CHECK(bytes(38) == layer * (2 * 38 + 3 * 1));
  CHECK(bytes(74) == layer * (2 * 74 + 3 * 37));
  CHECK(bytes(75) == layer * (2 * 75 + 3 * 1));
}

// ---- A whole generation

TEST_CASE("the closed form of a generation's time equals the sum over its steps", "[contract][infer]") {
  for (const Roofline r : {Roofline::op, Roofline::step})
    for (const Arch& a : {even(), even_moe(), even_latent(), windowed(), chunked()})
      for (const auto& [prompt, generate] :
           {std::pair<Count, Count>{5, 100}, {30, 20}, {1, 1}, {1, 2}, {1, 3}, {500, 333}, {36, 39}, {37, 37}}) {
        CAPTURE(prompt, generate);
        Plan p;
        // A ridge point between the intensities of the steps.
        const Cluster slow = device(2e9, 1e9);
        p.roofline = r;
        p.prompt = prompt;
        p.generate = generate;
        p.batch = 7;
        double sum = prefill(a, p, slow, prompt).bound.total().value;
        for (Count c = prompt + 1; c < prompt + generate; ++c) sum += decode(a, p, slow, c).bound.total().value;
        CHECK(infer(a, p, slow).bound.total.value == Approx(sum).epsilon(1e-11));
      }
}

TEST_CASE("piecewise linear functions are summed exactly, including kinks", "[contract][infer]") {
  const auto brute = [](Count from, Count to, const auto& f) {
    double s = 0;
    for (Count i = from; i <= to; ++i) s += f(i);
    return s;
  };
  for (const Count kink : {1, 2, 3, 10, 50, 99, 100, 101, 256, 511, 512, 777})
    for (const auto& [from, to] :
         {std::pair<Count, Count>{1, 1}, {1, 2}, {1, 3}, {2, 511}, {1, 1000}, {5, 1029}, {7, 6}}) {
      CAPTURE(kink, from, to);
      const auto hinge = [&](Count i) { return 1 + 3 * d(std::max(i, kink)); };
      const auto cap = [&](Count i) { return 1 + 3 * d(std::min(i, kink)); };
      const auto both = [&](Count i) { return d(std::min(i, kink)) + d(std::max(i, 2 * kink)) + 0.25 * d(i); };
      for (const auto& [bound, estimate] :
           {std::pair<std::function<double(Count)>, std::function<double(Count)>>{hinge, cap},
            {cap, both},
            {both, hinge}}) {
        BothSeconds sum;
        for_each_stretch(
            from, to,
            [&](Count i) {
              return BothSeconds{bound(i), estimate(i)};
            },
            [&](const Stretch& s) { sum = sum + s.sum(); });
        CHECK(sum.bound == Approx(brute(from, to, bound)).epsilon(1e-12));
        CHECK(sum.estimate == Approx(brute(from, to, estimate)).epsilon(1e-12));
      }
    }
}

TEST_CASE("the prefill produces the first token, and each decode step one more", "[contract][infer]") {
  Plan p;
  p.prompt = 40;
  p.generate = 1;
  InferEstimate e = infer(even(), p, h100);
  CHECK(e.bound.total.value == e.bound.first_token.value);
  CHECK(e.bound.first_token.value == prefill(even(), p, h100, 40).bound.total().value);
  p.generate = 2;
  e = infer(even(), p, h100);
  CHECK(e.bound.total.value == e.bound.first_token.value + decode(even(), p, h100, 41).bound.total().value);
  CHECK(e.middle.bound.total().value == decode(even(), p, h100, 41).bound.total().value);
  CHECK(e.last.bound.total().value == decode(even(), p, h100, 42).bound.total().value);
}

// ---- Rooflines

TEST_CASE("the op roofline is never below the step roofline", "[contract][infer]") {
  for (const Arch& a : {even(), even_moe(), even_latent(), windowed()})
    for (const Count batch : {1, 64, 4096}) {
      Plan p;
      p.batch = batch;
      const double op = decode(a, p, h100, 100).bound.total().value;
      p.roofline = Roofline::step;
      CHECK(op >= decode(a, p, h100, 100).bound.total().value);
    }
}

TEST_CASE("efficiencies reduce the rates of the estimate but not of the bound", "[contract][infer]") {
  Plan p;
  p.roofline = Roofline::step;
  const double bound = decode(even(), p, h100, 100).bound.total().value;
  p.memory_efficiency = 0.5;
  p.efficiency = 0.5;
  const PassEstimate e = decode(even(), p, h100, 100);
  CHECK(e.bound.total().value == bound);
  CHECK(e.estimate.total().value == Approx(2 * bound));
}

TEST_CASE("tensor-parallel ranks divide a decode step's weights, cache and FLOPs, and add collectives",
          "[contract][infer]") {
  Plan p;
  p.roofline = Roofline::step;
  p.batch = 4;
  const PassEstimate one = decode(llama31_8b(), p, h100, 1000);
  const PassEstimate eight = decode(llama31_8b(), p, h100, 1000, {.tp = 8});
  CHECK(eight.flops == one.flops);
  CHECK(8 * eight.rank.model.value == one.rank.model.value);
  CHECK(8 * eight.rank.moved.cache == one.rank.moved.cache);
  const double replicas = 2 * (65.0 * 4096 + 4 * 4096);  // norms and the table rows of 4 tokens, on every rank
  CHECK(8 * eight.rank.moved.weights - 7 * replicas == one.rank.moved.weights);
  // 2 all-reduces per layer and 1 after the embedding: 2 x 7/8 x (4 x 4096 x 2) bytes each, at 450 GB/s.
  CHECK(eight.bound.communication.value == Approx(65 * 2 * 7.0 / 8 * 4 * 4096 * 2 / 450e9));
}

// ---- Memory limits

/// Whether `batch` sequences of `context` tokens fit, of which the plan's `generate` tokens are generated.
bool fits(const Arch& a, Plan p, const Layout& l, const Device& device, Count batch, Count context) {
  p.batch = batch;
  p.generate = std::clamp<Count>(context - 1, 0, p.generate);
  p.prompt = context - p.generate;
  return d(inference_memory(a, p, l, device.achieved.overhead).peak.value) <=
         p.memory_utilization * d(device.memory.value);
}

TEST_CASE("the largest batch and context fit, and one more does not", "[contract][infer]") {
  Arch windowed = even();
  windowed.local = {{37}, LayerSet::all(3)};
  for (const Arch& a : {even(), even_moe(), even_latent(), windowed, llama31_8b(), gpt3_175b()})
    for (const Layout& l : {Layout{}, Layout{.tp = 8}, Layout{.tp = 8, .sp = true}})
      for (const Count overhead : {0, 600000000}) {
        Plan p;
        p.batch = 3;
        p.prompt = 100;
        p.generate = 20;
        p.memory_utilization = 0.9;
        Device device = h100.device;
        device.achieved.overhead = Bytes(overhead);
        const Limits found = limits(a, p, l, device);
        REQUIRE((found.max_batch && found.max_context));
        const bool none = *found.max_batch == 0;
        CHECK((none || fits(a, p, l, device, *found.max_batch, 120)));
        CHECK_FALSE(fits(a, p, l, device, *found.max_batch + 1, 120));
        CHECK((*found.max_context == 0 || fits(a, p, l, device, 3, *found.max_context)));
        CHECK((*found.max_context == a.position_rows || !fits(a, p, l, device, 3, *found.max_context + 1)));
      }
}

TEST_CASE("the longest context never exceeds the number of learned positions", "[contract][infer]") {
  Arch a = even();
  a.position = Position::learned;
  a.position_rows = 1024;
  CHECK(limits(a, {}, {}, h100.device).max_context == 1024);
}

TEST_CASE("the context length at which the cache is as large as the weights is exact for every batch size",
          "[contract][infer]") {
  const Arch a = llama31_8b();
  for (const Count batch : {1, 8, 64, 4096}) {
    CAPTURE(batch);
    Plan p;
    p.batch = batch;
    const auto c = cache_equals_weights_context(a, p);
    REQUIRE(c.has_value());
    CHECK(*c == ceil_div(2 * 8030261248, batch * 131072));
  }
}

TEST_CASE("the context length is unlimited without a cache", "[contract][infer]") {
  Plan p;
  p.kv_cache = false;
  CHECK_FALSE(limits(llama31_8b(), p, {}, h100.device).max_context.has_value());
}

TEST_CASE("if every layer has a window, the cache never grows as large as the weights", "[contract][infer]") {
  Arch a = even();
  a.local = {{37}, LayerSet::all(3)};
  CHECK_FALSE(cache_equals_weights_context(a, {}).has_value());
}

TEST_CASE("if the weights do not fit, no batch and no context length fits", "[contract][infer]") {
  Plan p;
  const Limits l = limits(llama31_70b(), p, {}, h100.device);
  CHECK(l.max_batch == 0);
  CHECK(l.max_context == 0);
}

TEST_CASE("a step is compute-bound at or above the compute-bound batch size, and memory-bound below it",
          "[contract][infer]") {
  Plan p;
  p.roofline = Roofline::step;
  const auto b = compute_bound_batch(even(), p, {}, h100.device, 1);
  REQUIRE(b.has_value());
  p.batch = *b;
  CHECK(bound(decode(even(), p, h100, 1).bound) == Bound::compute);
  p.batch = *b - 1;
  CHECK(bound(decode(even(), p, h100, 1).bound) == Bound::memory);
  // At long contexts the cache grows with the batch: its 2A/G FLOP per byte, 4 here, never reach the ridge.
  CHECK_FALSE(compute_bound_batch(llama31_8b(), p, {}, h100.device, 100000).has_value());
}

TEST_CASE("inference memory is the sum of weights, the full cache and the peak of a pass", "[contract][infer]") {
  Plan p;
  p.batch = 3;
  p.prompt = 100;
  p.generate = 28;
  const Memory m = inference_memory(even(), p);
  CHECK(m.weights == Bytes(2 * parameters(even()).total));
  CHECK(m.kv_cache == Bytes(3 * 128 * 3 * 2 * 8 * 8 * 2));
  CHECK(m.total == m.weights + m.kv_cache + m.workspace);
  CHECK(m.gradients == Bytes());
  CHECK(m.optimizer == Bytes());
  CHECK(m.activations == Bytes());
  // The gated product: x 64 and three of 128, 300 tokens of 2 bytes. The head's 512 logits of 3 rows are smaller.
  CHECK(m.workspace == Bytes(2 * 300 * (64 + 3 * 128)));
}
