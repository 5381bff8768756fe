// A search finds the best of all plans evaluated one by one with train().

#include "search/search.hpp"
#include "search/evaluate.hpp"

#include "tests/catch.hpp"
#include "tests/search/spaces.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// Small models with memory near a device's capacity, so that only some plans fit.
std::vector<Space> small_spaces() {
  std::vector<Space> all{space_of(with_layers(even(), 6), 8, 8'000'000, 512, 16),
                         space_of(with_layers(even_moe(), 4), 8, 8'000'000, 256, 8),
                         space_of(with_layers(even_latent(), 4), 4, 10'000'000, 256, 8),
                         space_of(with_layers(even(), 5), 6, 8'000'000, 384, 12)};
  Space estimated = all[0];
  estimated.plan.efficiency = 0.5;
  estimated.plan.overlap = 0.3;
  all.push_back(estimated);
  Space tied = all[0];  // in some schedules the first and the last stage each have a token embedding
  tied.arch.tied_head = true;
  tied.gpus = {4};
  tied.best = 100000;  // all plans
  all.push_back(tied);
  Space mixed = all[0];  // layers of two kinds
  mixed.arch = with_layers(even_moe(), 5);
  mixed.arch.moe.layers = {};
  for (const Count layer : {1, 3, 4}) mixed.arch.moe.layers.insert(layer);
  mixed.gpus = {4};
  mixed.plan.global_batch = 8;
  all.push_back(mixed);
  Space offloaded = all[0];  // transfers to the host differ by ZeRO stage
  offloaded.gpus = {4};
  offloaded.cluster.device.host = {BytesPerSecond(63e9), BytesPerSecond(2e11)};
  offloaded.cluster.device.memory = Bytes(4'000'000);
  offloaded.plan.offload = {.activations = {1, 1}, .optimizer = {1, 1}, .weights = {3, 4}};
  all.push_back(offloaded);
  return all;
}

bool fits(const Space& s, const Found& f) { return f.peak <= usable(s); }

}  // namespace

TEST_CASE("a search finds the best of all plans that train() evaluates", "[search]") {
  for (Space s : small_spaces()) {
    const std::vector<Found> all = all_trained(s);
    for (const Objective o : {Objective::time, Objective::memory, Objective::cost, Objective::energy}) {
      s.objective = o;
      const SearchResult r = search(s);
      Best best(s.best);
      Front front;
      Count fit = 0;
      for (Found f : all) {
        f.value = value_of(s, f.candidate.gpus, f.step, f.peak);
        if (!fits(s, f)) continue;
        ++fit;
        best.add(f);
        front.add(f);
      }
      CHECK(fit > 0);
      CHECK(r.counts.fit == fit);
      CHECK(r.counts.fit + r.counts.too_large == static_cast<Count>(all.size()));
      CHECK(r.counts.candidates == r.counts.fit + r.counts.too_large + r.counts.impossible);
      CHECK(r.best == std::vector<Found>(best.list().begin(), best.list().end()));
      CHECK(r.front == std::vector<Found>(front.list().begin(), front.list().end()));
    }
  }
}

TEST_CASE("the figures of found plans equal those of train() to the last bit", "[search]") {
  Space s = space_of(llama31_8b(), 16, Count{80} << 30, 4096, 64);
  const SearchResult r = search(s);
  CHECK(r.best.size() == 10);
  CHECK(r.front.size() > 5);
  for (const auto& list : {r.best, r.front})
    for (const Found& f : list) CHECK(f == trained(s, f.candidate));
}

TEST_CASE("the merged result of a search does not depend on the number of parts", "[search]") {
  const Space s = space_of(with_layers(even_moe(), 4), 8, 8'000'000, 256, 8);
  const SearchResult whole = search(s);
  for (const Count n : {2, 3, 7}) {
    std::vector<SearchResult> parts;
    for (Count i = n - 1; i >= 0; --i) parts.push_back(search(s, {i, n}));
    const SearchResult merged = merge(s, parts);
    CHECK(merged.best == whole.best);
    CHECK(merged.front == whole.front);
    CHECK(merged.counts == whole.counts);
  }
}

