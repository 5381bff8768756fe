// The memory bound that needs no partition never exceeds any plan's memory, and excludes many plans that do not fit.

#include "search/least_memory.hpp"

#include "tests/catch.hpp"
#include "tests/search/spaces.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

std::vector<Space> bounded_spaces() {
  std::vector<Space> all{space_of(with_layers(even(), 5), 4, 8'000'000, 512, 8),
                         space_of(with_layers(even_moe(), 4), 4, 8'000'000, 256, 4),
                         space_of(with_layers(even_latent(), 4), 4, 10'000'000, 256, 4)};
  Space mixed = all[1];  // layers of two kinds
  mixed.arch.moe.layers = {};
  for (const Count layer : {1, 3}) mixed.arch.moe.layers.insert(layer);
  all.push_back(mixed);
  Space tied = all[0];
  tied.arch.tied_head = true;
  all.push_back(tied);
  Space offloaded = all[0];
  offloaded.cluster.device.host = {BytesPerSecond(63e9), BytesPerSecond(2e11)};
  offloaded.plan.offload = {.activations = {1, 2}, .optimizer = {1, 1}, .weights = {3, 4}};
  all.push_back(offloaded);
  Space blocks = all[0];  // one layer of each chunk is recomputed
  blocks.plan.recompute_method = RecomputeMethod::block;
  blocks.plan.recompute_layers = 1;
  all.push_back(blocks);
  Space groups = all[0];
  groups.plan.recompute_layers = 2;
  all.push_back(groups);
  return all;
}

double least_of(const Space& s, const Candidate& c) {
  const Plan plan = plan_of(s, c);
  const Layout layout = layout_of(s, c);
  return least_peak(price(s.arch, plan, layout, s.cluster.device), plan, layout);
}

}  // namespace

TEST_CASE("no plan needs less memory than the partition-free bound", "[search]") {
  for (const Space& s : bounded_spaces()) {
    std::size_t plans = 0, below = 0;
    for_each_grid_point(s, [&](const Candidate& c) {
      if (!is_plan(s, c)) return;
      const double peak = static_cast<double>(trained(s, c).peak.value);
      ++plans;
      below += least_of(s, c) > peak * (1 + 1e-6);
    });
    CHECK(plans > 100);
    CHECK(below == 0);
  }
}

// With one stage and no recomputation, one micro-batch is in flight: the bound lacks only tensors of the embedding, the
// head and the running layer, gathered weights and buckets.
TEST_CASE("the partition-free memory bound covers most of a single-stage plan's memory", "[search]") {
  const Space s = space_of(with_layers(even(), 32), 1, 1'000'000'000, 512, 1);
  const Candidate c{};
  const double peak = static_cast<double>(trained(s, c).peak.value);
  CHECK(least_of(s, c) > 0.8 * peak);
}

TEST_CASE("a search that stops at the first plan finds one if and only if the full search does", "[search]") {
  for (Space s : bounded_spaces())
    for (const Count memory : {500'000, 1'000'000, 2'000'000, 4'000'000, 8'000'000, 64'000'000}) {
      s.cluster.device.memory = Bytes(memory);
      const SearchResult any = search(s, {}, {.until = Until::fit}), all = search(s);
      CAPTURE(memory);
      CHECK(any.best.empty() == all.best.empty());
      for (const Found& f : any.best) {
        CHECK(f.peak <= usable(s));
        CHECK(trained(s, f.candidate) == f);
      }
    }
}
