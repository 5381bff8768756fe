// RWKV-7: chunked and sequential forms, prompts in parts, first-layer values, long chunks.

#include "tests/models/rwkv.hpp"

#include "tests/catch.hpp"
#include "tests/model/compare.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using test::Numbers;

namespace {

test::Variant of(Count chunk, Count tokens) {
  test::Variant v = test::with_context(test::rwkv7(chunk), tokens);
  v.plan.seq = tokens;
  return v;
}

}  // namespace

TEST_CASE("RWKV-7 in chunks of any size has the loss and gradients of the sequential form", "[rwkv]") {
  const Numbers one = test::loss_and_gradients(of(0, 11), Number::f64, true);
  for (const Count chunk : {2, 4, 11, 64}) {
    INFO("chunks of " << chunk);
    CHECK(test::difference(test::loss_and_gradients(of(chunk, 11), Number::f64, true), one) < 1e-12);
  }
}

TEST_CASE("RWKV-7 stays finite in one long chunk, since no quotient of decays overflows", "[rwkv]") {
  const test::Variant v = of(300, 300);
  test::Run r(v, Number::f32);
  for (Parameter& p : r.t.weights().all())
    if (p.shape.name.ends_with("decay_up.bias"))
      r.t.weights().set(p, Numbers(static_cast<std::size_t>(p.elements()), 9));  // e^-0.6065 per token, e^-182 in total
  r.make_trainable();
  CHECK(std::isfinite(r.t.gradients(test::tiny_batch(v.arch, v.plan, 5), 1, nullptr)));
  const Numbers all = test::gradients(r.t);
  CHECK(std::all_of(all.begin(), all.end(), [](double g) { return std::isfinite(g); }));
}

TEST_CASE("an RWKV-7 prompt in parts of any length leaves the states and last tokens of the whole prompt", "[rwkv]") {
  for (const Count chunk : {0, 4}) {
    test::Run run(of(chunk, 16), Number::f64);
    const std::vector<std::int64_t> ids{3, 1, 4, 1, 5, 9, 2, 6, 5, 3};
    const Numbers whole = run.t.logits(ids, 1, 0, nullptr);
    for (const Count first : {1, 2, 5, 9}) {
      INFO("chunks of " << chunk << ", the first " << first);
      Cache cache = run.t.make_cache(1, 10);
      run.t.logits(std::span(ids).first(static_cast<std::size_t>(first)), 1, 0, &cache);
      CHECK(test::difference(run.t.logits(std::span(ids).subspan(static_cast<std::size_t>(first)), 1, first, &cache),
                             whole) < 1e-12);
    }
  }
}

TEST_CASE("an RWKV-7 cache can be reused for another sequence", "[rwkv]") {
  test::Run run(of(0, 8), Number::f32, true);
  const std::vector<std::int64_t> one{3, 1, 4}, other{2, 7, 1};
  Cache cache = run.t.make_cache(1, 4), fresh = run.t.make_cache(1, 4);
  run.t.logits(one, 1, 0, &cache);
  CHECK(test::identical(run.t.logits(other, 1, 0, &cache), run.t.logits(other, 1, 0, &fresh)));
  CHECK(test::identical(run.t.logits(one, 1, 3, &cache), run.t.logits(one, 1, 3, &fresh)));
}

TEST_CASE("with a value-residual weight of 1, RWKV-7's later layers use only the first layer's values", "[rwkv]") {
  const test::Variant v = of(0, 6);
  test::Run run(v, Number::f64);
  Weights& w = run.t.weights();
  for (const Count layer : {1, 2}) {
    Parameter& bias = w.at(layer, "rwkv.value_up.bias");
    w.set(bias, Numbers(static_cast<std::size_t>(bias.elements()), 800));  // sigmoid is exactly 1
  }
  const test::Numbers before = run.t.logits(std::vector<std::int64_t>{3, 1, 4, 1}, 1, 0, nullptr);
  for (const Count layer : {2, 1, 0}) {
    Parameter& own = w.at(layer, "rwkv.v.weight");
    w.set(own, Numbers(static_cast<std::size_t>(own.elements()), 0.7));
    const Numbers after = run.t.logits(std::vector<std::int64_t>{3, 1, 4, 1}, 1, 0, nullptr);
    CHECK((test::difference(after, before) < 1e-12) == (layer > 0));
  }
}