TEST_CASE("more memory per device never makes the best plan slower", "[search]") {
  Space s = space_of(with_layers(even(), 6), 8, 0, 512, 16);
  double last = 1e300;
  for (const Count memory : {2'000'000, 3'000'000, 4'000'000, 6'000'000, 9'000'000, 14'000'000, 100'000'000}) {
    s.cluster.device.memory = Bytes(memory);
    const SearchResult r = search(s);
    if (r.best.empty()) continue;
    CHECK(r.best[0].value <= last);
    last = r.best[0].value;
  }
  CHECK(last < 1e300);
}

TEST_CASE("a search stops on request and reports its progress", "[search]") {
  const Space s = space_of(with_layers(even(), 6), 8, 8'000'000, 512, 16);
  int calls = 0;
  double last = 0;
  const Watch watch{.stop = [&] { return ++calls == 5; },
                    .progress =
                        [&](double done, const Found*) {
                          CHECK(done > last);
                          last = done;
                        }};
  const SearchResult r = search(s, {}, watch);
  CHECK(r.stopped);
  CHECK(calls == 5);
  CHECK(last < 1);
  CHECK(r.counts.candidates < search(s).counts.candidates);
}

TEST_CASE("a plan on the Pareto front is the fastest of all plans that need no more memory", "[search]") {
  const SearchResult r = search(space_of(with_layers(even(), 6), 8, 8'000'000, 512, 16));
  for (std::size_t i = 1; i < r.front.size(); ++i) {
    CHECK(r.front[i].peak > r.front[i - 1].peak);
    CHECK(r.front[i].step < r.front[i - 1].step);
  }
  CHECK(r.front.back().step == r.best[0].step);
}

TEST_CASE("options with fixed values are not searched", "[search]") {
  Space s = space_of(with_layers(even(), 6), 8, 8'000'000, 512, 16);
  s.fixed = {.tp = 2, .pp = 2, .recompute = Recompute::full, .zero = Zero::optimizer};
  const SearchResult r = search(s);
  CHECK(!r.best.empty());
  for (const Found& f : r.best) {
    CHECK(f.candidate.tp == 2);
    CHECK(f.candidate.pp == 2);
    CHECK(f.candidate.recompute == Recompute::full);
    CHECK(f.candidate.zero == Zero::optimizer);
  }
}

TEST_CASE("a search under LoRA shards frozen weights only if they have a plain format", "[search]") {
  Space s = space_of(with_layers(even(), 6), 8, 0, 512, 16);
  s.plan.lora_rank = 4;
  s.best = 1000;
  const auto shards = [&] {
    const SearchResult r = search(s);
    CHECK(!r.best.empty());
    for (const Found& f : r.best) CHECK(f == trained(s, f.candidate));
    return std::any_of(r.best.begin(), r.best.end(), [](const Found& f) { return f.candidate.zero == Zero::weights; });
  };
  s.cluster.device.memory = Bytes(Count{1} << 40);
  CHECK(shards());
  s.plan.base_precision = *dtype("nf4");
  CHECK_FALSE(shards());
}

TEST_CASE("plans found with frozen parts match train() for every ZeRO stage", "[search]") {
  Space s = space_of(with_layers(even(), 6), 8, 0, 512, 16);
  s.plan.frozen = {.parts = FreezePart::embedding, .layers = LayerSet::all(3)};
  s.best = 1000;
  s.cluster.device.memory = Bytes(Count{1} << 40);
  const SearchResult r = search(s);
  CHECK(!r.best.empty());
  for (const Found& f : r.best) CHECK(f == trained(s, f.candidate));
  s.plan.frozen = {};
  s.plan.optimizer = Optimizer::muon;
  for (const Found& f : search(s).best) CHECK(f == trained(s, f.candidate));
}

