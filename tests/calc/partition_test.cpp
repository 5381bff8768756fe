// Division of layers into the chunks of a pipeline: no other division is better, and every chunk has a layer.

#include "calc/pipeline/partition.hpp"

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
/// Work of the slowest rank: all its chunks, in DualPipe the chunks of both directions.
double slowest(const LayerKinds& kinds, const RowCosts& costs, const Pipeline& pipeline, const Partition& p) {
  double most = 0;
  for (Count r = 0; r < pipeline.ranks; ++r) {
    double mine = 0;
    for (Count i = 0; i < pipeline.chunks; ++i) mine += cost(kinds, costs, p[model_chunk(pipeline, r, i)]);
    most = std::max(most, mine);
  }
  return most;
}

/// Calls f for every way to split a number of layers into chunks.
template <typename F>
void for_each_cut(Count layers, Count chunks, std::vector<Count>& cut, const F& f) {
  if (chunks == 1) {
    cut.push_back(layers);
    f(cut);
    cut.pop_back();
    return;
  }
  for (Count n = 1; n <= layers - (chunks - 1); ++n) {
    cut.push_back(n);
    for_each_cut(layers - n, chunks - 1, cut, f);
    cut.pop_back();
  }
}
/// The smallest work of the slowest rank over all ways to split the layers.
double least(const LayerKinds& kinds, const RowCosts& costs, const Pipeline& pipeline, Count layers) {
  double best = 1e300;
  std::vector<Count> cut;
  for_each_cut(layers, model_chunks(pipeline), cut,
               [&](const std::vector<Count>& c) { best = std::min(best, slowest(kinds, costs, pipeline, stated(c))); });
  return best;
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

TEST_CASE("under every schedule, no other division of the layers has a faster slowest rank", "[cluster][partition]") {
  Cases cases(41);
  for (int i = 0; i < 600; ++i) {
    const auto schedule = pipeline_tests::all_schedules[static_cast<std::size_t>(i % 10)];
    const Count chunks = 2 + cases.below(2);
    const Pipeline p = pipeline_tests::sound(schedule, 1 + cases.below(chunks == 2 ? 4 : 3), chunks, 8);
    const Count layers = model_chunks(p) + cases.below(12 - model_chunks(p));
    Arch a = cases.arch(layers);
    if (p.chunks > 1) a = even(), a.layers = layers;
    const LayerKinds kinds = layer_kinds(a);
    const RowCosts costs = random_costs(cases);
    const Partition cut = balanced(kinds, costs, p);
    INFO(name(schedule) << ", " << layers << " layers");
    check_sound(cut, model_chunks(p), layers);
    REQUIRE(slowest(kinds, costs, p, cut) <= least(kinds, costs, p, layers) * (1 + 1e-9));
  }
}

TEST_CASE("with mixed layers and several chunks per rank, the slowest rank is within one layer of optimal",
          "[cluster][partition]") {
  Cases cases(43);
  for (int i = 0; i < 300; ++i) {
    const auto schedule = pipeline_tests::all_schedules[static_cast<std::size_t>(std::array{2, 7, 8, 9}[i % 4])];
    const Pipeline p = pipeline_tests::sound(schedule, 2 + cases.below(3), 2, 8);
    const Count layers = model_chunks(p) + cases.below(12 - model_chunks(p));
    Arch a = even_moe();
    a.layers = layers;
    a.moe.layers = {};
    const Count dense = 1 + cases.below(3);
    for (Count l = 0; l < layers; ++l)
      if (l >= dense) a.moe.layers.insert(l);
    const LayerKinds kinds = layer_kinds(a);
    const RowCosts costs = random_costs(cases);
    const double longest = std::max(costs.layer[0], costs.layer[1]);
    REQUIRE(slowest(kinds, costs, p, balanced(kinds, costs, p)) <=
            least(kinds, costs, p, layers) + longest * (1 + 1e-9));
  }
}

TEST_CASE("with mixed layer kinds, no single long chunk makes all ranks wait", "[cluster][partition]") {
  // Three dense layers and 58 with experts on 16 ranks of two chunks. The cheap layers let rank 0 have one layer more
  // than the others at the same load, but its second chunk would be the longest, and all ranks would wait for it.
  Arch a = even_moe();
  a.layers = 61;
  a.moe.layers = {};
  for (Count l = 3; l < 61; ++l) a.moe.layers.insert(l);
  const LayerKinds kinds = layer_kinds(a);
  const Pipeline p{Schedule::interleaved, 16, 2, 128};
  for (const double dense : {0.40, 0.45, 0.50, 0.55, 0.60}) {
    RowCosts costs{.embedding = 0.05, .head = 0.6};
    costs.layer[kinds[0].last < 3 ? 0 : 1] = dense;
    costs.layer[kinds[0].last < 3 ? 1 : 0] = 1;
    const Partition cut = balanced(kinds, costs, p);
    for (Count q = 0; q < cut.size(); ++q) CHECK(cut[q].layers() <= 3);
    Count longest = 0;
    for (Count q = 16; q < 32; ++q) longest = std::max(longest, cut[q].layers());
    CHECK(longest <= 2);
  }
}

TEST_CASE("every chunk has at least one layer, whatever the costs of layers, embedding and head",
          "[cluster][partition]") {
  Cases cases(42);
  for (int i = 0; i < 2000; ++i) {
    const Pipeline p = pipeline_tests::sound(pipeline_tests::all_schedules[static_cast<std::size_t>(cases.below(10))],
                                             1 + cases.below(8), 2 + cases.below(3), 64);
    const Count layers = model_chunks(p) + cases.below(20);
    const LayerKinds kinds = layer_kinds(cases.arch(layers));
    check_sound(balanced(kinds, random_costs(cases), p), model_chunks(p), layers);
  }
}

TEST_CASE("every layer is assigned to a chunk, even if recomputation saves time", "[cluster][partition]") {
  Cases cases(44);
  for (int i = 0; i < 300; ++i) {
    const Pipeline p = pipeline_tests::sound(Schedule::interleaved, 2 + cases.below(3), 2 + cases.below(3), 8);
    const Count layers = model_chunks(p) * (1 + cases.below(4)) + cases.below(4);
    Arch a = even();
    a.layers = layers;
    RowCosts costs = random_costs(cases);
    costs.first_recomputed = 1 + cases.below(4);
    costs.recomputed[0] = -0.8 * costs.layer[0];  // transfers to the host take longer than the recomputed forward
    check_sound(balanced(layer_kinds(a), costs, p), model_chunks(p), layers);
  }
}

TEST_CASE("equal layers are divided evenly over the ranks of an interleaved pipeline", "[cluster][partition]") {
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

TEST_CASE("an estimated step is close to the fastest among all partitions", "[cluster][partition]") {
  // The slowest rank's work dominates. The work of the others shifts the start and the end of the step, by up to 2 %
  // with one chunk per rank and 6 % with several.
  Cases cases(7);
  for (int i = 0; i < 80; ++i) {
    const auto schedule = pipeline_tests::all_schedules[static_cast<std::size_t>(i % 10)];
    ClusterCase c{even(), {}, {.dp = 1 + i / 40}, cases.clusters(2e10)};
    c.arch.layers = 9;
    c.arch.vocabulary *= 1 + cases.below(3);
    c.layout.schedule = schedule;
    c.layout.chunks = std::max<Count>(1, fixed_chunks(schedule));
    if (schedule == Schedule::interleaved) c.layout.chunks = 2;
    c.layout.pp = has_pairs(schedule) ? 2 : 2 + cases.below(2);
    c.layout.zero = c.layout.dp == 1 ? Zero::none : static_cast<Zero>(cases.below(4));
    c.plan.seq = 64;
    c.plan.global_batch = mul(c.layout.pp, c.layout.dp, 4 + 2 * cases.below(3));
    Achieved& reached = c.cluster.device.achieved;
    reached.present = true;
    reached.matmul = for_each_format(0.5);
    reached.memory = 0.7;
    reached.links.inside = reached.links.between = 0.8;
    const TrainEstimate e = train(c.arch, c.plan, c.layout, c.cluster);
    REQUIRE(e.estimated);
    Seconds fastest = e.estimate.total();
    std::vector<Count> cut;
    for_each_cut(c.arch.layers, e.partition.size(), cut, [&](const std::vector<Count>& layers) {
      Layout other = c.layout;
      for (const Count n : layers) other.stage_layers.push(n);
      fastest = std::min(fastest, train(c.arch, c.plan, other, c.cluster).estimate.total());
    });
    INFO(text_of(c.layout) << ", " << e.estimate.total() / fastest);
    CHECK(e.estimate.total() <= (c.layout.chunks == 1 ? 1.02 : 1.06) * fastest);
  }
}

TEST_CASE("layers per chunk given by the user are used unchanged", "[cluster][partition]") {
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

TEST_CASE("the first and last of Llama-3.1-405B's 16 stages have one layer fewer than the others",
          "[cluster][partition]") {
  // arXiv:2407.21783, section 3.3.2: one layer fewer on the first and on the last stage
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
  // By FLOPs (zero for an embedding), the last stage and any one other stage have one layer fewer.
  const Partition by_flops = partition(price(a, p, l, {}), p, l, Cluster{});
  CHECK(by_flops[15].layers() == 7);
  for (Count i = 0; i < 15; ++i) CHECK(by_flops[i].layers() <= 8);
}
