// The largest batch, sequence, micro-batch or model: some plan fits with it, and no plan fits with a larger value
// tried.

#include "search/largest.hpp"

#include "tests/catch.hpp"
#include "tests/search/spaces.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

const Searching one_thread = [](const Space& s) { return search(s); };

/// Exhaustive reference: whether any plan of the grid without recomputation fits according to train().
bool holds(const Space& s) {
  bool any = false;
  for_each_grid_point(s, [&](const Candidate& c) {
    if (!any && c.recompute == Recompute::none && is_plan(s, c)) any = trained(s, c).peak <= usable(s);
  });
  return any;
}

/// A space without recomputation.
Space small(Count memory) {
  Space s = space_of(with_layers(even(), 4), 2, memory, 128, 4);
  s.fixed.recompute = Recompute::none;
  return s;
}

/// Checks every value tried against the exhaustive reference.
void check_tried(const Space& s, const LargestQuestion& q, const LargestFound& r) {
  REQUIRE(!r.tried.empty());
  for (const TriedValue& t : r.tried) {
    CAPTURE(t.value);
    if (t.value <= 4096) CHECK(t.plan.has_value() == holds(with_value(s, q, t.value)));
    if (r.value && t.value > *r.value) CHECK(!t.plan);
  }
}

}  // namespace

TEST_CASE("the largest number of layers fits, and no larger number does", "[search]") {
  const LargestQuestion q{.of = Largest::layers};
  for (const Count layers : {3, 4, 7}) {
    Space s = small(1);
    s.cluster.device.memory = search(with_value(small(1'000'000'000), q, layers)).front[0].peak;
    const LargestFound r = largest(s, q, one_thread);
    REQUIRE(r.value);
    check_tried(s, q, r);
    CHECK(*r.value >= layers);
    CHECK(holds(with_value(s, q, *r.value)));
    for (Count more = *r.value + 1; more <= *r.value + 3; ++more) CHECK(!holds(with_value(s, q, more)));
    CHECK(!r.any);
    CHECK(!r.bounded);
  }
}

TEST_CASE("for a given batch, the largest micro-batch is the largest divisor of the batch that fits", "[search]") {
  const LargestQuestion q{.of = Largest::micro_batch};
  Space s = small(1);
  s.plan.global_batch = 24;
  Space enough = with_value(s, q, 6);
  enough.cluster.device.memory = Bytes(1'000'000'000);
  s.cluster.device.memory = search(enough).front[0].peak;
  const LargestFound r = largest(s, q, one_thread);
  Count most = 0;
  for (const Count n : divisors(24)) {
    Space one = with_value(s, q, n);
    for (const Found& f : search(one).best) most = std::max(most, f.candidate.micro_batch);
  }
  REQUIRE(r.value);
  CHECK(*r.value == most);
  CHECK(most >= 6);
  CHECK(r.tried.front().value == 24);
  CHECK(r.bounded == (most == 24));
  CHECK(most < 24);
  CHECK(r.tried.back().value == most);
}

TEST_CASE("without a stated batch, the largest micro-batch that fits is exact", "[search]") {
  const LargestQuestion q{.of = Largest::micro_batch, .batch_follows = true};
  for (const Count micro_batch : {1, 5, 8}) {
    Space s = small(1'000'000'000);
    const Space at = with_value(s, q, micro_batch);
    CHECK(at.plan.global_batch == 2 * micro_batch);
    s.cluster.device.memory = search(at).front[0].peak;
    const LargestFound r = largest(s, q, one_thread);
    REQUIRE(r.value);
    CHECK(*r.value >= micro_batch);
    CHECK(!search(with_value(s, q, *r.value)).best.empty());
    CHECK(search(with_value(s, q, *r.value + 1)).best.empty());
  }
}

TEST_CASE("the longest sequence fits, and one a 64th longer does not", "[search]") {
  const LargestQuestion q{.of = Largest::sequence};
  for (const Count seq : {40, 300, 3000}) {
    Space s = small(1'000'000'000);
    s.cluster.device.memory = search(with_value(s, q, seq)).front[0].peak;
    const LargestFound r = largest(s, q, one_thread);
    REQUIRE(r.value);
    check_tried(s, q, r);
    CHECK(*r.value * 65 / 64 + 1 >= seq);
    CHECK(holds(with_value(s, q, *r.value)));
    bool next = false;  // the next value tried beyond it did not fit
    for (const TriedValue& t : r.tried) next |= t.value > *r.value && t.value <= *r.value + *r.value / 64 + 1;
    CHECK(next);
  }
  Space learned = small(1'000'000'000);
  learned.arch.position = Position::learned;
  learned.arch.position_rows = 1000;
  const LargestFound all = largest(learned, q, one_thread);
  CHECK(all.value == 1000);
  CHECK(all.bounded);
  learned.fixed.cp = 2;  // permits multiples of 4
  learned.arch.position_rows = 1002;
  CHECK(largest(learned, q, one_thread).value == 1000);
}

TEST_CASE("a batch of any size fits if its micro-batches do, and otherwise no batch fits", "[search]") {
  const LargestQuestion q{.of = Largest::batch};
  Space s = small(1'000'000'000);
  s.cluster.device.memory = search(with_value(s, q, 4)).front[0].peak;
  const LargestFound r = largest(s, q, one_thread);
  CHECK(r.any);
  REQUIRE(r.value);
  for (const Count times : {2, 3, 16}) CHECK(!search(with_value(s, q, times * *r.value)).best.empty());
  Space deep = space_of(with_layers(even(), 4), 4, 1'000'000'000, 128, 4);  // ZB-H2 stores 7 micro-batches on 4 ranks
  deep.fixed = {.tp = 1, .pp = 4, .micro_batch = 1, .recompute = Recompute::none, .schedule = Schedule::zb_h2};
  deep.cluster.device.memory = search(with_value(deep, q, 4)).front[0].peak;
  const LargestFound four = largest(deep, q, one_thread);
  CHECK(four.value == 4);
  CHECK(!four.any);
  s.cluster.device.memory = Bytes(1000);
  for (const Largest of : {Largest::batch, Largest::sequence, Largest::micro_batch, Largest::layers}) {
    const LargestFound none = largest(s, {.of = of}, one_thread);
    CHECK(!none.value);
    CHECK(!none.any);
    CHECK(!none.tried.empty());
  }
}

TEST_CASE("a search for the largest value reports that it was stopped", "[search]") {
  const LargestFound r = largest(small(1'000'000'000), {.of = Largest::sequence}, [](const Space&) {
    SearchResult none;
    none.stopped = true;
    return none;
  });
  CHECK(r.stopped);
  CHECK(!r.value);
  CHECK(r.tried.empty());
}

TEST_CASE("changing a model's number of layers keeps its first layers and continues its last pattern", "[search]") {
  Arch a = even();
  a.layers = 8;
  a.moe.experts = 4;
  a.moe.layers = LayerSet::every(3, 1, 8);    // dense, dense, dense, then experts
  a.local.layers = LayerSet::every(0, 2, 8);  // local, global, local, global ...
  const Arch more = of_layers(a, 12), fewer = of_layers(a, 4);
  CHECK(more.layers == 12);
  CHECK(more.moe.layers == LayerSet::every(3, 1, 12));
  CHECK(more.local.layers == LayerSet::every(0, 2, 12));
  CHECK(fewer.moe.layers == LayerSet::every(3, 1, 4));
  CHECK(fewer.local.layers == LayerSet::every(0, 2, 4));
  CHECK(of_layers(a, 8) == a);
}