TEST_CASE("plans found with high-precision blocks match train()", "[search]") {
  Space s = space_of(with_layers(even(), 6), 8, 0, 512, 16);
  s.plan.precision = *dtype("mxfp8");
  s.plan.low_precision = {.parts = NarrowPart::mlp, .first_wide = 1, .last_wide = 2};
  s.cluster.device.peaks[static_cast<std::size_t>(Peak::fp8)] = 2 * s.cluster.device.peak(dtypes::bf16);
  s.cluster.device.memory = Bytes(Count{1} << 40);
  s.best = 1000;
  const SearchResult r = search(s);
  CHECK(!r.best.empty());
  for (const Found& f : r.best) CHECK(f == trained(s, f.candidate));
  CHECK(std::any_of(r.best.begin(), r.best.end(), [](const Found& f) { return f.candidate.pp > 1; }));
}

TEST_CASE("if not all layers' tensors fit, recomputing a block of layers beats recomputing all", "[search]") {
  Space s = space_of(with_layers(llama31_8b(), 16), 4, 0, 4096, 32);
  s.fixed = {.tp = 4, .pp = 1, .micro_batch = 2, .sp = true};
  Candidate plan{.gpus = 4, .tp = 4, .micro_batch = 2, .sp = true, .recompute = Recompute::full, .block = 8};
  s.cluster.device.memory = trained(s, plan).peak;  // half of the layers just fit
  const Found all = search(s).best[0];
  s.blocks = {12, 4, 8, 6};
  const SearchResult r = search(s);
  CHECK(r.best[0] == trained(s, plan));
  CHECK(r.best[0].step < all.step);
  CHECK(r.best[1].candidate.block == 12);
  for (const Found& f : r.best) CHECK(f == trained(s, f.candidate));
}

TEST_CASE("without ranks to shard over, ZeRO stages differ only in the gradients on the host", "[search]") {
  Space s = space_of(with_layers(even(), 4), 2, 20'000'000, 128, 4);
  s.cluster.device.host = {BytesPerSecond(63e9), BytesPerSecond(2e11)};
  const Candidate alone{.gpus = 2, .tp = 2};
  for (const Ratio weights : {Ratio{0, 1}, Ratio{3, 4}, Ratio{1, 1}}) {
    s.plan.offload = {.activations = weights, .optimizer = {1, 1}, .weights = weights};
    std::vector<Zero> apart;  // stages that differ in time or memory from all earlier ones
    for (const Zero zero : {Zero::none, Zero::optimizer, Zero::gradients, Zero::weights}) {
      Candidate c = alone;
      c.zero = zero;
      const Found f = trained(s, c);
      const auto same = [&](Zero other) {
        c.zero = other;
        const Found g = trained(s, c);
        return g.step == f.step && g.peak == f.peak;
      };
      if (std::none_of(apart.begin(), apart.end(), same)) apart.push_back(zero);
    }
    CHECK(zeros(s, alone) == apart);
  }
  CHECK(zeros(s, {.gpus = 2, .dp = 2}).size() == 4);
}

TEST_CASE("hybrid sharding excludes plans without ranks to shard over", "[search]") {
  Space s = space_of(with_layers(even(), 4), 2, 20'000'000, 128, 4);
  s.layout.hsdp = 2;
  CHECK(zeros(s, {.gpus = 2, .tp = 2}).empty());
  const SearchResult found = search(s);
  REQUIRE_FALSE(found.best.empty());
  CHECK(found.best.front().candidate.dp == 2);
}

TEST_CASE("a search with hybrid sharding divides experts within a replica", "[search]") {
  Space s = space_of(with_layers(even_moe(), 4), 8, 0, 128, 16);
  s.cluster.device.memory = Bytes(Count{1} << 40);
  s.layout.hsdp = 2;
  s.best = 1000;
  const SearchResult found = search(s);
  Count most = 0;  // expert-parallel ranks without tensor parallelism
  for (const Found& f : found.best) {
    const Candidate& c = f.candidate;
    CHECK(f == trained(s, c));
    CHECK(c.tp * 2 % (c.ep * (c.etp > 0 ? c.etp : c.tp)) == 0);
    if (c.tp == 1) most = std::max(most, c.ep);
  }
  CHECK(most == 2);
}

