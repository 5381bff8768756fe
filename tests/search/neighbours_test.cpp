// Plans next to the best one, and the reasons why they are worse.

#include "search/neighbours.hpp"

#include "search/search.hpp"
#include "tests/catch.hpp"
#include "tests/search/spaces.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

const Neighbor* find(const std::vector<Neighbor>& all, const Candidate& c) {
  for (const Neighbor& n : all)
    if (n.plan.found.candidate == c && n.verdict != Verdict::impossible) return &n;
  return nullptr;
}

}  // namespace

TEST_CASE("no neighbor of the best plan is better", "[search]") {
  for (const Arch& a : {with_layers(even(), 6), with_layers(even_moe(), 6)})
    for (const Objective o : {Objective::time, Objective::memory}) {
      Space s = space_of(a, 8, 8'000'000, 512, 16);
      s.objective = o;
      const Found best = search(s).best[0];
      const std::vector<Neighbor> all = neighbors(s, best.candidate);
      CHECK(all.size() >= 5);
      for (const Neighbor& n : all) {
        if (n.verdict == Verdict::impossible) continue;
        CHECK(n.plan.found == trained(s, n.plan.found.candidate));
        CHECK((n.verdict == Verdict::too_large) == (n.plan.found.peak > s.cluster.device.memory));
        CHECK(n.plan.found.candidate != best.candidate);
        if (n.plan.fits) CHECK(n.plan.found.value >= best.value);
        if (n.verdict == Verdict::slower) CHECK(n.slower > Seconds());
        CHECK(n.slower == n.plan.found.step - best.step);
      }
    }
}

TEST_CASE("a neighbor that does not fit reports the excess and the tensors that cause it", "[search]") {
  Space s = space_of(with_layers(even(), 6), 8, 0, 512, 64);
  const Candidate plan{.gpus = 8, .dp = 8, .micro_batch = 2, .recompute = Recompute::full, .zero = Zero::optimizer};
  const Found here = trained(s, plan);
  s.cluster.device.memory = here.peak;  // it just fits
  const std::vector<Neighbor> all = neighbors(s, plan);

  Candidate saved = plan;
  saved.recompute = Recompute::none;
  const Neighbor* n = find(all, saved);
  REQUIRE(n != nullptr);
  CHECK(n->change == PlanChange::recompute);
  CHECK(n->verdict == Verdict::too_large);
  CHECK(n->over == trained(s, saved).peak - here.peak);
  CHECK(n->term.term == HeldTerm::activations);
  CHECK(n->slower < Seconds());

  Candidate whole = plan;
  whole.zero = Zero::none;  // each device holds the 12 bytes of all parameters instead of an eighth
  n = find(all, whole);
  REQUIRE(n != nullptr);
  CHECK(n->change == PlanChange::zero);
  CHECK(n->verdict == Verdict::too_large);
  CHECK(n->term.term == HeldTerm::optimizer);
  const Count numbers = parameters(s.arch).total;
  CHECK(n->term.by == Bytes(12 * numbers - 12 * ceil_div(numbers, 8)));
}

TEST_CASE("a slower neighbor reports the part of its step that takes longer", "[search]") {
  const Space s = space_of(with_layers(even(), 8), 8, 80'000'000, 512, 16);
  const Candidate plan{.gpus = 8, .pp = 2, .dp = 4, .micro_batch = 2};
  const std::vector<Neighbor> all = neighbors(s, plan);
  Candidate wide = plan;
  wide.tp = 2;
  wide.dp = 2;
  const Neighbor* n = find(all, wide);
  REQUIRE(n != nullptr);
  CHECK(n->verdict == Verdict::slower);
  CHECK(n->change == PlanChange::tp);
  const StepTime a = train(s.arch, plan_of(s, plan), layout_of(s, plan), s.cluster).estimate;
  const StepTime b = train(s.arch, plan_of(s, wide), layout_of(s, wide), s.cluster).estimate;
  for (std::size_t i = 0; i < part_count; ++i) CHECK(b.parts[i] - a.parts[i] <= b[n->part.part] - a[n->part.part]);
  CHECK(n->part.by == b[n->part.part] - a[n->part.part]);
}

TEST_CASE("the growth of a memory term in a neighboring plan is measured on that plan's fullest stage", "[search]") {
  Space s = space_of(with_layers(even(), 8), 8, 0, 512, 64);
  const Candidate plan{.gpus = 8, .tp = 2, .pp = 2, .dp = 2, .micro_batch = 4, .sp = true, .zero = Zero::none};
  s.cluster.device.memory = trained(s, plan).peak;
  const auto stage_of = [&](const Candidate& c, Count rank) {
    const Plan p = plan_of(s, c);
    const Layout l = layout_of(s, c);
    const Prices prices = price(s.arch, p, l, s.cluster.device);
    return stage(prices, p, l, partition(prices, p, l, s.cluster), rank).memory;
  };
  for (const Neighbor& n : neighbors(s, plan)) {
    if (n.verdict == Verdict::impossible || n.plan.found.candidate.pp != plan.pp) continue;
    const Memory before = stage_of(plan, n.plan.fullest), after = stage_of(n.plan.found.candidate, n.plan.fullest);
    CHECK(n.term.by == term(after, n.term.term) - term(before, n.term.term));
    if (n.change != PlanChange::sp) continue;
    CHECK(n.verdict == Verdict::too_large);
    CHECK(term(after, HeldTerm::optimizer) == term(before, HeldTerm::optimizer));
    CHECK(n.term.term == HeldTerm::activations);
  }
}
