// Replayed steps are bitwise equal to direct steps, with the same FLOPs and bytes, while inputs change between runs.
// Tested on the GPU emulator, which records launches with their parameters like a CUDA graph, and on a GPU if present.

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "model/cuda/fast/replay.hpp"

#include "tests/catch.hpp"
#include "tests/model/emulated.hpp"
#include "tests/models/tiny.hpp"

using namespace llmcalc;
using namespace llmcalc::model;

namespace {

std::unique_ptr<Backend> without_recordings(test::MakeBackend make, Number number) {
  setenv("LLMCALC_GRAPHS", "0", 1);
  std::unique_ptr<Backend> b = make(number, true);
  unsetenv("LLMCALC_GRAPHS");
  return b;
}

/// Results of a run.
struct Run {
  std::vector<double> numbers;
  Flops flops;
  Bytes peak;
  std::string how;
};

void check_same(const Run& recorded, const Run& plain) {
  CHECK(recorded.numbers == plain.numbers);
  CHECK(recorded.flops == plain.flops);
  CHECK(recorded.peak == plain.peak);
  CHECK(plain.how == "not from a recording: LLMCALC_GRAPHS is 0");
}

void append(std::vector<double>& all, const std::vector<double>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

/// Ten updates of two micro-batches with different tokens, learning rates and dropout; reads all final weights and
/// moments.
Run trained(Backend& b, const test::Variant& v) {
  Transformer t(v.arch, b, {.plan = v.plan}, 7);
  test::scramble(t, 11, 0.2);
  t.weights().make_trainable(v.plan);
  Run r;
  for (std::uint64_t i = 0; i < 10; ++i) {
    const Batch batches[] = {test::tiny_batch(v.arch, v.plan, 2 * i), test::tiny_batch(v.arch, v.plan, 2 * i + 1)};
    t.arena().reset_peak();
    r.numbers.push_back(t.train(batches, {.rate = 1e-3 * static_cast<double>(i + 1), .clip = 0.5}));
  }
  for (const Parameter& p : t.weights().all()) {
    append(r.numbers, t.weights().get(p.value, p.elements(), false));
    for (const Tensor& moment : {p.first, p.second})
      if (moment) append(r.numbers, t.weights().get(moment, p.elements(), true));
  }
  r.flops = b.done();
  r.peak = t.arena().peak();
  r.how = t.training_run();
  return r;
}

/// A prompt of 4 tokens and 20 decode steps, in two sequences.
Run decoded(Backend& b, const test::Variant& v) {
  Transformer t(v.arch, b, {.plan = v.plan}, 7);
  test::scramble(t, 11, 0.2);
  Cache cache = t.make_cache(2, 24);
  const std::vector<std::int64_t> prompt{1, 2, 3, 4, 5, 6, 7, 8};
  Run r;
  append(r.numbers, t.logits(prompt, 2, 0, &cache));
  for (Count past = 4; past < 24; ++past) {
    const std::vector<std::int64_t> next{past % 13, past % 7};
    t.arena().reset_peak();
    append(r.numbers, t.logits(next, 2, past, &cache));
  }
  r.flops = b.done();
  r.peak = t.arena().peak();
  r.how = cache.decoding->step.how();
  return r;
}

template <typename F>
void with_and_without(const test::Variant& v, Number number, const F& run, const std::string& how) {
  INFO(v.name);
  for (const test::MakeBackend make : test::gpus()) {
    const Run recorded = run(*make(number, true), v);
    check_same(recorded, run(*without_recordings(make, number), v));
    CHECK(recorded.how == how);
  }
}

constexpr const char* from_recording = "from a recording";

std::vector<test::Variant> named(const std::vector<std::string>& names) {
  std::vector<test::Variant> found;
  for (const test::Variant& v : test::variants())
    if (std::find(names.begin(), names.end(), v.name) != names.end()) found.push_back(v);
  REQUIRE(found.size() == names.size());
  return found;
}

/// Extends the context, and the position table if there is one, for the test.
test::Variant longer(test::Variant v) {
  v.arch.context = 32;
  if (v.arch.position_rows > 0) v.arch.position_rows = 32;
  return v;
}

}  // namespace

TEST_CASE("ten replayed training steps are bitwise equal to ten direct steps", "[replay]") {
  // Every kind of position, attention, dropout and recomputation.
  for (const test::Variant& v :
       named({"multi-head, naive", "window", "chunks", "sinks", "latent", "narrow embedding", "sinusoids", "ALiBi",
              "dropout", "dropout, naive", "GLU made again", "selective, flash, dropout", "full, flash, dropout"}))
    with_and_without(v, Number::f32, trained, from_recording);
  for (const Optimizer o : {Optimizer::sgd, Optimizer::momentum}) {
    test::Variant v{"another optimizer", test::tiny_llama(), test::tiny_plan()};
    v.plan.optimizer = o;
    with_and_without(v, Number::bf16, trained, from_recording);
  }
  test::Variant half{"bfloat16", test::tiny_gpt(), test::tiny_plan()};
  with_and_without(half, Number::bf16, trained, from_recording);
  half.plan.logits.format = LogitFormat::compute;
  with_and_without(half, Number::bf16, trained, from_recording);
}

TEST_CASE("twenty replayed decode steps are bitwise equal to twenty direct steps", "[replay]") {
  for (const test::Variant& v : named({"multi-head, flash", "grouped heads", "window", "chunks", "sinks", "latent",
                                       "latent with biases and a window", "sinusoids", "ALiBi", "no positions"}))
    with_and_without(longer(v), Number::f32, decoded, from_recording);
  with_and_without(longer({"bfloat16", test::tiny_llama(), test::tiny_plan()}), Number::bf16, decoded, from_recording);
  test::Variant expanded{"latent, expanded cache", test::tiny_deepseek(), test::tiny_plan()};
  expanded.arch.moe = {};
  expanded.plan.mla = Mla::expanded;
  with_and_without(longer(expanded), Number::f32, decoded, from_recording);
}

TEST_CASE("a step whose results the host must read is not recorded, and the reason is reported", "[replay]") {
  const test::Variant v{"experts", test::tiny_deepseek(), test::tiny_plan()};
  const char* const why = "not from a recording: the host reads results during the recording";
  with_and_without(v, Number::f32, trained, why);
  with_and_without(longer(v), Number::f32, decoded, why);
}

TEST_CASE("a step is re-recorded after its settings change", "[replay]") {
  const test::Variant v{"", test::tiny_llama(), test::tiny_plan()};
  const auto run = [](Backend& b, const test::Variant& of) {
    Transformer t(of.arch, b, {.plan = of.plan}, 7);
    t.weights().make_trainable(of.plan);
    Run r;
    const Batch batch = test::tiny_batch(of.arch, of.plan, 3);
    const auto steps = [&](const OptimizerSettings& o) {
      for (int i = 0; i < 4; ++i) r.numbers.push_back(t.train(std::span(&batch, 1), o));
    };
    steps({});
    steps({.decay = 0.5});
    steps({.clip = 0.01});
    t.settings().plan.attention = AttentionImpl::naive;
    steps({});
    t.weights().make_trainable(of.plan);  // new gradients and moments
    steps({});
    r.flops = b.done();
    r.peak = t.arena().peak();
    r.how = t.training_run();
    return r;
  };
  with_and_without(v, Number::f32, run, from_recording);
}

TEST_CASE("a replayed step with a NaN loss or gradient leaves the model unchanged", "[replay]") {
  for (const test::MakeBackend make : test::gpus()) {
    const std::unique_ptr<Backend> b = make(Number::f32, true);
    const test::Variant v{"", test::tiny_llama(), test::tiny_plan()};
    Transformer t(v.arch, *b, {.plan = v.plan}, 7);
    t.weights().make_trainable(v.plan);
    const Batch batch = test::tiny_batch(v.arch, v.plan, 3);
    for (int i = 0; i < 3; ++i) t.train(std::span(&batch, 1), {});
    Parameter& head = t.weights().at(-1, "head.norm.weight");
    Parameter& other = t.weights().at(0, "attn.q.weight");
    const std::vector<double> before = t.weights().get(other.value, other.elements(), false);
    t.weights().set(head, std::vector<double>(static_cast<std::size_t>(head.elements()), std::nan("")));
    CHECK_THROWS_AS(t.train(std::span(&batch, 1), {}), NotANumber);
    CHECK(t.training_run() == from_recording);
    CHECK(t.weights().get(other.value, other.elements(), false) == before);
    CHECK(t.updates() == 3);
  }
}

TEST_CASE("two runs in deterministic mode are bitwise equal", "[replay]") {
  test::Variant v{"", test::tiny_llama(), test::tiny_plan()};
  v.arch.head_dim = 16;  // supported by attention libraries
  v.arch.hidden = v.arch.embedding_width = 64;
  setenv("LLMCALC_DETERMINISTIC", "1", 1);
  for (const test::MakeBackend make : test::gpus()) {
    const Run first = trained(*make(Number::bf16, true), v), second = trained(*make(Number::bf16, true), v);
    CHECK(first.numbers == second.numbers);
  }
  unsetenv("LLMCALC_DETERMINISTIC");
}

TEST_CASE("LLMCALC_GRAPHS accepts only 0 and 1", "[replay]") {
  CHECK(model::cuda::graphs_wanted(nullptr));
  CHECK(model::cuda::graphs_wanted("1"));
  CHECK_FALSE(model::cuda::graphs_wanted("0"));
  CHECK_THROWS_WITH(model::cuda::graphs_wanted("yes"), "LLMCALC_GRAPHS is yes; valid values are 0 and 1");
}