TEST_CASE("a search space without a possible plan is detected before the search", "[search]") {
  Space s = space_of(with_layers(even(), 6), 8, 0, 512, 16);
  const auto counted = [](const Space& space) {
    const SearchCounts c = search(space).counts;
    return c.fit + c.too_large > 0;
  };
  for (const Count tp : {0, 2, 3, 5, 8, 16})
    for (const Count pp : {0, 2, 3, 8})
      for (const Count micro_batch : {0, 3, 4})
        for (const auto schedule : {std::optional<Schedule>(), std::optional(Schedule::zb_v)}) {
          s.fixed = {.tp = tp, .pp = pp, .micro_batch = micro_batch, .schedule = schedule};
          CHECK(any_possible(s) == counted(s));
        }
}

TEST_CASE("a plan that needs more host memory than the host has does not fit", "[search]") {
  Space s = small_spaces().back();
  const SearchResult free = search(s);
  REQUIRE(free.counts.fit > 0);
  Bytes most;
  for (const Found& f : free.best) most = std::max(most, evaluate(s, f.candidate).host);
  REQUIRE(most > Bytes(1));
  s.cluster.device.host.capacity = most - Bytes(1);
  const SearchResult bounded = search(s);
  CHECK(bounded.counts.fit < free.counts.fit);
  CHECK(bounded.counts.candidates == free.counts.candidates);
  for (const Found& f : bounded.best) {
    CHECK(evaluate(s, f.candidate).host < most);
    CHECK(evaluate(s, f.candidate).fits);
  }
  s.cluster.device.host.capacity = Bytes(1);
  CHECK(search(s).counts.fit == 0);
}

TEST_CASE("a search starts with a plan that fits, so that a stopped search has a plan", "[search]") {
  for (Space s : small_spaces()) {
    s.best = 1;
    const SearchResult all = search(s);
    if (all.counts.fit == 0) continue;
    bool found = false;
    Count before = 0;
    const Watch watch{.stop = [&] { return found; },
                      .progress =
                          [&](double, const Found* best) {
                            found = best != nullptr;
                            if (!found) ++before;
                          }};
    const SearchResult early = search(s, {}, watch);
    CHECK(early.stopped);
    CHECK(!early.best.empty());
    CHECK(before < 8);
    CHECK(early.counts.candidates < all.counts.candidates);
  }
}

TEST_CASE("the list of options that were not searched depends on the search space", "[search]") {
  Space s = space_of(even(), 8, 0, 512, 16);
  const auto says = [&](std::string_view part) {
    const auto all = not_searched(s);
    return std::any_of(all.begin(), all.end(), [&](auto one) { return one.find(part) != one.npos; });
  };
  for (const char* always : {"--reshard", "--logits, --glu-store", "collective"}) CHECK(says(always));
  CHECK(says("offload to the host"));
  s.offload_tried = true;
  CHECK_FALSE(says("offload to the host"));
  CHECK(says("offload fractions"));
  CHECK_FALSE(says("uniform:N"));
  s.blocks = {1, 2};
  for (const char* blocks : {"uniform:N", "not powers of two", "selective:MODULES"}) CHECK(says(blocks));
  CHECK_FALSE(says("other GPU counts"));
  s.some_numbers = true;
  CHECK(says("other GPU counts"));
}

TEST_CASE("plans that recompute the same layers count as one", "[search]") {
  Best best(3);
  const auto plan = [](Count block, double step, Count peak) {
    Found f{.step = Seconds(step), .peak = Bytes(peak), .value = step};
    f.candidate.recompute = Recompute::full;
    f.candidate.block = block;
    return f;
  };
  // In chunks of three layers, blocks of 4, 8 and 16 recompute all layers.
  for (const Found& f : {plan(16, 3, 50), plan(1, 1, 70), plan(8, 3, 50), plan(4, 3, 50), plan(2, 2, 60)}) best.add(f);
  REQUIRE(best.list().size() == 3);
  CHECK(best.list()[0].candidate.block == 1);
  CHECK(best.list()[1].candidate.block == 2);
  CHECK(best.list()[2].candidate.block == 4);  // the simplest of three
}
