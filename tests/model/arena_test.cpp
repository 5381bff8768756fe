// The arena's accounting: live bytes by purpose and operator, and the peak.

#include <atomic>
#include <cstdlib>

#include "model/random.hpp"
#include "tests/catch.hpp"
#include "tests/model/compare.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using test::Run;
using test::Variant;

namespace {

/// Memory that counts its own live and peak bytes.
class Watched : public model::ArenaMemory {
 public:
  void* allocate(Bytes bytes) override {
    held += bytes.value;
    most = std::max(most, held);
    return std::malloc(static_cast<std::size_t>(bytes.value) + 1);
  }
  void release(void* data, Bytes bytes) override {
    held -= bytes.value;
    std::free(data);
  }
  Count held = 0, most = 0;
};

Count of_operators(const Arena& a, Purpose p) {
  Count n = 0;
  for (const auto& [op, bytes] : a.by_operator(p)) n += bytes.value;
  return n;
}

Bytes states(const Arena& a) {
  return a.live(Purpose::weights) + a.live(Purpose::gradients) + a.live(Purpose::optimizer);
}

}  // namespace

TEST_CASE("the arena's accounting matches the allocated memory through random allocations and releases", "[arena]") {
  Watched memory;
  Arena arena(memory);
  {
    std::vector<Tensor> held;
    for (std::uint64_t i = 0; i < 500; ++i) {
      const RandomWords r = philox(random_key(7), random_counter(i));
      const auto purpose = static_cast<Purpose>(r.word[0] % purpose_count);
      if (r.word[1] % 3 != 0)
        held.push_back(arena.make(purpose, r.word[2] % 2 == 0 ? "a" : "b", Bytes(r.word[3] % 999)));
      if (r.word[1] % 3 == 0 && !held.empty()) held.erase(held.begin() + r.word[2] % held.size());
      if (i % 7 == 0 && !held.empty()) held.back()->claim("c");
      CHECK(arena.live().value == memory.held);
      CHECK(arena.peak().value == memory.most);
    }
    Count all = 0;
    for (std::size_t p = 0; p < purpose_count; ++p) {
      all += arena.live(static_cast<Purpose>(p)).value;
      CHECK(of_operators(arena, static_cast<Purpose>(p)) == arena.live(static_cast<Purpose>(p)).value);
    }
    CHECK(all == memory.held);
    arena.reset_peak();
    CHECK(arena.peak() == arena.live());
  }
  CHECK(memory.held == 0);
  CHECK(arena.live() == Bytes());
}

TEST_CASE("a buffer is attributed to the first operator that claims it", "[arena]") {
  Watched memory;
  Arena arena(memory);
  const Tensor t = arena.make(Purpose::activations, "maker", Bytes(24));
  t->claim("first");
  t->claim("second");
  CHECK(arena.by_operator(Purpose::activations) == std::map<std::string_view, Bytes>{{"first", Bytes(24)}});
}

TEST_CASE("after a training step only weights, gradients and optimizer states remain allocated", "[arena]") {
  for (const Variant& v : test::variants())
    for (const test::Kind& f : test::kinds) {
      INFO(v.name << ", " << f.name);
      Run r(v, f.number);
      r.make_trainable();
      Arena& a = r.t.arena();
      const Bytes before = a.live();
      CHECK(before == states(a));
      const Batch batch = test::tiny_batch(v.arch, v.plan, 5);
      Bytes at_end;
      r.t.gradients(batch, 1, nullptr, [&] { at_end = a.live(); });
      CHECK(at_end > before);
      CHECK(a.peak() >= at_end);
      r.t.train(std::vector<Batch>{batch, batch}, {});
      r.t.loss(batch);
      CHECK(a.live() == before);
      CHECK(a.by_operator(Purpose::activations).empty());
      CHECK(a.live(Purpose::logits) == Bytes());
    }
}

TEST_CASE("after generation only weights remain allocated", "[arena]") {
  for (const Variant& v : test::generating_variants()) {
    INFO(v.name);
    Run r(v, Number::f32);
    Arena& a = r.t.arena();
    const Bytes weights = a.live();
    {
      Cache cache = r.t.make_cache(2, 8);
      const Batch b = test::tiny_batch(v.arch, v.plan, 5);
      r.t.logits(std::span(b.ids).first(10), 2, 0, &cache);
      r.t.logits(std::span(b.ids).first(2), 2, 5, &cache);
      Bytes open;  // keys and gates of token groups that are not yet pooled
      for (const auto& [op, bytes] : a.by_operator(Purpose::activations)) {
        CHECK(op.find("pool") != std::string_view::npos);
        open += bytes;
      }
      CHECK(a.live() == weights + a.live(Purpose::kv_cache) + open);
      CHECK(a.live(Purpose::kv_cache) > Bytes());
    }
    CHECK(a.live() == weights);
    CHECK(a.live(Purpose::weights) == r.cpu->number() * r.t.weights().count());
  }
}

TEST_CASE("a pass that is stopped releases all of its memory", "[arena]") {
  for (const Recompute recompute : {Recompute::none, Recompute::full}) {
    Variant v{"", test::tiny_deepseek(), test::tiny_plan()};
    v.plan.recompute = recompute;
    Run r(v, Number::f32);
    r.make_trainable();
    const Bytes before = r.t.arena().live();
    std::atomic<bool> stop = false;
    r.t.watch(&stop);
    const Batch b = test::tiny_batch(v.arch, v.plan, 5);
    CHECK_THROWS_AS(r.t.gradients(b, 1, nullptr, [&] { stop = true; }), Stopped);  // in backward
    CHECK(r.t.arena().live() == before);
    CHECK_THROWS_AS(r.t.gradients(b, 1, nullptr), Stopped);  // in forward
    CHECK(r.t.arena().live() == before);
    stop = false;
    CHECK(std::isfinite(r.t.gradients(b, 1, nullptr)));
  }
}
