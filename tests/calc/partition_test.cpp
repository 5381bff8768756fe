// Layers over the chunks of a pipeline: no cut is better, every chunk has a layer.

#include "calc/partition.hpp"

#include <algorithm>

#include "tests/calc/cluster_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

double cost(const LayerKinds& kinds, const RowCosts& costs, const ModelChunk& c) {
  double all = (c.embedding ? costs.embedding : 0) + (c.head ? costs.head : 0);
  for (Count i = c.first; i < c.end; ++i) all += costs.layer[kind_index(kinds, i)];
  return all;
}
double slowest(const LayerKinds& kinds, const RowCosts& costs, const Partition& p) {
  double most = 0;
  for (Count i = 0; i < p.size(); ++i) most = std::max(most, cost(kinds, costs, p[i]));
  return most;
}

/// The smallest maximum over all ways to cut layers [first, end) into chunks i, i + 1, ...: tries all.
double best(const LayerKinds& kinds, const RowCosts& costs, Count i, Count chunks, Count first, Count end) {
  if (i + 1 == chunks) return cost(kinds, costs, {first, end, i == 0, true});
  double least = 1e300;
  for (Count cut = first + 1; cut <= end - (chunks - 1 - i); ++cut)
    least = std::min(
        least, std::max(cost(kinds, costs, {first, cut, i == 0, false}), best(kinds, costs, i + 1, chunks, cut, end)));
  return least;
}

void check_sound(const Partition& p, Count chunks, Count layers) {
  REQUIRE(p.size() == chunks);
  for (Count i = 0; i < chunks; ++i) {
    REQUIRE(p[i].layers() >= 1);
    REQUIRE(p[i].first == (i == 0 ? 0 : p[i - 1].end));
    REQUIRE(p[i].embedding == (i == 0));
    REQUIRE(p[i].head == (i + 1 == chunks));
  }
  REQUIRE(p[chunks - 1].end == layers);
}

RowCosts random_costs(Cases& cases) {
  const auto some = [&] { return static_cast<double>(cases.below(50)) / 7; };
  RowCosts c{.embedding = some() * static_cast<double>(cases.below(3)), .head = 3 * some()};
  for (double& layer : c.layer) layer = 0.1 + some();
  return c;
}

}  // namespace

TEST_CASE("No way to cut the layers has a faster slowest stage", "[cluster][partition]") {
  Cases cases(41);
  for (int i = 0; i < 600; ++i) {
    const Count layers = 1 + cases.below(11), ranks = 1 + cases.below(std::min<Count>(layers, 5));
    const LayerKinds kinds = layer_kinds(cases.arch(layers));
    const RowCosts costs = random_costs(cases);
    const Partition p = balanced(kinds, costs, {Schedule::one_f_one_b, ranks, 1, 8});
    check_sound(p, ranks, layers);
    REQUIRE(slowest(kinds, costs, p) <= best(kinds, costs, 0, ranks, 0, layers) * (1 + 1e-9));
  }
}

TEST_CASE("Every chunk has a layer, whatever layers, embedding and head cost", "[cluster][partition]") {
  Cases cases(42);
  for (int i = 0; i < 2000; ++i) {
    const Pipeline p = pipeline_tests::sound(pipeline_tests::all_schedules[static_cast<std::size_t>(cases.below(10))],
                                             1 + cases.below(8), 2 + cases.below(3), 64);
    const Count layers = model_chunks(p) + cases.below(20);
    const LayerKinds kinds = layer_kinds(cases.arch(layers));
    check_sound(balanced(kinds, random_costs(cases), p), model_chunks(p), layers);
  }
}

TEST_CASE("Layers that are alike are shared out evenly over the ranks of an interleaved pipeline",
          "[cluster][partition]") {
  for (const Count v : {2, 3})
    for (const Count layers : {24, 25, 30, 47}) {
      const Pipeline p{Schedule::interleaved, 4, v, 8};
      Arch a = even();
      a.layers = layers;
      RowCosts costs;
      costs.layer[0] = 1;
      const Partition cut = balanced(layer_kinds(a), costs, p);
      for (Count r = 0; r < 4; ++r) {
        Count mine = 0, most = 0, least = layers;
        for (Count i = 0; i < v; ++i) {
          const Count n = cut[model_chunk(p, r, i)].layers();
          mine += n;
          most = std::max(most, n);
          least = std::min(least, n);
        }
        CHECK(most - least <= 1);
        CHECK(mine >= layers / 4);
        CHECK(mine <= layers / 4 + 1);
      }
    }
}

TEST_CASE("Stated layers are taken as they are", "[cluster][partition]") {
  const std::array<Count, 4> layers{1, 9, 2, 6};
  const Partition p = stated(layers);
  check_sound(p, 4, 18);
  for (Count i = 0; i < 4; ++i) CHECK(p[i].layers() == layers[static_cast<std::size_t>(i)]);
  ClusterCase c{even(), {}, {.pp = 4}, device(1e12, 1e11, 1e10)};
  c.arch.layers = 18;
  c.plan.seq = 8;
  c.plan.global_batch = 4;
  for (const Count n : layers) c.layout.stage_layers.push(n);
  const TrainEstimate e = train(c.arch, c.plan, c.layout, c.cluster);
  for (Count i = 0; i < 4; ++i) CHECK(e.partition[i].layers() == layers[static_cast<std::size_t>(i)]);
}

TEST_CASE("Llama-3.1-405B's 126 layers on 16 stages are one less at both ends", "[cluster][partition]") {
  // arXiv:2407.21783, section 3.3.2: one layer less for the first and for the last stage
  Plan p;
  p.seq = 8192;
  p.global_batch = 16;
  const Layout l{.tp = 8, .sp = true, .pp = 16};
  const Cluster h100 = device(989.4e12, 3.35e12, 450e9);
  Cluster c = h100;
  c.levels.push({.ranks = 0, .bandwidth = BytesPerSecond(50e9), .latency = {}});
  const Arch a = llama31_405b();
  const Partition cut = partition(price(a, p, l, c.device), p, l, c);
  REQUIRE(cut.size() == 16);
  CHECK(cut[0].layers() == 7);
  CHECK(cut[15].layers() == 7);
  for (Count i = 1; i < 15; ++i) CHECK(cut[i].layers() == 8);
  // By FLOPs, of which an embedding has none, any but the last may have one less.
  const Partition by_flops = partition(price(a, p, l, {}), p, l, Cluster{});
  CHECK(by_flops[15].layers() == 7);
  for (Count i = 0; i < 15; ++i) CHECK(by_flops[i].layers() <= 8);
}
