// Single plans with many micro-batches and stages: results of a search equal train()'s.

#include <random>

#include "search/search.hpp"
#include "tests/catch.hpp"
#include "tests/search/spaces.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

Space only(Space s, const Candidate& c) {
  s.gpus = {c.gpus};
  s.fixed = {.tp = c.tp,
             .cp = c.cp,
             .ep = c.ep,
             .etp = c.etp,
             .pp = c.pp,
             .chunks = c.chunks,
             .micro_batch = c.micro_batch,
             .sp = c.sp,
             .recompute = c.recompute,
             .zero = c.zero,
             .schedule = c.schedule};
  return s;
}

class Dice {
 public:
  Count one_of(std::initializer_list<Count> all) { return all.begin()[engine_() % all.size()]; }

 private:
  std::mt19937 engine_{1};
};

Candidate random_plan(Dice& dice, const Space& s) {
  Candidate c;
  c.tp = dice.one_of({1, 2, 4});
  c.cp = dice.one_of({1, 1, 2});
  c.pp = dice.one_of({2, 3, 4, 6, 8, 12});
  c.dp = dice.one_of({1, 2, 4});
  c.gpus = c.tp * c.cp * c.pp * c.dp;
  c.sp = c.tp > 1 && dice.one_of({0, 1}) == 1;
  c.ep = s.arch.has_experts() ? dice.one_of({1, 2, 4}) : 1;
  if (s.arch.has_experts() && c.tp > 1) c.etp = dice.one_of({1, c.tp});
  c.micro_batch = dice.one_of({1, 2, 4});
  c.recompute = static_cast<Recompute>(dice.one_of({0, 1, 2}));
  c.zero = c.cp * c.dp > 1 ? static_cast<Zero>(dice.one_of({0, 1, 2, 3})) : Zero::none;
  c.schedule = static_cast<Schedule>(dice.one_of(
      {static_cast<Count>(Schedule::one_f_one_b), static_cast<Count>(Schedule::interleaved),
       static_cast<Count>(Schedule::zb_h1), static_cast<Count>(Schedule::zb_h2), static_cast<Count>(Schedule::zb_v)}));
  c.chunks = c.schedule == Schedule::interleaved ? dice.one_of({2, 3, 4, 5}) : fixed_chunks(c.schedule);
  return c;
}

}  // namespace

TEST_CASE("a search over a single plan gives the seconds and bytes of train()", "[search]") {
  Space dense = space_of(llama31_8b(), 1, Count{1} << 50, 1024, 768);
  dense.arch.layers = 40;
  Space tied = space_of(gpt3_175b(), 1, Count{1} << 50, 1024, 384);
  Space experts = space_of(mixtral_8x7b(), 1, Count{1} << 50, 1024, 768);
  experts.arch.moe.layers = {};
  for (Count i = 3; i < 32; i += 2)
    experts.arch.moe.layers.insert(i);  // two alternating kinds, after three layers of one kind
  experts.arch.mlp_width = 14336;
  experts.plan.efficiency = 0.4;
  Dice dice;
  int tried = 0;
  for (const Space& s : {dense, tied, experts})
    for (int i = 0; i < 3000; ++i) {
      const Candidate c = random_plan(dice, s);
      if (objection(s, c).obstacle != Obstacle::none) continue;
      const SearchResult r = search(only(s, c));
      REQUIRE(r.best.size() == 1);
      CHECK(r.best[0] == trained(s, c));
      CHECK(r.counts == SearchCounts{.candidates = 1, .fit = 1});
      ++tried;
    }
  CHECK(tried > 2000);
}
